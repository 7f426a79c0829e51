//go:build unix

package process

import (
	osexec "os/exec"
	"syscall"
)

// inGroup has a command start in a process group of its own.
func inGroup(cmd *osexec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends what is left of a started command's group. As long as the group has a
// member its number is given to no other, so this is right after the command itself
// was waited for, too.
func killGroup(cmd *osexec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
