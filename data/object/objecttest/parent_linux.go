package objecttest

import "syscall"

// endWithParent ends the server with the test, whatever ends the test.
var endWithParent = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
