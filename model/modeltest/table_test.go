package modeltest_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model/modeltest"
)

var update = flag.Bool("update", false, "write the table of docs/adapters.md")

const (
	tableFile  = "../../docs/adapters.md"
	tableBegin = "<!-- table: written by go test ./model/modeltest -run TestContract -update -->\n"
	tableEnd   = "<!-- end of table -->\n"
)

// TestContract holds every adapter to the port's contract, and docs/adapters.md to what
// came of it: a row for each case, a column for each adapter.
func TestContract(t *testing.T) {
	all := connectors()
	outcomes := make([][]modeltest.Outcome, len(all))
	var group sync.WaitGroup
	room := make(chan struct{}, 5) // they wait more than they work
	for i, c := range all {
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			t.Run(c.name+"/"+c.mode, func(t *testing.T) { outcomes[i] = modeltest.Run(t, c.connect, c.traits...) })
		})
	}
	group.Wait()
	for i, o := range outcomes {
		if o == nil {
			t.Skipf("%s was not run: the table is of all", all[i].name+"/"+all[i].mode)
		}
	}
	text, err := os.ReadFile(tableFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		t.Fatalf("%s has no place for the table", tableFile)
	}
	table := written(all, outcomes)
	if *update {
		if err := os.WriteFile(tableFile, []byte(before+tableBegin+table+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(old, table); d != "" {
		t.Errorf("%s is not what came of the contract (go test ./model/modeltest -run TestContract -update writes it):\n%s", tableFile, d)
	}
}

// written is the table. A cell is of all modes of its adapter that have the case.
func written(all []connector, outcomes [][]modeltest.Outcome) string {
	var names []string
	for _, c := range all {
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
	}
	var b strings.Builder
	b.WriteString("| case | " + strings.Join(names, " | ") + " |\n|---|" + strings.Repeat("---|", len(names)) + "\n")
	for row, o := range outcomes[0] {
		fmt.Fprintf(&b, "| %s |", o.Case)
		for _, name := range names {
			cell := modeltest.NotOf
			for i, c := range all {
				if r := outcomes[i][row].Result; c.name == name && (r == modeltest.Broke || cell == modeltest.NotOf) {
					cell = r
				}
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}
