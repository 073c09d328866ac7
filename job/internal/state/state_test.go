package state_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/job/internal/state"
)

func TestNumbersComeBackAndSort(t *testing.T) {
	number := rapid.Uint64Range(0, 1<<(8*state.NumberBytes)-1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := state.AppendNumber([]byte("x"), a)[1:], state.AppendNumber(nil, b)
		if len(x) != state.NumberBytes || state.Number(x) != a || state.Number(append(x, 9)) != a {
			t.Fatalf("%d is % x, which is %d", a, x, state.Number(x))
		}
		if bytes.Compare(x[:state.NumberBytes], y) != cmp.Compare(a, b) {
			t.Fatalf("%d and %d do not sort as % x and % x", a, b, x, y)
		}
	})
}

// A file comes back as it was written; with any byte changed, cut or appended,
// or read as another kind, it is refused.
func TestChecked(t *testing.T) {
	const kind = "kind 1"
	path := filepath.Join(t.TempDir(), "file")
	for _, body := range [][]byte{nil, []byte("a"), bytes.Repeat([]byte("0123456789\n"), 10)} {
		if err := state.Write(path, kind, body); err != nil {
			t.Fatal(err)
		}
		if got, err := state.Read(path, kind); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("got %q, %v, want %q", got, err, body)
		}
		if _, err := state.Read(path, "kind 2"); !errors.Is(err, state.ErrDamaged) {
			t.Fatalf("as another kind: %v", err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			damaged := slices.Clone(whole)
			damaged[i] ^= 0x20
			for _, b := range [][]byte{damaged, whole[:i], append(slices.Clone(whole), whole[i])} {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := state.Read(path, kind); !errors.Is(err, state.ErrDamaged) {
					t.Fatalf("byte %d of %d: %v", i, len(whole), err)
				}
			}
		}
	}
	if _, err := state.Read(filepath.Join(t.TempDir(), "missing"), kind); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	if err := state.Write(filepath.Join(path, "below-a-file"), kind, nil); err == nil {
		t.Error("a file within a file was written")
	}
}

// Blocks are found and read in any order; one that is not as it was when they were
// found is refused.
func TestBlocks(t *testing.T) {
	const kind = "kind 1"
	path := filepath.Join(t.TempDir(), "file")
	f, err := state.Create(path, kind)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "", "second", strings.Repeat("third ", 100)}
	for _, block := range want {
		_, _ = f.Write([]byte(block)) // its error is Commit's
	}
	pieces := []string{"a fourth ", "", "in pieces"}
	want = append(want, strings.Join(pieces, ""))
	_ = f.WritePieces(len(want[len(want)-1]), func(yield func([]byte) bool) {
		for _, piece := range pieces {
			if !yield([]byte(piece)) {
				return
			}
		}
	})
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(b string) bool { return b == "" })
	var came []string
	const begin = 5
	blocks, err := state.FindBlocks(t.Context(), path, kind, begin, func(head []byte) error {
		came = append(came, string(head))
		return nil
	})
	if err != nil || len(came) != len(want) {
		t.Fatalf("%q, %v", came, err)
	}
	for i, head := range came {
		if want := want[i][:min(begin, len(want[i]))]; head != want {
			t.Errorf("block %d begins with %q, not %q", i, head, want)
		}
	}
	read := func(i int) (got string, err error) {
		err = blocks.Read(i, func(in io.Reader, size int64) error {
			b, err := io.ReadAll(in)
			if got = string(b); err == nil && int64(len(b)) != size {
				t.Errorf("%d bytes of %d", len(b), size)
			}
			return err
		})
		return got, err
	}
	for i := range want {
		i = len(want) - 1 - i
		if got, err := read(i); err != nil || got != want[i] {
			t.Errorf("block %d is %q, %v", i, got, err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []int{len(whole) - 1, 20, 3} {
		if err := os.WriteFile(path, append(slices.Clone(whole[:left-1]), whole[left-1]^1), 0o600); err != nil {
			t.Fatal(err)
		}
		damaged := 0
		for i := range want {
			if _, err := read(i); errors.Is(err, state.ErrDamaged) {
				damaged++
			} else if err != nil {
				t.Error(err)
			}
		}
		if _, err := state.FindBlocks(t.Context(), path, kind, begin, func([]byte) error { return nil }); !errors.Is(err, state.ErrDamaged) {
			t.Errorf("%d bytes are left: %v", left, err)
		}
		if left <= 20 && damaged != len(want) {
			t.Errorf("%d bytes are left, and %d blocks are damaged", left, damaged)
		}
	}
}

func ExampleAppendNumber() {
	record := state.AppendNumber(nil, 1<<32+7) // a document beyond the four billionth
	fmt.Printf("% x %d\n", record, state.Number(record))
	// Output: 01 00 00 00 07 4294967303
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "checked")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "names")
	fmt.Println(state.Write(path, "neardup names 1", []byte("a body")))
	body, err := state.Read(path, "neardup names 1")
	fmt.Printf("%s %v\n", body, err)
	// Output:
	// <nil>
	// a body <nil>
}
