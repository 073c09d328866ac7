//go:build !linux

package hamming

func adviseHuge([]byte) {}
