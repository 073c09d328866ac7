//go:build unix

package main

import "syscall"

// withoutCore keeps an end by SIGABRT from writing all memory to a file.
func withoutCore() {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // else there is a file
}
