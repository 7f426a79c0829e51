package confine

import (
	"os/exec"
	"strconv"
	"syscall"
)

// inGroup has a command start out of reach of the console's Ctrl-C.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends a command with what it has started. Once the command itself has ended
// its children are no longer known for its own.
func killGroup(cmd *exec.Cmd) {
	//nolint:gosec,noctx // a tool of the system, given a number; it must run when the context has ended
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(cmd.Process.Pid)).Run()
}
