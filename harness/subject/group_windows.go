package subject

import (
	osexec "os/exec"
	"strconv"
	"syscall"
)

// inGroup has a command start in a process group of its own, out of reach of the
// console's Ctrl-C.
func inGroup(cmd *osexec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends a command with what it has started.
func killGroup(cmd *osexec.Cmd) {
	//nolint:gosec,noctx // a tool of the system, given a number; it must run when the trial's context has ended
	_ = osexec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
}
