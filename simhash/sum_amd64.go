//go:build !purego

package simhash

import "golang.org/x/sys/cpu"

var (
	hasAVX512 = cpu.X86.HasAVX512F
	hasAVX2   = cpu.X86.HasAVX2
)

// addAVX512 is addPacked with masked adds, 16 lanes of 32 bits at a time.
//
//go:noescape
func addAVX512(sums *[64]uint32, hashes *uint64, weights *uint32, n int)

// addAVX2 is addPacked with compared masks, 8 lanes of 32 bits at a time.
//
//go:noescape
func addAVX2(sums *[64]uint32, hashes *uint64, weights *uint32, n int)
