//go:build purego || !amd64

package jsonl

const hasWide = false

func specialWide(*byte, int) int { return 0 }
