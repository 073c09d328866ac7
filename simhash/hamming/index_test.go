package hamming

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

type probed struct {
	i        int
	doc      uint32
	distance int
}

//go:norace
func bruteProbe[F Fingerprint](fps, batch []F, k int) []probed {
	var found []probed
	for i := range batch {
		for doc := range fps {
			if d := distance(&batch[i], &fps[doc]); d <= k {
				found = append(found, probed{i, uint32(doc), d})
			}
		}
	}
	return found
}

func probeAll[F Fingerprint](p *Prober[F], batch []F) []probed {
	var found []probed
	p.Probe(batch, p.members(func(i int, doc uint32, distance int) { found = append(found, probed{i, doc, distance}) }))
	slices.SortFunc(found, func(a, b probed) int { return cmp.Or(cmp.Compare(a.i, b.i), cmp.Compare(a.doc, b.doc)) })
	return found
}

func checkProbe[F Fingerprint](t rapid.TB, fps, batch []F, k int, opt Options) {
	t.Helper()
	ix, err := newIndex(fps, k, opt)
	if err != nil {
		t.Fatal(err)
	}
	got, want := probeAll(ix.NewProber(), batch), bruteProbe(fps, batch, k)
	if !slices.Equal(got, want) {
		t.Fatalf("%v, %d indexed, %d probed: %d found, want %d", ix.plan, len(fps), len(batch), len(got), len(want))
	}
}

// near returns a batch of copies of fps with up to flips bits flipped, and of
// others.
func probesOf(seed uint64, fps []uint64, n, bits, flips int) []uint64 {
	rng := rand.New(rand.NewPCG(seed, 2))
	batch := make([]uint64, n)
	for i := range batch {
		batch[i] = rng.Uint64() >> (64 - bits)
		if len(fps) > 0 && i%3 == 0 {
			batch[i] = fps[rng.IntN(len(fps))]
			for range rng.IntN(flips + 1) {
				batch[i] ^= 1 << rng.IntN(bits)
			}
		}
	}
	return batch
}

func TestProbe(t *testing.T) {
	for k := 0; k <= 15; k++ {
		if testing.Short() && k%3 != 0 {
			continue
		}
		for _, n := range []int{0, 1, 2, 100, 3000} {
			fps := planted(uint64(k), n, 64, k+2)
			for _, batch := range []int{0, 1, 700} {
				checkProbe(t, fps, probesOf(uint64(n), fps, batch, 64, k+2), k, Options{portable: n%3 == 0})
			}
		}
		fps := planted(uint64(k), 2000, 32, k+2)
		checkProbe(t, fps, probesOf(1, fps, 500, 32, k+2), k, Options{Bits: 32})
	}
}

func TestProbeWide(t *testing.T) {
	for _, k := range []int{0, 3, 8, 16, 31} {
		fps := planted(uint64(k), 3000, 64, k+2)
		batch := wide(probesOf(1, fps, 500, 64, k+2))
		rng := rand.New(rand.NewPCG(1, 9))
		indexed := wide(fps)
		for i := range indexed { // the other half of the bits too
			noise := Uint128{Hi: rng.Uint64() & 0x0000ffff0000ffff, Lo: rng.Uint64() & 0xffff0000ffff0000}
			indexed[i].Hi |= noise.Hi
			indexed[i].Lo |= noise.Lo
			if i < len(batch) && i%2 == 0 {
				batch[i] = indexed[i]
				batch[i].Hi ^= 1 << rng.IntN(64)
				batch[i].Lo ^= uint64(rng.IntN(4))
			}
		}
		for _, opt := range []Options{{}, {portable: true}} {
			checkProbe(t, indexed, batch, k, opt)
			checkProbe(t, wide(fps), batch, k, opt)
		}
	}
}

// Hot segments, balls and identical ones, in the index and in what streams
// past it: large groups with nodes of their own, and those that have none.
func TestProbeSkewed(t *testing.T) {
	fps := skewed()
	rng := rand.New(rand.NewPCG(6, 6))
	for range sized(20_000) { // so many of one segment that nodes have large groups
		fps = append(fps, rng.Uint64()&^(0xffff<<48)&^(0xfff<<20))
	}
	batch := probesOf(4, fps, sized(1500), 64, 4)
	for i := range batch {
		switch i % 5 {
		case 1:
			batch[i] &^= 0xffff << 48
		case 2:
			batch[i] = 0x123456789abcdef ^ 1<<rng.IntN(64)
		}
	}
	for _, opt := range []Options{{}, {portable: true, Workers: 3}} {
		checkProbe(t, fps, batch, 3, opt)
		checkProbe(t, fps, batch, 7, opt)
		checkProbe(t, wide(fps), wide(batch), 3, opt)
	}
}

// One value repeated, a whole subcube, and one segment for all.
func TestProbeDegenerate(t *testing.T) {
	same := make([]uint64, 5000)
	for i := range same {
		same[i] = 7
	}
	checkProbe(t, same, []uint64{7, 6, 0, ^uint64(0), 7}, 3, Options{})
	var low []uint64
	for x := range uint64(4096) {
		low = append(low, x|0xabc<<40)
	}
	for _, k := range []int{0, 3, 12} {
		checkProbe(t, low, append(low[:50:50], 0xabd<<40, 0, 1<<63|0xabc<<40), k, Options{})
	}
	one := planted(1, 60_000, 40, 3)
	checkProbe(t, one, probesOf(1, one, 300, 40, 4), 3, Options{})
	// Probes wider than the index differ in the bits it does not have.
	checkProbe(t, planted(1, 5000, 32, 3), []uint64{1 << 32, 1<<40 | 3, ^uint64(0)}, 3, Options{Bits: 32})
}

// Any plan serves.
func TestProbePlans(t *testing.T) {
	fps := planted(9, sized(40_000), 64, 4)
	batch := probesOf(9, fps, 400, 64, 4)
	for _, regions := range []string{
		"all pairs",
		"64/3/1",
		"64/3/5",
		"64/3/2/2",
		"20/0/1+44/2/2",
		"4/0/1+4/0/1+4/0/1+4/0/1",
	} {
		plan, err := parsePlan(64, 3, regions)
		if err != nil {
			t.Fatal(err)
		}
		checkProbe(t, fps, batch, 3, Options{plan: plan})
		checkProbe(t, fps, batch, 2, Options{plan: plan, portable: true})
	}
}

// Batches of several chunks, in the buckets' order and not, and probers at the
// same time find what a plain map finds.
func TestProbeLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("1.2 M probes take seconds: skipped with -short")
	}
	fps := planted(21, 10_000, 64, 4)
	batch := probesOf(22, fps, 1_100_000, 64, 4)
	ix, err := newIndex(fps, 3, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[probed]bool{}
	byMap(fps)(batch, func(i int, doc uint32, d int) { want[probed{i, doc, d}] = true })
	var wg sync.WaitGroup
	for _, size := range []int{len(batch), 50_000} {
		wg.Go(func() {
			p := ix.NewProber()
			seen := map[probed]bool{}
			for at := 0; at < len(batch); at += size {
				p.Probe(batch[at:min(at+size, len(batch))], p.members(func(i int, doc uint32, d int) {
					f := probed{at + i, doc, d}
					if seen[f] || !want[f] {
						t.Errorf("batches of %d: %v: seen before %v, wanted %v", size, f, seen[f], want[f])
					}
					seen[f] = true
				}))
			}
			if len(seen) != len(want) {
				t.Errorf("batches of %d: %d found, want %d", size, len(seen), len(want))
			}
		})
	}
	wg.Wait()
}

// byMap is the obvious way for k = 3: a map by segment for each of four, each
// candidate compared, and found in the first segment it shares.
func byMap(fps []uint64) func(batch []uint64, visit func(i int, doc uint32, distance int)) {
	var tables [4]map[uint16][]uint32
	for t := range tables {
		tables[t] = map[uint16][]uint32{}
		for doc, f := range fps {
			key := uint16(f >> (16 * t))
			tables[t][key] = append(tables[t][key], uint32(doc))
		}
	}
	return func(batch []uint64, visit func(i int, doc uint32, distance int)) {
		for i, f := range batch {
			for t := range tables {
				for _, doc := range tables[t][uint16(f>>(16*t))] {
					x := f ^ fps[doc]
					if d := distance(&f, &fps[doc]); d <= 3 && (t == 0 || x&(1<<(16*t)-1) != 0 && shareNone(x, t)) {
						visit(i, doc, d)
					}
				}
			}
		}
	}
}

// shareNone says that none of the first t segments of x is zero.
func shareNone(x uint64, t int) bool {
	for s := range t {
		if uint16(x>>(16*s)) == 0 {
			return false
		}
	}
	return true
}

func TestProbeErrors(t *testing.T) {
	if _, err := newIndex([]uint64{1}, 16, Options{}); !errors.Is(err, errDistance) {
		t.Error(err)
	}
	plan, _ := parsePlan(64, 2, "all pairs")
	if _, err := newIndex([]uint64{1}, 3, Options{plan: plan}); !errors.Is(err, errPlan) {
		t.Error(err)
	}
}

// indexBytesOf is the memory that an index takes.
func indexBytesOf[F Fingerprint](ix *Index[F]) int {
	one := int(unsafe.Sizeof(*new(F)))
	size := ix.lists.Bytes()
	nodes := []*node[F]{ix.top}
	for len(nodes) > 0 {
		nd := nodes[0]
		nodes = nodes[1:]
		for _, t := range nd.tables {
			for _, key := range t.keys {
				size += one*cap(key.values) + 4*cap(key.starts)
				nodes = append(nodes, key.children...)
			}
		}
	}
	return size
}

// What an index takes is what its documentation says.
func TestIndexBytes(t *testing.T) {
	for _, n := range []int{100_000, 1_000_000} {
		if n > 100_000 && testing.Short() {
			continue
		}
		ix, err := newIndex(planted(1, n, 64, 0), 3, Options{})
		if err != nil {
			t.Fatal(err)
		}
		per := float64(indexBytesOf(ix)) / float64(n)
		if keys := float64(len(ix.plan.keys)); per < 8*keys+12 || per > 10*keys+21 {
			t.Errorf("%d fingerprints, %v: %.1f bytes each", n, ix.plan, per)
		}
	}
}

func TestProbeProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bits := rapid.SampledFrom([]int{8, 32, 64}).Draw(rt, "bits")
		k := rapid.IntRange(0, 15).Draw(rt, "k")
		fps := planted(rapid.Uint64().Draw(rt, "seed"), rapid.IntRange(0, 400).Draw(rt, "n"), bits, k+2)
		batch := probesOf(rapid.Uint64().Draw(rt, "probes"), fps, rapid.IntRange(0, 60).Draw(rt, "batch"), bits, k+2)
		checkProbe(rt, fps, batch, k, Options{
			Bits:     bits,
			Workers:  rapid.SampledFrom([]int{1, 2, 7}).Draw(rt, "workers"),
			portable: rapid.Bool().Draw(rt, "portable"),
		})
	})
}

func FuzzProbe(f *testing.F) {
	f.Add([]byte("this run's fingerprints; the library's fingerprints"), uint8(3), uint8(2), false)
	f.Add(make([]byte, 800), uint8(15), uint8(50), true)
	f.Fuzz(func(t *testing.T, data []byte, k, split uint8, portable bool) {
		var fps []uint64
		for ; len(data) >= 8 && len(fps) < 500; data = data[8:] {
			fps = append(fps, binary.BigEndian.Uint64(data))
		}
		at := min(int(split), len(fps))
		checkProbe(t, fps[at:], fps[:at], int(k%16), Options{portable: portable})
		checkProbe(t, wide(fps[at:]), wide(fps[:at]), int(k%32), Options{portable: portable})
	})
}
