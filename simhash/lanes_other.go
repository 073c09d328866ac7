//go:build !amd64

package simhash

const hasLanes = false

func foldLanes(*byte, *byte, int, *form) (int, int) { return 0, 0 }

func codeLanes(*codeReader) {}
