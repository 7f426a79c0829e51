//go:build unix && !linux

package confine

import (
	"os/exec"
	"syscall"
)

func inGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends what is left of a started command's group, also after it was waited for:
// as long as the group has a member its number is given to no other.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
