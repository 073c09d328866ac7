//go:build !purego

package jsonl

import "golang.org/x/sys/cpu"

var hasWide = cpu.X86.HasAVX2

// specialWide is special for the first size bytes of text, of which it looks at
// whole groups of 32. It returns where it stopped: at what is special, or at the end of
// the last group.
//
//go:noescape
func specialWide(text *byte, size int) int
