//go:build !purego

package simhash

import "golang.org/x/sys/cpu"

// hasWide: the assembly uses AVX-512 F, BW, DQ, VL, VBMI and VBMI2, and BMI 1
// and 2.
var hasWide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL &&
	cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// foldWide writes the forms of text's characters to dst, up to the first that
// forms alone does not decide, is no UTF-8, or has, or becomes one of, four
// bytes. It may stop earlier. There has to be room for 64 bytes more than text
// has.
//
//go:noescape
func foldWide(dst, text *byte, size int, forms *form) (read, written int)

// codeWide is Workspace.readCells, up to a character of four bytes, with room
// for wide more in codes, at and others than the limit. It may stop earlier,
// as it does before 64 characters of ASCII. It counts no words, but notes where
// they start.
//
//go:noescape
func codeWide(r *codeReader)

// lettersWide is ReadLetters, up to a character of four bytes or what is no
// UTF-8, while n is at most limit. It may stop earlier.
//
//go:noescape
func lettersWide(dst *uint32, limit int, text *byte, size int, known *letterBits) (n, read int)

// hashWide is hashLetters for n hashes.
//
//go:noescape
func hashWide(dst *uint64, letters *uint32, n, size int)
