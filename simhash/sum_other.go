//go:build !amd64

package simhash

const hasAVX512 = false

func addAVX512(sums *[64]uint32, hashes *uint64, weights *uint32, n int) {}
