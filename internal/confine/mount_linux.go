package confine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What of the system a program sees, read-only, where it is there.
var (
	systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
	systemFiles   = []string{"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime", "/etc/timezone",
		"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki", "/etc/ca-certificates", "/etc/mime.types", "/etc/protocols", "/etc/services"}
	devices = []string{"null", "zero", "full", "random", "urandom"}
)

// bind is a piece of the caller's file system, taken hold of before that is left.
type bind struct {
	fd   int
	path string // where it goes, which is where it was
	dir  bool
}

// mount gives the warden, and so the program, a file system of its own: an empty one
// with the system and the install bound into it read-only, a home and a /tmp of limited
// size, and a /proc of the process namespace. The caller's is detached.
func (s start) mount(home *os.Root) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private: %w", err)
	}
	binds, links, err := s.take()
	if err != nil {
		return err
	}
	defer func() {
		for _, b := range binds {
			unix.Close(b.fd)
		}
	}()
	const base = "/usr" // any folder will do: what it holds is held by now
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=8m,nr_inodes=8k"); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if err := os.Chdir(base); err != nil {
		return err
	}
	for name, to := range links {
		if err := os.Symlink(to, strings.TrimPrefix(name, "/")); err != nil {
			return err
		}
	}
	if err := s.scratch(home); err != nil {
		return err
	}
	for _, b := range binds {
		if err := b.attach(); err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
	}
	if err := s.furnish(); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("the old root stays: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return fmt.Errorf("root read-only: %w", err)
	}
	return os.Chdir("/")
}

// take holds what the program may see of the caller's file system, and gives the links
// that stand for folders (/bin to usr/bin).
func (s start) take() (binds []bind, links map[string]string, err error) {
	links = map[string]string{}
	var covered []string
	add := func(path string, flags uint64) error {
		b, err := take(path, flags)
		if err == nil {
			binds = append(binds, b)
		}
		return err
	}
	const readOnly = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	for _, path := range slices.Concat(systemFolders, systemFiles) {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		covered = append(covered, path)
		if to, err := os.Readlink(path); err == nil && info.Mode()&os.ModeSymlink != 0 && slices.Contains(systemFolders, path) {
			links[path] = to
			continue
		}
		if _, err := os.Stat(path); err != nil {
			continue // a link to nowhere
		}
		if err := add(path, readOnly); err != nil {
			return binds, nil, err
		}
	}
	for _, name := range devices {
		if err := add("/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return binds, nil, err
		}
	}
	more := slices.Clone(s.ReadOnly)
	slices.Sort(more) // the outer before the inner
	for _, path := range more {
		if slices.ContainsFunc(covered, func(c string) bool { return below(path, c) }) {
			continue
		}
		for _, special := range []string{"/proc", "/sys", "/dev", "/etc"} {
			if below(path, special) || below(special, path) {
				return binds, nil, fmt.Errorf("%s cannot be given to a program", path)
			}
		}
		covered = append(covered, path)
		if err := add(path, readOnly); err != nil {
			return binds, nil, err
		}
	}
	if i := slices.IndexFunc(covered, func(c string) bool { return below(s.Home, c) }); i >= 0 {
		return binds, nil, fmt.Errorf("home %s is in %s, which is read-only: put it elsewhere", s.Home, covered[i])
	}
	return binds, links, nil
}

// take clones the mounts at a path and gives the clones attributes.
func take(path string, attributes uint64) (bind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return bind{}, err
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return bind{}, fmt.Errorf("%s: open_tree: %w", path, err)
	}
	err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
	if err != nil {
		unix.Close(fd)
		return bind{}, fmt.Errorf("%s: mount_setattr, which Linux has from 5.12 on: %w", path, err)
	}
	return bind{fd: fd, path: path, dir: info.IsDir()}, nil
}

// attach puts it where it was, below the working directory.
func (b bind) attach() error {
	at := strings.TrimPrefix(b.path, "/")
	if b.dir {
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(at, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		f.Close()
	}
	return unix.MoveMount(b.fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// scratch makes all that can be written: home, /tmp, /var/tmp and /dev/shm, in one file
// system of limited size, with the caller's home copied into the first.
func (s start) scratch(home *os.Root) error {
	const dir = "scratch"
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	inodes := max(1<<12, min(s.Limits.Disk>>12, 1<<18))
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", s.Limits.Disk, inodes)); err != nil {
		return fmt.Errorf("scratch: %w", err)
	}
	var binds []bind
	for _, x := range []struct{ name, path string }{{"tmp", "/tmp"}, {"vartmp", "/var/tmp"}, {"shm", "/dev/shm"}, {"home", s.Home}} {
		at := filepath.Join(dir, x.name)
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
		if x.name == "home" {
			if err := s.furnishHome(home, at); err != nil {
				return err
			}
		} else if err := os.Chmod(at, 0o777|os.ModeSticky); err != nil {
			return err
		}
		fd, err := unix.OpenTree(unix.AT_FDCWD, at, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("scratch %s: %w", x.name, err)
		}
		binds = append(binds, bind{fd: fd, path: x.path, dir: true})
	}
	for _, b := range binds { // the home last: it may lie below /tmp
		err := b.attach()
		unix.Close(b.fd)
		if err != nil {
			return fmt.Errorf("%s: %w", b.path, err)
		}
	}
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Remove(dir)
}

func (s start) furnishHome(from *os.Root, at string) error {
	to, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer to.Close()
	how := copying{links: true, uid: -1, gid: -1}
	if s.Switch {
		how.uid, how.gid = s.UID, s.GID
	}
	if err := copyTree(from, ".", to, how); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("the home is larger than the limit on disk, %d bytes: raise the limit, or give what is not written as read-only folders: %w", s.Limits.Disk, err)
		}
		return fmt.Errorf("the home is not copied: %w", err)
	}
	return nil
}

// furnish makes what every program expects to find.
func (s start) furnish() error {
	for _, dir := range []string{"proc", "etc", "dev", "run", "var"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc (a container that hides parts of its own does not allow another): %w", err)
	}
	for name, to := range map[string]string{"dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0", "dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, name); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"passwd":        fmt.Sprintf("root:x:0:0::/:/bin/false\nagent:x:%d:%d::%s:/bin/sh\n", s.UID, s.GID, s.Home),
		"group":         fmt.Sprintf("root:x:0:\nagent:x:%d:\n", s.GID),
		"hosts":         "127.0.0.1 localhost agent\n::1 localhost\n",
		"hostname":      "agent\n",
		"resolv.conf":   "",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := os.WriteFile(filepath.Join("etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// copying says how a tree is copied: links, too, and to whom it is given (-1: nobody).
type copying struct {
	links    bool
	uid, gid int
}

// copyTree copies a folder or file with all below it; what is neither of these nor a
// link is passed over.
func copyTree(from *os.Root, path string, to *os.Root, how copying) error {
	return fs.WalkDir(from.FS(), filepath.ToSlash(filepath.Clean(path)), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			err = to.Mkdir(name, 0o700)
			if errors.Is(err, fs.ErrExist) {
				err = nil
			}
		case d.Type().IsRegular():
			err = copyFile(from, to, name, info.Mode().Perm())
		case d.Type() == fs.ModeSymlink && how.links:
			var target string
			if target, err = from.Readlink(name); err == nil {
				err = to.Symlink(target, name)
			}
		default:
			return nil
		}
		if err != nil || how.uid < 0 {
			return err
		}
		return to.Lchown(name, how.uid, how.gid)
	})
}

func copyFile(from, to *os.Root, name string, mode fs.FileMode) (err error) {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode|0o200)
	if err != nil {
		return err
	}
	defer func() {
		if e := out.Close(); err == nil {
			err = e
		}
	}()
	if _, err = io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(mode)
}
