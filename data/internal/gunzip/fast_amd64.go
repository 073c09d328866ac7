//go:build !purego

package gunzip

import "golang.org/x/sys/cpu"

var hasFast = cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// unpack is Reader.fast.
//
//go:noescape
func unpack(z *Reader)
