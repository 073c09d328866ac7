package spill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type record struct{ head, tail string }

func compareHeads(a, b record) int { return cmp.Compare(a.head, b.head) }

func eachOf(b *Buckets, i int) (got []record, err error) {
	err = b.Each(i, func(head, tail []byte) error {
		got = append(got, record{string(head), string(tail)})
		return nil
	})
	return got, err
}

func sortedOf(b *Buckets, i int) (got []record, err error) {
	err = b.Sorted(i, func(head, tail []byte) error {
		got = append(got, record{string(head), string(tail)})
		return nil
	})
	return got, err
}

func drawOptions(t *rapid.T, dir string) Options {
	return Options{
		Dir:  dir,
		Head: rapid.SampledFrom([]int{1, 2, 9, 40, 256}).Draw(t, "head"),
		Tail: rapid.Bool().Draw(t, "tail"),
	}
}

// drawRecord draws one of few heads, so that equal ones occur, and a tail that
// is unique with its number.
func drawRecord(rnd *rand.Rand, o Options, number int) record {
	head := bytes.Repeat([]byte{byte(rnd.IntN(3))}, o.Head)
	for range rnd.IntN(3) {
		head[rnd.IntN(len(head))] = byte(rnd.IntN(256))
	}
	r := record{head: string(head)}
	if o.Tail && rnd.IntN(4) > 0 {
		r.tail = fmt.Sprint(number)
		if rnd.IntN(500) == 0 {
			r.tail += strings.Repeat("x", rnd.IntN(3*blockBytes))
		}
	}
	return r
}

// One dealer: the buckets are as a map of slices, in every order of dealing,
// reading, dropping and dealing again.
func TestBucketsEqualSlices(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spill")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 3, 64, 65, 200}).Draw(t, "buckets")
		o := drawOptions(t, dir)
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		b := New(n, o)
		want := make([][]record, n)
		dealer := b.Dealer()
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			for number := range rapid.SampledFrom([]int{0, 10, 3000}).Draw(t, "records") {
				i := min(rnd.IntN(n), rnd.IntN(n))
				r := drawRecord(rnd, o, number)
				if err := dealer.Put(i, []byte(r.head), []byte(r.tail)); err != nil {
					t.Fatal(err)
				}
				want[i] = append(want[i], r)
			}
			if err := dealer.Flush(); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				checkBucket(t, b, i, want[i])
				if rnd.IntN(2) == 0 {
					if err := b.Drop(i); err != nil {
						t.Fatal(err)
					}
					want[i] = nil
					checkBucket(t, b, i, nil)
				}
			}
		}
		if err := errors.Join(b.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
		checkEmpty(t, dir)
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// checkBucket compares all that a bucket says of itself with the records.
func checkBucket(t fataler, b *Buckets, i int, want []record) {
	t.Helper()
	got, err := eachOf(b, i)
	if err != nil || !slices.Equal(got, want) || b.Len(i) != int64(len(want)) {
		t.Fatalf("bucket %d: %d records, Len %d, want %d: %v", i, len(got), b.Len(i), len(want), err)
	}
	want = slices.Clone(want)
	slices.SortStableFunc(want, compareHeads)
	if sorted, err := sortedOf(b, i); err != nil || !slices.Equal(sorted, want) {
		t.Fatalf("bucket %d is not sorted: %v", i, err)
	}
	heads, err := b.Load(i)
	if b.options.Tail {
		if err == nil {
			t.Fatalf("records with tails were loaded")
		}
		return
	}
	var all []byte
	for _, r := range got {
		all = append(all, r.head...)
	}
	if err != nil || !bytes.Equal(heads, all) {
		t.Fatalf("bucket %d: %d bytes loaded, want %d: %v", i, len(heads), len(all), err)
	}
}

func checkEmpty(t fataler, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
}

// Several dealers: all records are there, each dealer's in its order, while
// buckets are read, sorted and dropped at the same time.
func TestSeveralDealers(t *testing.T) {
	for _, tail := range []bool{false, true} {
		const n, dealers, each = 150, 4, 20_000
		dir := t.TempDir()
		b := New(n, Options{Dir: dir, Head: 8, Tail: tail})
		var wg sync.WaitGroup
		for d := range dealers {
			wg.Go(func() {
				dealer := b.Dealer()
				rnd := rand.New(rand.NewPCG(uint64(d), 1))
				for k := range each {
					var text []byte
					if tail {
						text = bytes.Repeat([]byte{byte(k)}, rnd.IntN(40))
					}
					if err := dealer.Put(rnd.IntN(n), fmt.Appendf(nil, "%d%07d", d, k), text); err != nil {
						t.Error(err)
					}
				}
				if err := dealer.Flush(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		var next sync.Mutex
		total, bucket := 0, 0
		for range dealers {
			wg.Go(func() {
				for {
					next.Lock()
					i := bucket
					bucket++
					next.Unlock()
					if i >= n {
						return
					}
					got, err := eachOf(b, i)
					if err != nil {
						t.Error(err)
					}
					slices.SortStableFunc(got, func(x, y record) int { return cmp.Compare(x.head[0], y.head[0]) })
					sorted, err := sortedOf(b, i)
					if err != nil || !slices.Equal(sorted, got) { // a dealer's heads ascend
						t.Errorf("bucket %d: the records of a dealer have lost their order: %v", i, err)
					}
					if err := b.Drop(i); err != nil {
						t.Error(err)
					}
					next.Lock()
					total += len(got)
					next.Unlock()
				}
			})
		}
		wg.Wait()
		if total != dealers*each {
			t.Errorf("%d records, want %d", total, dealers*each)
		}
		if left := diskBytes(t, dir); left != 0 {
			t.Errorf("after dropping all: %d bytes on disk", left)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		checkEmpty(t, dir)
	}
}

func diskBytes(t *testing.T, dir string) (size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}
