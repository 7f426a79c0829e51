//go:build unix

package subject

import (
	osexec "os/exec"
	"syscall"
)

// inGroup has a command start in a process group of its own.
func inGroup(cmd *osexec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends what is left of a started command's group, the command itself among it
// or already waited for.
func killGroup(cmd *osexec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
