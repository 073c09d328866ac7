//go:build !linux

package large

const advises = false

func advise([]byte) {}
