//go:build !purego

package sketch

import "golang.org/x/sys/cpu"

// hasWide: the assembly uses AVX-512 F, BW and VBMI.
var hasWide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI

// lookWide is Maker.look. It fills in attempt for all bins.
//
//go:noescape
func lookWide(m *Maker, l *lenderTable)
