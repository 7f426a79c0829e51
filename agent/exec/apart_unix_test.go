//go:build unix

package exec_test

import (
	osexec "os/exec"
	"syscall"
)

// apart has a command leave the process group it would be in.
func apart(cmd *osexec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
