//go:build !linux

package objecttest

import "syscall"

// endWithParent is nil: only Linux ends a process with its parent.
var endWithParent *syscall.SysProcAttr
