package exec_test

import osexec "os/exec"

func apart(*osexec.Cmd) {}
