package lookup_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/neardup/neardup/data/lookup"
)

func TestEntry(t *testing.T) {
	want := lookup.Entry{Row: 1 << 40, ID: []byte("http://example.org/"), Hi: 1, Lo: 1 << 63, Normal: true, Length: 7, Sketch: make([]byte, 64), Letters: []byte("学习"), FirstSeen: []byte("2026-11-01"), Cluster: []byte("c")}
	packed := lookup.AppendEntry([]byte("x"), &want)[1:]
	var got lookup.Entry
	rest, err := lookup.ParseEntry(append(packed, "behind"...), &got)
	if err != nil || string(rest) != "behind" || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %q, %v", got, rest, err)
	}
	for n := range packed {
		if _, err := lookup.ParseEntry(packed[:n], &got); !errors.Is(err, lookup.ErrEntry) {
			t.Fatalf("%d bytes of %d: %v", n, len(packed), err)
		}
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add(lookup.AppendEntry(nil, &lookup.Entry{Row: 3, ID: []byte("a")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again lookup.Entry
		if _, err := lookup.ParseEntry(b, &e); err != nil {
			return
		}
		if _, err := lookup.ParseEntry(lookup.AppendEntry(nil, &e), &again); err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("%+v became %+v, %v", e, again, err)
		}
	})
}
