//go:build unix

package hamming

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The benchmarks of this package are micro-benchmarks: each has one of the
// calls that the program makes, on fingerprints drawn at random. What a user
// can run is measured in job/docs/benchmarks by its command.

// benchSet returns n fingerprints, a tenth of them twins at distance 0 to 3 of
// an earlier one.
func benchSet(n int) []uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	fps := make([]uint64, n)
	for i := range fps {
		x := rng.Uint64()
		if i > 0 && x%10 == 0 {
			y := rng.Uint64()
			fps[i] = fps[rng.IntN(i)]
			for range y % 4 {
				y >>= 6
				fps[i] ^= 1 << (y & 63)
			}
			continue
		}
		fps[i] = rng.Uint64()
	}
	return fps
}

// benchSkewed is benchSet with 1 % of the documents in one value of the first
// segment, 0.5 % identical, and a dense ball of 1,000 fingerprints.
func benchSkewed(n int) []uint64 {
	fps := benchSet(n)
	rng := rand.New(rand.NewPCG(3, 4))
	for range n / 100 {
		i := rng.IntN(n)
		fps[i] = fps[i]&(1<<48-1) | 0xbeef<<48
	}
	for range n / 200 {
		fps[rng.IntN(n)] = 0x0123456789abcdef
	}
	for range 1000 {
		fps[rng.IntN(n)] = 0xfedcba9876543210 ^ 1<<rng.IntN(64) ^ 1<<rng.IntN(64)
	}
	return fps
}

// cpuTime is the processor time the process has used, in nanoseconds: on a
// shared machine it says more than the clock.
func cpuTime() int64 {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func benchLarge(b *testing.B, n int) {
	if n > 1_000_000 && os.Getenv("NEARDUP_BENCH_LARGE") == "" {
		b.Skip("NEARDUP_BENCH_LARGE is not set: skipping more than 1 M fingerprints")
	}
}

func BenchmarkPairs(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(n int) []uint64
		n, k int
	}{
		{"uniform", benchSet, 1_000_000, 3},
		{"skewed", benchSkewed, 1_000_000, 3},
		{"portable", benchSet, 1_000_000, 3},
		{"uniform", benchSet, 1_000_000, 8},
		{"portable", benchSet, 1_000_000, 8},
		{"uniform", benchSet, 10_000_000, 3},
		{"skewed", benchSkewed, 10_000_000, 3},
		{"uniform", benchSet, 10_000_000, 8},
		{"uniform", benchSet, 10_000_000, 10},
		{"uniform", benchSet, 100_000_000, 3},
	} {
		b.Run(fmt.Sprintf("%s/k=%d/n=%d", c.name, c.k, c.n), func(b *testing.B) {
			benchLarge(b, c.n)
			s := collapsed(b, c.make(c.n))
			benchPairs(b, s, c.k, Options{portable: c.name == "portable"})
			if plan, err := ChoosePlan(64, c.k, s.Len()); err == nil {
				b.ReportMetric(plan.Cost(s.Len()), "model-ns/fp")
			}
		})
	}
	b.Run("wide/k=16/n=1000000", func(b *testing.B) {
		benchPairs(b, collapsed(b, benchWide(1_000_000)), 16, Options{})
	})
}

// benchWide returns n fingerprints of 128 bits, a tenth of them twins at
// distance 0 to 16 of an earlier one.
func benchWide(n int) []Uint128 {
	rng := rand.New(rand.NewPCG(1, 2))
	fps := make([]Uint128, n)
	for i := range fps {
		fps[i] = Uint128{Hi: rng.Uint64(), Lo: rng.Uint64()}
		if i > 0 && i%10 == 0 {
			fps[i] = fps[rng.IntN(i)]
			for range rng.IntN(17) {
				fps[i].Hi ^= 1 << rng.IntN(64)
			}
		}
	}
	return fps
}

func collapsed[F Fingerprint](b *testing.B, fps []F) *Set[F] {
	s, err := Collapse(fps, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchPairs[F Fingerprint](b *testing.B, s *Set[F], k int, opt Options) {
	pairs, calls := 0, 0
	runtime.GC()
	cpu := cpuTime()
	for b.Loop() {
		calls++
		err := s.Pairs(context.Background(), k, opt, func(_, _ uint32, _ int) { pairs++ })
		if err != nil {
			b.Fatal(err)
		}
	}
	reportEach(b, cpu, s.Len())
	b.ReportMetric(float64(pairs)/float64(calls), "pairs")
}

// reportEach reports the time since cpu for each of n fingerprints.
func reportEach(b *testing.B, cpu int64, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/fp")
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/float64(n), "cpu-ns/fp")
}

// BenchmarkPairsBad has the sets that are hard on tables and groups.
func BenchmarkPairsBad(b *testing.B) {
	const n, k = 1_000_000, 3
	ball := func(x uint64, i int) uint64 {
		if i%4 != 0 {
			return x
		}
		return 0xabcdef ^ 1<<(x&63) ^ 1<<(x>>6&63) ^ 1<<(x>>12&63)
	}
	for _, c := range []struct {
		name string
		make func(x uint64, i int) uint64
	}{
		{"uniform", func(x uint64, _ int) uint64 { return x }},
		{"one segment", func(x uint64, _ int) uint64 { return x >> 16 }},
		{"99 % in one segment", func(x uint64, i int) uint64 {
			if i%100 == 0 {
				return x
			}
			return x>>16 | 0xbeef<<48
		}},
		{"half in one segment", func(x uint64, i int) uint64 {
			if i%2 == 0 {
				return x
			}
			return x>>16 | 0xbeef<<48
		}},
		{"half varies", func(x uint64, _ int) uint64 { return x & 0x5555555555555555 }},
		{"ball of 41,728", ball},
		{"ball of odd and even", func(x uint64, i int) uint64 { return ball(x, i) ^ uint64(i)>>2&1 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			fps := make([]uint64, n)
			for i := range fps {
				fps[i] = c.make(rng.Uint64(), i)
			}
			b.Run("collapse", func(b *testing.B) {
				cpu := cpuTime()
				for b.Loop() {
					collapsed(b, fps)
				}
				reportEach(b, cpu, n)
			})
			b.Run("pairs", func(b *testing.B) { benchPairs(b, collapsed(b, fps), k, Options{}) })
		})
	}
}

// The model is within a factor of 2.5 of what is measured, its share of the
// whole being the join.
func TestCostModel(t *testing.T) {
	if os.Getenv("NEARDUP_BENCH_LARGE") == "" {
		t.Skip("NEARDUP_BENCH_LARGE is not set: skipping the timing of the cost model")
	}
	const n, factor = 2_000_000, 2.5
	fps := benchSet(n)
	for _, k := range []int{3, 5, 8, 10} {
		s, err := Collapse(fps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := ChoosePlan(64, k, s.Len())
		if err != nil {
			t.Fatal(err)
		}
		measured := math.Inf(1)
		for range 3 {
			cpu := cpuTime()
			if err := s.Pairs(context.Background(), k, Options{}, func(uint32, uint32, int) {}); err != nil {
				t.Fatal(err)
			}
			measured = min(measured, float64(cpuTime()-cpu)/n)
		}
		t.Logf("%v: modelled %.0f, measured %.0f ns a fingerprint", plan, plan.Cost(s.Len()), measured)
		if r := measured / plan.Cost(s.Len()); r > factor || r < 1/factor {
			t.Errorf("%v: modelled %.0f, measured %.0f ns a fingerprint", plan, plan.Cost(s.Len()), measured)
		}
	}
}

// benchLibrary returns n fingerprints of a library, one in ten of them one of
// fps with up to three bits flipped.
func benchLibrary(fps []uint64, n int) []uint64 {
	rng := rand.New(rand.NewPCG(5, 6))
	library := make([]uint64, n)
	for i := range library {
		x := rng.Uint64()
		if x%10 == 0 {
			y := rng.Uint64()
			x = fps[rng.IntN(len(fps))]
			for range y % 4 {
				y >>= 6
				x ^= 1 << (y & 63)
			}
		}
		library[i] = x
	}
	return library
}

// BenchmarkProbe streams a library past an index on one core: "map" is the
// obvious way, a map of segments, on a hundredth of the stream.
func BenchmarkProbe(b *testing.B) {
	for _, c := range []struct {
		name             string
		index, stream, k int
		make             func(int) []uint64
	}{
		{"map", 1_000_000, 10_000, 3, benchSet},
		{"uniform", 1_000_000, 1_000_000, 3, benchSet},
		{"portable", 1_000_000, 1_000_000, 3, benchSet},
		{"skewed", 1_000_000, 1_000_000, 3, benchSkewed},
		{"uniform", 1_000_000, 1_000_000, 6, benchSet},
		{"uniform", 1_000_000, 1_000_000, 8, benchSet},
		{"uniform", 1_000_000, 200_000, 12, benchSet},
		{"uniform", 1_000_000, 10_000_000, 3, benchSet},
		{"uniform", 1_000_000, 100_000_000, 3, benchSet},
		{"uniform", 10_000_000, 10_000_000, 3, benchSet},
		{"uniform", 100_000_000, 25_000_000, 3, benchSet},
	} {
		b.Run(fmt.Sprintf("%s/k=%d/index=%d/stream=%d", c.name, c.k, c.index, c.stream), func(b *testing.B) {
			benchLarge(b, max(c.stream, c.index))
			fps := c.make(c.index)
			library := benchLibrary(fps, min(c.stream, 25_000_000))
			if c.name == "skewed" {
				for i := range library[:c.stream/2] {
					if i%50 == 0 {
						library[i] = library[i]&(1<<48-1) | 0xbeef<<48
					}
				}
			}
			var probe func(batch []uint64, visit func(i int, doc uint32, distance int))
			built := time.Now()
			if c.name == "map" {
				probe = byMap(fps)
			} else {
				ix, err := newIndex(fps, c.k, Options{portable: c.name == "portable"})
				if err != nil {
					b.Fatal(err)
				}
				p := ix.NewProber()
				p.Probe(library[:len(library)/4], func(int, uint32, int) {}) // fresh workspace
				defer func() {
					b.ReportMetric(float64(indexBytesOf(ix))/float64(c.index), "index-B/fp")
					b.ReportMetric(ix.plan.cost(c.index, ix.model), "model-ns/probe")
				}()
				probe = p.Probe
			}
			build := time.Since(built)
			batch := min(1<<20, len(library))
			if c.index > 4<<20 {
				batch = len(library)
			}
			found := 0
			cpu := cpuTime()
			b.ResetTimer()
			for b.Loop() {
				found = 0
				for done := 0; done < c.stream; {
					at := done % len(library)
					part := library[at:min(at+batch, at+c.stream-done, len(library))]
					probe(part, func(int, uint32, int) { found++ })
					done += len(part)
				}
			}
			b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N)/float64(c.stream), "cpu-ns/probe")
			b.ReportMetric(build.Seconds(), "build-s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.stream), "ns/probe")
			b.ReportMetric(float64(found), "found")
		})
	}
}
