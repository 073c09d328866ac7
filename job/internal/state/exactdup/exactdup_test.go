package exactdup_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) exactdup.Document {
			return exactdup.Document{Doc: number.Draw(t, "doc"), Kind: exactdup.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), Of: number.Draw(t, "of")}
		})).Draw(t, "documents")
		if err := state.Write(path, exactdup.FileKind, exactdup.Append(nil, want...)); err != nil {
			t.Fatal(err)
		}
		var got []exactdup.Document
		err := exactdup.Read(path, func(d exactdup.Document) error { got = append(got, d); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		for i, d := range want {
			if o := want[0]; d.Doc != o.Doc && bytes.Compare(exactdup.Append(nil, o), exactdup.Append(nil, d)) != cmp.Compare(o.Doc, d.Doc) {
				t.Fatalf("%v and %v do not sort as they should, %d", o, d, i)
			}
		}
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "exactdup")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "part-00001")
	records := exactdup.Append(nil,
		exactdup.Document{Doc: 1004, Kind: exactdup.DuplicateID},
		exactdup.Document{Doc: 1010, Kind: exactdup.EqualShort, Of: 17})
	if err := state.Write(path, exactdup.FileKind, records); err != nil {
		fmt.Println(err)
		return
	}
	err = exactdup.Read(path, func(d exactdup.Document) error {
		fmt.Println(d.Doc, d.IsEqual(), d.Of)
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1004 false 0
	// 1010 true 17
}
