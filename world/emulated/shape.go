package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kind is a type of JSON, with records (objects of fixed fields) kept apart from tables
// (objects whose keys name records).
type kind string

const (
	null    kind = "null"
	boolean kind = "boolean"
	integer kind = "integer"
	number  kind = "number"
	text    kind = "string"
	list    kind = "list"
	record  kind = "record"
	table   kind = "table"
)

func kindOf(v any) kind {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return boolean
	case json.Number:
		if isInteger(v) {
			return integer
		}
		return number
	case string:
		return text
	case []any:
		return list
	}
	return record
}

// shape is the type of a place of the state.
type shape struct {
	kinds    []kind            // sorted; of objects either record or table
	item     *shape            // of a list's items and a table's records; nil: none was ever seen
	fields   map[string]*shape // of a record
	optional map[string]bool   // fields that not every record has
}

// infer gives the shape that all samples have.
func infer(samples []any) *shape {
	s := &shape{}
	var items []any
	var objects []map[string]any
	for _, v := range samples {
		k := kindOf(v)
		switch v := v.(type) {
		case []any:
			items = append(items, v...)
		case map[string]any:
			objects = append(objects, v)
			continue
		}
		s.add(k)
	}
	if len(objects) > 0 && isTable(objects) {
		s.add(table)
		for _, o := range objects {
			for _, k := range slices.Sorted(maps.Keys(o)) {
				items = append(items, o[k])
			}
		}
	} else if len(objects) > 0 {
		s.add(record)
		s.inferFields(objects)
	}
	if len(items) > 0 {
		s.item = infer(items)
	}
	return s
}

func (s *shape) add(k kind) {
	if !slices.Contains(s.kinds, k) {
		s.kinds = append(s.kinds, k)
		slices.Sort(s.kinds)
	}
}

func (s *shape) inferFields(objects []map[string]any) {
	s.fields, s.optional = map[string]*shape{}, map[string]bool{}
	values := map[string][]any{}
	for _, o := range objects {
		for k, v := range o {
			values[k] = append(values[k], v)
		}
	}
	for k, v := range values {
		s.fields[k] = infer(v)
		if len(v) < len(objects) {
			s.optional[k] = true
		}
	}
}

// numbered is how ids look: R-17, D/4, 2031-05.
var numbered = regexp.MustCompile(`^[^\s]*[0-9]+[^\s]*$`)

// isTable: keys are ids, or the records' own; or several records have the same fields.
// An object that is always empty can only be a table.
func isTable(objects []map[string]any) bool {
	keys, own, ids := 0, 0, 0
	alike, first := true, ""
	for _, o := range objects {
		for k, v := range o {
			keys++
			if numbered.MatchString(k) {
				ids++
			}
			r, ok := v.(map[string]any)
			if !ok {
				alike = false
				continue
			}
			if r["id"] == k || r["number"] == k || r["name"] == k {
				own++
			}
			fields := strings.Join(slices.Sorted(maps.Keys(r)), "\x00")
			if first == "" {
				first = fields
			}
			alike = alike && fields == first && len(r) > 1
		}
	}
	return keys == own || keys == ids || alike && keys > 1
}

// conform reports where a tree does not have the shape.
func (s *shape) conform(v any, at []string) error {
	k := kindOf(v)
	if k == record && slices.Contains(s.kinds, table) {
		k = table
	}
	if !slices.Contains(s.kinds, k) {
		if slices.Equal(s.kinds, []kind{null}) && k != list && k != record {
			return nil // what it holds when it is not empty was never seen
		}
		return fmt.Errorf("%s: %s is needed, found %s", place(at), s.needed(), article(k))
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if err := s.conformItem(x, append(slices.Clip(at), fmt.Sprint(i))); err != nil {
				return err
			}
		}
	case map[string]any:
		if k == table {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if err := s.conformItem(v[key], append(slices.Clip(at), key)); err != nil {
					return err
				}
			}
			return nil
		}
		return s.conformRecord(v, at)
	}
	return nil
}

func (s *shape) conformItem(v any, at []string) error {
	if s.item != nil {
		return s.item.conform(v, at)
	}
	if m, ok := v.(map[string]any); ok {
		for k, x := range m {
			if !flat(x) {
				return fmt.Errorf("%s: a new kind of record has plain fields, and %q is %s", place(at), clip(k), article(kindOf(x)))
			}
		}
		return nil
	}
	if !flat(v) {
		return fmt.Errorf("%s: a value or a record of plain fields is needed, found %s", place(at), article(kindOf(v)))
	}
	return nil
}

// flat is a scalar or a list of scalars.
func flat(v any) bool {
	items, ok := v.([]any)
	if !ok {
		items = []any{v}
	}
	return !slices.ContainsFunc(items, func(x any) bool { k := kindOf(x); return k == list || k == record })
}

func (s *shape) conformRecord(v map[string]any, at []string) error {
	for _, k := range slices.Sorted(maps.Keys(v)) {
		f, ok := s.fields[k]
		if !ok {
			return fmt.Errorf("%s has no field %q; its fields are %s", place(at), clip(k), listed(slices.Sorted(maps.Keys(s.fields))))
		}
		if err := f.conform(v[k], append(slices.Clip(at), k)); err != nil {
			return err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s.fields)) {
		if _, ok := v[k]; !ok && !s.optional[k] {
			return fmt.Errorf("%s lacks its field %q", place(at), k)
		}
	}
	return nil
}

// fit turns integers into floats where only floats stand: 250 means 250.0 there.
func (s *shape) fit(v any) any {
	switch v := v.(type) {
	case json.Number:
		if isInteger(v) && slices.Contains(s.kinds, number) && !slices.Contains(s.kinds, integer) {
			return v + ".0"
		}
	case []any:
		if s.item != nil {
			for i := range v {
				v[i] = s.item.fit(v[i])
			}
		}
	case map[string]any:
		for k := range v {
			if f := s.below(k); f != nil {
				v[k] = f.fit(v[k])
			}
		}
	}
	return v
}

func (s *shape) is(k kind) bool { return slices.Contains(s.kinds, k) }

// below is the shape one segment further down; nil where there is none or none is known.
func (s *shape) below(seg string) *shape {
	if s.is(record) {
		return s.fields[seg]
	}
	return s.item
}

// find is the shape of a place, and its pattern: the pointer with * for what names an item
// of a list or a record of a table.
func (s *shape) find(segments []string) (found *shape, pattern string, err error) {
	generic := make([]string, len(segments))
	for i, seg := range segments {
		generic[i] = seg
		if !s.is(record) {
			generic[i] = "*"
		}
		next := s.below(seg)
		if next == nil {
			return nil, "", errors.New("no such place is known")
		}
		s = next
	}
	return s, join(generic), nil
}

// known takes over what a state shows of lists and tables that were empty till then.
func (s *shape) known(v any) {
	switch v := v.(type) {
	case []any:
		if s.item == nil && len(v) > 0 {
			s.item = infer(v)
		}
		for _, x := range v {
			s.item.known(x)
		}
	case map[string]any:
		if s.is(table) && s.item == nil && len(v) > 0 {
			s.item = infer(slices.Collect(maps.Values(v)))
		}
		for k, x := range v {
			if f := s.below(k); f != nil {
				f.known(x)
			}
		}
	}
}

func (s *shape) clone() *shape {
	if s == nil {
		return nil
	}
	c := &shape{kinds: s.kinds, item: s.item.clone(), optional: s.optional}
	if s.fields != nil {
		c.fields = make(map[string]*shape, len(s.fields))
		for k, f := range s.fields {
			c.fields[k] = f.clone()
		}
	}
	return c
}

func (s *shape) needed() string {
	names := make([]string, len(s.kinds))
	for i, k := range s.kinds {
		names[i] = article(k)
	}
	return strings.Join(names, " or ")
}

func article(k kind) string {
	if k == integer {
		return "an integer"
	}
	if k == null {
		return "null"
	}
	return "a " + string(k)
}
