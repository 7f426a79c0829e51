package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/storetest"
)

// query opens the file beside the store, as another program would.
func query(t *testing.T, path, text string, to ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if len(to) == 0 {
		_, err = db.Exec(text)
	} else {
		err = db.QueryRow(text).Scan(to...)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string) (path string)
		options Options
		want    []string // in the message, beside the path
	}{
		{"missing folder", func(t *testing.T, dir string) string { return filepath.Join(dir, "no", "a.db") }, Options{},
			[]string{"folder", "does not exist", "mkdir -p", "--store"}},
		{"folder is a file", func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "no"), "")
			return filepath.Join(dir, "no", "a.db")
		}, Options{}, []string{"is not a folder", "--store"}},
		{"a folder", func(t *testing.T, dir string) string { return dir }, Options{}, []string{"is a folder", "agentbound.db"}},
		{"missing file", func(t *testing.T, dir string) string { return filepath.Join(dir, "a.db") }, Options{Existing: true},
			[]string{"there is no such file", "agentbound run", "--store"}},
		{"text", func(t *testing.T, dir string) string {
			return write(t, filepath.Join(dir, "a.db"), strings.Repeat("families:\n", 200))
		}, Options{}, []string{"is not an agentbound store", "--store"}},
		{"another program's database", func(t *testing.T, dir string) string {
			query(t, filepath.Join(dir, "a.db"), "CREATE TABLE bookmark (url TEXT)")
			return filepath.Join(dir, "a.db")
		}, Options{}, []string{"another program", "1 tables", "--store"}},
		{"another program's mark", func(t *testing.T, dir string) string {
			query(t, filepath.Join(dir, "a.db"), "PRAGMA application_id=7")
			return filepath.Join(dir, "a.db")
		}, Options{}, []string{"another program", "0x7", "--store"}},
		{"newer version", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "a.db")
			open(t, path)
			query(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)")
			return path
		}, Options{}, []string{"newer agentbound", "schema 99", "update agentbound"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.prepare(t, t.TempDir())
			before, _ := os.ReadFile(path)
			_, err := Open(t.Context(), path, c.options)
			if err == nil {
				t.Fatal("it opens")
			}
			for _, w := range append(c.want, path) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing in: %v", w, err)
				}
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file has changed")
			}
		})
	}
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "a.db"), Options{Existing: true})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is not fs.ErrNotExist: %v", err)
	}
	if strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		t.Errorf("it says so twice: %v", err)
	}
}

func TestOpenReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	for _, c := range []struct{ file, dir os.FileMode }{{0o444, 0o755}, {0o444, 0o555}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.db")
		s, err := Open(t.Context(), path, Options{})
		if err == nil {
			err = errors.Join(s.Close(), os.Chmod(path, c.file), os.Chmod(dir, c.dir))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(t.Context(), path, Options{})
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "permission") {
			t.Errorf("file %o in folder %o: %v", c.file, c.dir, err)
		}
		_ = os.Chmod(dir, 0o755)
	}
}

func TestOpenSettings(t *testing.T) {
	// A path that a URI must quote.
	path := filepath.Join(t.TempDir(), "a b?c#d%20é.db")
	s := open(t, path)
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		db   *sql.DB
		text string
		want string
	}{
		{s.write, "PRAGMA journal_mode", "wal"},
		{s.write, "PRAGMA synchronous", "1"},
		{s.write, "PRAGMA foreign_keys", "1"},
		{s.read, "PRAGMA busy_timeout", "30000"},
		{s.read, "PRAGMA query_only", "1"},
		{s.write, "PRAGMA page_size", fmt.Sprint(pageSize)},
		{s.write, "SELECT count(*) FROM pragma_foreign_key_check", "0"},
		{s.write, "PRAGMA integrity_check", "ok"},
	} {
		var got string
		if err := c.db.QueryRow(c.text).Scan(&got); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.text, got, err, c.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*.lock")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestClock(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	s, err := OpenTemp(t.Context(), Options{Now: func() time.Time { return when.In(time.FixedZone("", 3600)) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateRun(t.Context(), store.Run{Plan: storetest.Plan("a")}, storetest.Trials(nil)); err != nil {
		t.Fatal(err)
	}
	runs, err := s.Runs(t.Context())
	if err != nil || len(runs) != 1 || !runs[0].Created.Equal(when) || runs[0].Created.Location() != time.UTC {
		t.Errorf("%v, %v", runs, err)
	}
	dir := filepath.Dir(s.path)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// A process that dies while it creates a store leaves one that the next completes.
func TestMigrationResumes(t *testing.T) {
	for name, before := range map[string]string{
		"empty file": "VACUUM",
		"marked":     fmt.Sprintf("PRAGMA application_id=%d", applicationID),
		"not in WAL": fmt.Sprintf("PRAGMA application_id=%d; PRAGMA journal_mode=DELETE", applicationID),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			query(t, path, before)
			s := open(t, path)
			if err := s.Put(t.Context(), []agentbound.Result{storetest.Result(0, 1, "program/1")}); err != nil {
				t.Error(err)
			}
			st, err := s.state(t.Context())
			newest, _ := newestVersion()
			if err != nil || st.version != newest || st.journal != "wal" || st.application != applicationID {
				t.Errorf("%+v, %v", st, err)
			}
		})
	}
}

func TestOpenTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s, err := Open(context.Background(), path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Put(context.Background(), []agentbound.Result{storetest.Result(i, 1, "program/1")}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var n int
	query(t, path, "SELECT count(*) FROM trajectory", &n)
	if n != 8 {
		t.Errorf("%d trials of 8", n)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUnpackedBound: a small document in a store from elsewhere cannot ask for any
// amount of memory.
func TestUnpackedBound(t *testing.T) {
	s, err := OpenTemp(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	bomb := s.encoder.EncodeAll(make([]byte, mostUnpacked+1), nil)
	if b, err := s.decoder.DecodeAll(bomb, nil); !errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		t.Errorf("%d bytes unpack to %d, error %v", len(bomb), len(b), err)
	}
}
