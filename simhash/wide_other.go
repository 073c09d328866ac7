//go:build !amd64 || purego

package simhash

var hasWide = false

func foldWide(*byte, *byte, int, *form) (int, int) { return 0, 0 }

func codeWide(*codeReader) {}

func lettersWide(*uint32, int, *byte, int, *letterBits) (int, int) { return 0, 0 }

func hashWide(*uint64, *uint32, int, int) {}
