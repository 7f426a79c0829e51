package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/agentbound/agentbound"
)

var (
	sheetID  = regexp.MustCompile(`^[0-9a-f]{12}$`)
	familyID = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// ReadKeys reads a key file: one JSON object a line, as Sheets made them. A key that was
// changed would count answers on the wrong task, so what does not fit is refused; the
// error names file, line and what to do.
func ReadKeys(name string, text []byte) ([]Key, error) {
	var keys []Key
	sheets, readers := map[string]bool{}, map[string]bool{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var k Key
		err := json.Unmarshal(line, &k)
		if err != nil {
			err = errors.New("it is not a line of a key")
		} else {
			err = k.valid()
		}
		reader := fmt.Sprintf("%s %d", k.Task, k.Reader)
		switch {
		case err != nil:
		case sheets[k.Sheet]:
			err = fmt.Errorf("sheet %s has another line", k.Sheet)
		case readers[reader]:
			err = fmt.Errorf("task %s has another sheet of reader %d", k.Task, k.Reader)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w; restore the file, or write the sheets again", name, n, err)
		}
		sheets[k.Sheet], readers[reader] = true, true
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: no line in it; restore the file, or write the sheets again", name)
	}
	return keys, nil
}

func (k Key) valid() error {
	switch {
	case !sheetID.MatchString(k.Sheet):
		return fmt.Errorf("sheet %q; accepted: 12 hexadecimal digits", k.Sheet)
	case !familyID.MatchString(string(k.Family)):
		return fmt.Errorf("family %q is no id", k.Family)
	case k.Split.Validate() != nil:
		return k.Split.Validate()
	case k.Task != agentbound.TaskID(string(k.Family)+"/"+string(k.Split)):
		return fmt.Errorf("task %q is not that of family %s and split %s", k.Task, k.Family, k.Split)
	case k.Reader < 1 || k.Reader > MaxReaders:
		return fmt.Errorf("reader %d; accepted: 1 to %d", k.Reader, MaxReaders)
	}
	return nil
}
