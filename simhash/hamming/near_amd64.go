package hamming

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/neardup/neardup/simhash/columns"
)

// haveSIMD: the assembly uses AVX-512 F, DQ, BW and VPOPCNTDQ, and PEXT.
var haveSIMD = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW &&
	cpu.X86.HasAVX512VPOPCNTDQ && cpu.X86.HasBMI2

// nearSIMD is near with AVX-512. It may also find pairs up to three offsets
// beyond reach, so v needs 10 fingerprints more than blocks and reach span.
func nearSIMD[F columns.Fingerprint](v []F, reach []uint32, k, block, offset int, hits []hit) (int, int, int) {
	if len(reach) == 0 {
		return 0, 1, 0
	}
	if unsafe.Sizeof(v[0]) == 8 {
		return near64((*uint64)(unsafe.Pointer(&v[0])), &reach[0], len(reach), k, block, offset, &hits[0], len(hits))
	}
	return near128((*columns.Uint128)(unsafe.Pointer(&v[0])), &reach[0], len(reach), k, block, offset, &hits[0], len(hits))
}

//go:noescape
func near64(v *uint64, reach *uint32, blocks, k, block, offset int, hits *hit, room int) (nextBlock, nextOffset, found int)

//go:noescape
func near128(v *columns.Uint128, reach *uint32, blocks, k, block, offset int, hits *hit, room int) (nextBlock, nextOffset, found int)

// probeSIMD is probe with AVX-512.
func probeSIMD[F columns.Fingerprint](probes []F, key *nodeKey[F], next int, place uint64, hits []probeHit) (int, uint64, int) {
	if unsafe.Sizeof(probes[0]) == 8 {
		return probe64((*uint64)(unsafe.Pointer(&probes[0])), len(probes), &key.lookup, next, place, &hits[0], len(hits))
	}
	return probe128((*columns.Uint128)(unsafe.Pointer(&probes[0])), len(probes), &key.lookup, next, place, &hits[0], len(hits))
}

//go:noescape
func probe64(probes *uint64, n int, key *lookup, next int, place uint64, hits *probeHit, room int) (nextProbe int, nextPlace uint64, found int)

//go:noescape
func probe128(probes *columns.Uint128, n int, key *lookup, next int, place uint64, hits *probeHit, room int) (nextProbe int, nextPlace uint64, found int)

// nextNear is nextNearGo, with AVX-512 where there is.
func nextNear(f uint64, v []uint64, k, from int) int {
	if !haveSIMD || from >= len(v) {
		return nextNearGo(f, v, k, from)
	}
	return near32(f, &v[0], len(v), k, from)
}

//go:noescape
func near32(f uint64, v *uint64, n, k, from int) int
