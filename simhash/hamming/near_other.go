//go:build !amd64

package hamming

import "unsafe"

const haveSIMD = false

func nearSIMD[F Fingerprint](v []F, reach []uint32, k, block, offset int, hits []hit) (int, int, int) {
	return near(v, reach, k, block, offset, hits)
}

const haveStream = false

func stream(_, _ unsafe.Pointer) {}

func streamed() {}
