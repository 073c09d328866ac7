//go:build !amd64

package hamming

import "github.com/neardup/neardup/simhash/columns"

const haveSIMD = false

func nearSIMD[F columns.Fingerprint](v []F, reach []uint32, k, block, offset int, hits []hit) (int, int, int) {
	return near(v, reach, k, block, offset, hits)
}

func probeSIMD[F columns.Fingerprint](probes []F, key *nodeKey[F], next int, place uint64, hits []probeHit) (int, uint64, int) {
	return probe(probes, key, next, place, hits)
}

func nextNear(f uint64, v []uint64, k, from int) int { return nextNearGo(f, v, k, from) }
