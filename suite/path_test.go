package suite_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbound/agentbound/suite"
)

// pathState is what the path tests resolve in.
func pathState() map[string]any {
	return map[string]any{
		"accounts": map[string]any{"A-9": map[string]any{"remark": "checked"}, "a/b~c": map[string]any{"x": nil}},
		"files":    map[string]any{"report.pdf": map[string]any{"status": "open"}, "with \"quotes\"": "x", "7": "seven"},
		"contacts": []any{
			map[string]any{"name": "Northwind intake", "n": json.Number("7"), "ok": true, "role[1]": "]"},
			map[string]any{"name": "Calder orders", "n": json.Number("8"), "ok": true},
			"no object",
		},
		"grid": []any{[]any{"a", "b"}},
		"once": map[string]any{"x": "y"},
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]string{
		`accounts.A-9.remark`:                     "/accounts/A-9/remark",
		`accounts.A-9.new`:                        "/accounts/A-9/new",
		`accounts.A-10`:                           "/accounts/A-10",
		`new`:                                     "/new",
		`accounts."a/b~c".x`:                      "/accounts/a~1b~0c/x",
		`accounts.a/b~c.x`:                        "/accounts/a~1b~0c/x",
		`files."report.pdf".status`:               "/files/report.pdf/status",
		`files["report.pdf"].status`:              "/files/report.pdf/status",
		`files["report.pdf"]["status"]`:           "/files/report.pdf/status",
		`["files"]."with \"quotes\""`:             `/files/with "quotes"`,
		`files.7`:                                 "/files/7",
		`files."7"`:                               "/files/7",
		`contacts[0].name`:                        "/contacts/0/name",
		`contacts.1.name`:                         "/contacts/1/name",
		`contacts[2]`:                             "/contacts/2",
		`contacts[name=Northwind intake].address`: "/contacts/0/address",
		`contacts[name = "Calder orders"].name`:   "",
		`contacts[name="Calder orders"].name`:     "/contacts/1/name",
		`contacts["name"=Calder orders].name`:     "/contacts/1/name",
		`contacts[n=8]`:                           "/contacts/1",
		`contacts["role[1]"="]"].name`:            "/contacts/0/name",
		`grid[0][1]`:                              "/grid/0/1",
		`grid.0.1`:                                "/grid/0/1",
		`["once"].x`:                              "/once/x",
	} {
		p, err := suite.ParsePath(path)
		var got string
		if err == nil {
			got, err = p.Resolve(pathState())
		}
		if want == "" {
			if err == nil {
				t.Errorf("%s resolves to %s, want an error", path, got)
			}
			continue
		}
		if err != nil || got != want || p.String() != path {
			t.Errorf("%s resolves to %s (%v), want %s", path, got, err, want)
		}
	}
}

func TestPathErrors(t *testing.T) {
	for path, want := range map[string]string{
		``:                                 `path "", character 1: a key is wanted here, such as accounts or "report.pdf"`,
		`.a`:                               `path ".a", character 1: a key is wanted here`,
		`accounts.`:                        `character 10: a key is wanted here`,
		`accounts. A-9`:                    `character 10: key " A-9" has white space at an end; remove it, or put the key in quotes`,
		`accounts"A-9"`:                    `character 9: a dot or [ is wanted here; put a key with quotes or brackets in it in quotes`,
		`a=b`:                              `character 2: a dot or [ is wanted here`,
		`contacts[`:                        `character 10: a key is wanted here`,
		`contacts[0`:                       `character 11: the bracket is not closed`,
		`contacts[name=Calder`:             `the bracket is not closed`,
		`contacts[-1]`:                     `[-1] is no item; accepted: [0], ["key"] or [name=value]`,
		`contacts[01]`:                     `[01] is no item`,
		`contacts[name]`:                   `[name] is no item`,
		`files."report.pdf`:                `character 7: the quote is not closed`,
		`files."\q"`:                       `"\q" is not a JSON string; escape quotes and backslashes with a backslash`,
		`contacts.3`:                       `character 10: contacts has 3 items, and no item 3; items count from 0, and a fact adds none`,
		`contacts["0"]`:                    `contacts is a list, and "0" no item of it; accepted: a number from 0 to 2, or [name=value]`,
		`contacts[99999999999999999999].x`: `[99999999999999999999] is no item`,
		`contacts[ok=true].name`:           `contacts has 2 items with ok = "true"; name one by its number, such as [0]`,
		`contacts[name=Nobody].name`:       `contacts has no item with name = "Nobody"; nearest: `,
		`grid[x=1]`:                        `grid has no item with x = "1"`,
		`accounts.A-8.remark`:              `accounts has no key "A-8"; nearest: A-9, a/b~c`,
		`accounts[name=x].remark`:          `accounts is an object, not a list; name one of its keys; nearest: A-9, a/b~c`,
		`accounts.A-9.remark.x`:            `accounts.A-9.remark is text and has nothing inside`,
		`accounts."a/b~c".x.y`:             `accounts."a/b~c".x is null and has nothing inside`,
		`contacts[0].n.x`:                  `contacts[0].n is a number and has nothing inside`,
	} {
		p, err := suite.ParsePath(path)
		if err == nil {
			_, err = p.Resolve(pathState())
		}
		var fault *suite.PathError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", path, err, want)
		}
	}
}

// TestPathsReachEveryPlace writes the path of a random place of a random tree and
// resolves it.
func TestPathsReachEveryPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var path, pointer strings.Builder
		var place func(depth int) any
		place = func(depth int) any {
			if depth == 0 {
				return "here"
			}
			if pointer.Len() > 0 && rapid.Bool().Draw(t, "list") {
				n := rapid.IntRange(0, 3).Draw(t, "index")
				path.WriteString("[" + strconv.Itoa(n) + "]")
				pointer.WriteString("/" + strconv.Itoa(n))
				items := make([]any, n+1)
				items[n] = place(depth - 1)
				return items
			}
			key := rapid.String().Draw(t, "key")
			quoted, _ := json.Marshal(key)
			if path.Len() > 0 {
				path.WriteString(".")
			}
			path.Write(quoted)
			pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
			return map[string]any{key: place(depth - 1)}
		}
		state := place(rapid.IntRange(1, 6).Draw(t, "depth"))
		p, err := suite.ParsePath(path.String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Resolve(state); err != nil || got != pointer.String() {
			t.Fatalf("%s resolves to %s (%v), want %s", path.String(), got, err, pointer.String())
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{`a.b`, `contacts[name=Northwind intake].address`, `files["report.pdf"].status`, `a[0].1`, `"\u00e9".x`, `a..b`, `[`, `é[ü=ß]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := suite.ParsePath(source)
		if err == nil {
			var pointer string
			if pointer, err = p.Resolve(pathState()); err == nil && !strings.HasPrefix(pointer, "/") {
				t.Errorf("%q resolves to %q", source, pointer)
			}
		}
		var fault *suite.PathError
		if err != nil && (!errors.As(err, &fault) || fault.Offset < 0 || fault.Offset > len([]rune(source))) {
			t.Errorf("%q: %v", source, err)
		}
	})
}
