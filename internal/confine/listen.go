package confine

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listen opens listeners on loopback addresses. On an error none is open.
func listen(ctx context.Context, addresses []string) (all []net.Listener, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
		}
	}()
	for _, a := range addresses {
		if at, err := netip.ParseAddrPort(a); err != nil || !at.Addr().IsLoopback() {
			return all, fmt.Errorf("listener %q: give an address on loopback and a port, such as 127.0.0.1:0", a)
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", a)
		if err != nil {
			return all, err
		}
		all = append(all, l)
	}
	return all, nil
}

func closeAll(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// lookPath finds a program as a shell with its environment and folder would.
func lookPath(p Program) (string, error) {
	name := p.Args[0]
	executable := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || os.PathSeparator != '/')
	}
	if strings.ContainsRune(name, os.PathSeparator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		if _, err := os.Stat(name); err != nil {
			return "", err
		}
		return name, nil // whether it can be executed is for the system to say
	}
	var path string
	for _, e := range p.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if full := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(full) {
			return full, nil
		}
	}
	return "", &exec.Error{Name: name, Err: fmt.Errorf("not found in PATH %q (inside the confinement, where there is only the system's and what is listed as read-only)", path)}
}
