package identical_test

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
	"github.com/neardup/neardup/job/internal/state/identical"
)

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) identical.Document {
			return identical.Document{Doc: number.Draw(t, "doc"), Kind: identical.Kind(rapid.IntRange(0, 3).Draw(t, "kind")), Of: number.Draw(t, "of")}
		})).Draw(t, "documents")
		if err := state.Write(path, identical.FileKind, identical.Append(nil, want...)); err != nil {
			t.Fatal(err)
		}
		var got []identical.Document
		err := identical.Read(path, func(d identical.Document) error { got = append(got, d); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", err, got, want)
		}
		for i, d := range want {
			if o := want[0]; d.Doc != o.Doc && bytes.Compare(identical.Append(nil, o), identical.Append(nil, d)) != cmp.Compare(o.Doc, d.Doc) {
				t.Fatalf("%v and %v do not sort as they should, %d", o, d, i)
			}
		}
	})
}

func Example() {
	dir, err := os.MkdirTemp("", "identical")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "part-00001")
	records := identical.Append(nil,
		identical.Document{Doc: 1004, Kind: identical.DuplicateID},
		identical.Document{Doc: 1010, Kind: identical.EqualShort, Of: 17})
	if err := state.Write(path, identical.FileKind, records); err != nil {
		fmt.Println(err)
		return
	}
	err = identical.Read(path, func(d identical.Document) error {
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
