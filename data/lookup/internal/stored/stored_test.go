package stored_test

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"testing"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

func TestEntry(t *testing.T) {
	want := lookup.Entry{Row: 1 << 40, ID: []byte("http://example.org/"), Hi: 1, Lo: 1 << 63, Normal: true, Length: 7, Sketch: make([]byte, 64), Letters: []byte("学习"), FirstSeen: []byte("2026-11-01"), Cluster: []byte("c")}
	packed := stored.AppendEntry([]byte("x"), &want)[1:]
	var got lookup.Entry
	rest, err := stored.ParseEntry(append(packed, "behind"...), &got)
	if err != nil || string(rest) != "behind" || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %q, %v", got, rest, err)
	}
	for n := range packed {
		if _, err := stored.ParseEntry(packed[:n], &got); !errors.Is(err, stored.ErrEntry) {
			t.Fatalf("%d bytes of %d: %v", n, len(packed), err)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(stored.AppendEntry(nil, &lookup.Entry{Row: 3, ID: []byte("a")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again lookup.Entry
		if _, err := stored.ParseEntry(b, &e); err != nil {
			return
		}
		if _, err := stored.ParseEntry(stored.AppendEntry(nil, &e), &again); err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("%+v became %+v, %v", e, again, err)
		}
	})
}

func TestAround(t *testing.T) {
	for _, width := range []int{1, 4, 10, 32} {
		for reach := range 4 {
			value := uint32(0x9e3779b9) & (1<<width - 1)
			seen := map[uint32]bool{}
			for v := range stored.Around(value, width, reach) {
				if len(seen) == 0 && v != value {
					t.Error("the value itself does not come first")
				}
				if seen[v] || uint64(v)>>width != 0 || bits.OnesCount32(v^value) > reach {
					t.Fatalf("width %d, reach %d: %x", width, reach, v)
				}
				seen[v] = true
			}
			if len(seen) != stored.Values(width, reach) {
				t.Errorf("width %d, reach %d: %d values, want %d", width, reach, len(seen), stored.Values(width, reach))
			}
			want := 0
			if width <= 10 {
				for v := range uint32(1) << width {
					if bits.OnesCount32(v^value) <= reach {
						want++
					}
				}
				if want != len(seen) {
					t.Errorf("width %d, reach %d: %d values, counted %d", width, reach, len(seen), want)
				}
			}
		}
	}
	for range stored.Around(5, 16, 3) {
		break
	}
}

func ExampleAround() {
	for value := range stored.Around(0b101, 3, 1) {
		fmt.Printf("%03b ", value)
	}
	fmt.Println()
	// Output: 101 100 111 001
}
