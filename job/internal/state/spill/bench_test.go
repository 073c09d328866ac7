package spill

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkPut(b *testing.B) {
	for _, n := range []int{16, 512, 10_000} {
		b.Run(fmt.Sprintf("buckets=%d", n), func(b *testing.B) {
			set := New(n, Options{Dir: b.TempDir(), Head: 16})
			defer set.Close()
			dealer := set.Dealer()
			rnd := rand.New(rand.NewPCG(1, 2))
			var head [16]byte
			b.SetBytes(16)
			for b.Loop() {
				binary.LittleEndian.PutUint64(head[:], rnd.Uint64())
				if err := dealer.Put(int(binary.LittleEndian.Uint32(head[:]))%n, head[:], nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := dealer.Flush(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// filled has records of random heads, of values different ones.
func filled(b *testing.B, records int, values uint64, o Options) *Buckets {
	set := New(1, o)
	dealer := set.Dealer()
	rnd := rand.New(rand.NewPCG(1, 2))
	head := make([]byte, 16)
	var tail []byte
	for range records {
		binary.LittleEndian.PutUint64(head, rnd.Uint64N(values)*0x9e3779b97f4a7c15)
		if o.Tail {
			tail = head
		}
		if err := dealer.Put(0, head[:o.Head], tail); err != nil {
			b.Fatal(err)
		}
	}
	if err := dealer.Flush(); err != nil {
		b.Fatal(err)
	}
	return set
}

func BenchmarkSorted(b *testing.B) {
	for _, values := range []uint64{1 << 63, 100_000, 1} {
		for _, tail := range []bool{false, true} {
			b.Run(fmt.Sprintf("10M×9/values=%d/tail=%v", values, tail), func(b *testing.B) {
				set := filled(b, 10_000_000, values, Options{Dir: b.TempDir(), Head: 9, Tail: tail})
				defer set.Close()
				for b.Loop() {
					if err := set.Sorted(0, func(_, _ []byte) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEach(b *testing.B) {
	const records = 10_000_000
	set := filled(b, records, 1<<63, Options{Dir: b.TempDir(), Head: 9})
	defer set.Close()
	b.SetBytes(records * 9)
	for b.Loop() {
		if err := set.Each(0, func(_, _ []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
