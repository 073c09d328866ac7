//go:build !amd64 || purego

package simhash

const hasAVX512, hasAVX2 = false, false

func addAVX512(*[64]uint32, *uint64, *uint32, int) {}

func addAVX2(*[64]uint32, *uint64, *uint32, int) {}
