package emulated

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// sequence is how a collection's records are numbered.
type sequence struct {
	place   string // pattern of the list or table; empty for an issue
	field   string // that holds the id; empty where only a table's key does
	prefix  string
	width   int    // digits at least, with zeros in front; 0: as many as it takes
	integer bool   // the id is a number
	counter string // pointer of the integer it is numbered by; empty: one past the highest
	offset  int    // of the number over its counter
	first   int    // the lowest number
}

func (q *sequence) id(n int) any {
	if q.integer {
		return json.Number(strconv.Itoa(n))
	}
	return fmt.Sprintf("%s%0*d", q.prefix, q.width, n)
}

// number reads an id of the sequence.
func (q *sequence) number(v any) (int, bool) {
	if q.integer {
		return whole(v)
	}
	id, _ := v.(string)
	prefix, n, _, ok := parseID(id)
	return n, ok && prefix == q.prefix
}

var idShape = regexp.MustCompile(`^([A-Za-z][A-Za-z]*[-/_#. ]?(?:[A-Za-z]+[-/_#. ])*)(\d{1,9})$`)

// parseID takes an id such as FR-112 apart.
func parseID(s string) (prefix string, n, width int, ok bool) {
	m := idShape.FindStringSubmatch(s)
	if len(m) == 0 || len(m[1]) > 16 {
		return "", 0, 0, false
	}
	n, _ = strconv.Atoi(m[2])
	if m[2][0] == '0' {
		width = len(m[2])
	}
	return m[1], n, width, true
}
