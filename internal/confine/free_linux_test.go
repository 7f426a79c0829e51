package confine

import (
	"testing"
	"testing/fstest"
)

func TestFreeMemory(t *testing.T) {
	const meminfo = "MemTotal:       2000 kB\nMemFree:         100 kB\nMemAvailable:   1000 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is known":     {map[string]string{}, 0},
		"the machine":          {map[string]string{"proc/meminfo": meminfo}, 1000 << 10},
		"a group without one":  {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "5\n"}, 1000 << 10},
		"a group with a limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "9000\n", "sys/fs/cgroup/memory.current": "5000\n", "sys/fs/cgroup/memory.stat": "anon 4000\ninactive_file 500\n"}, 4500},
		"a group above":        {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "700\n", "sys/fs/cgroup/a/memory.current": "100\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/memory.current": "50\n"}, 600},
		"none is left":         {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "100\n", "sys/fs/cgroup/memory.current": "200\n"}, 1},
		"version 1":            {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:cpu:/a\n3:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "800\n", "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "300\n"}, 500},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := freeMemory(root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if FreeMemory() <= 0 {
		t.Error("nothing is known of this machine")
	}
}
