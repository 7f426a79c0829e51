package main

import (
	"strings"
	"testing"
)

func TestSummarise(t *testing.T) {
	tests := []struct{ name, events, want, hidden, count string }{
		{"a pass is one line", `
{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"noise\n"}
{"Action":"pass","Package":"a","Test":"TestA/sub"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"skip","Package":"a","Test":"TestB"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}`, "ok  \ta\t0.1s\n", "noise", "1 passed, 0 failed, 1 skipped"},
		{"a failure shows its output", `
{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"a","Test":"TestA/sub","Output":"bad\n"}
{"Action":"fail","Package":"a","Test":"TestA/sub"}
{"Action":"fail","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}`, "bad\nFAIL\ta\t0.1s\n", "===", "0 passed, 1 failed"},
		{"a package that does not build is a failure", `
{"ImportPath":"a [a.test]","Action":"build-output","Output":"a.go:1:1: undefined: x\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a","FailedBuild":"a [a.test]"}`, "undefined: x\nFAIL\ta [build failed]\n", "", "0 passed, 1 failed"},
		{"an exit after the tests is a failure", `
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}`, "FAIL\ta\t0.1s\n", "", "1 passed, 1 failed"},
		{"no test files is no skip", `
{"Action":"output","Package":"a","Output":"?   \ta\t[no test files]\n"}
{"Action":"skip","Package":"a"}`, "[no test files]\n", "", "0 passed, 0 failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			n, err := summarise(strings.NewReader(tt.events), &b)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(b.String(), tt.want) {
				t.Errorf("printed %q, want it to end in %q", b.String(), tt.want)
			}
			if tt.hidden != "" && strings.Contains(b.String(), tt.hidden) {
				t.Errorf("printed %q, want no %q", b.String(), tt.hidden)
			}
			if n.String() != tt.count {
				t.Errorf("counted %q, want %q", n, tt.count)
			}
		})
	}
}
