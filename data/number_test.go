package data_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
)

func TestNumbersComeBackAndSort(t *testing.T) {
	number := rapid.Uint64Range(0, 1<<(8*data.NumberBytes)-1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, y := data.AppendNumber([]byte("x"), a)[1:], data.AppendNumber(nil, b)
		if len(x) != data.NumberBytes || data.Number(x) != a || data.Number(append(x, 9)) != a {
			t.Fatalf("%d is % x, which is %d", a, x, data.Number(x))
		}
		if bytes.Compare(x[:data.NumberBytes], y) != cmp.Compare(a, b) {
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
		if err := data.WriteChecked(path, kind, body); err != nil {
			t.Fatal(err)
		}
		if got, err := data.ReadChecked(path, kind); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("got %q, %v, want %q", got, err, body)
		}
		if _, err := data.ReadChecked(path, "kind 2"); !errors.Is(err, data.ErrDamaged) {
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
				if _, err := data.ReadChecked(path, kind); !errors.Is(err, data.ErrDamaged) {
					t.Fatalf("byte %d of %d: %v", i, len(whole), err)
				}
			}
		}
	}
	if _, err := data.ReadChecked(filepath.Join(t.TempDir(), "missing"), kind); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	if err := data.WriteChecked(filepath.Join(path, "below-a-file"), kind, nil); err == nil {
		t.Error("a file within a file was written")
	}
}

func TestReasonsHaveDifferentWords(t *testing.T) {
	words := map[string]data.Reason{}
	for r := data.ByDistance; r <= data.NotTheSame; r++ {
		if other, taken := words[r.String()]; taken || r.String() == "" {
			t.Errorf("%d and %d are both %q", r, other, r)
		}
		words[r.String()] = r
	}
	if got := (data.NotTheSame + 1).String(); got != "unknown" {
		t.Errorf("a reason that there is not is %q", got)
	}
}

func TestEqualLooksAtEveryField(t *testing.T) {
	v := data.View{Hi: 1, Lo: 2, Sketch: [data.SketchSize]byte{3}, Length: 4, Normal: true, Letters: []byte("abc"), Sample: []byte("defg")}
	for name, change := range map[string]func(*data.View){
		"hi": func(v *data.View) { v.Hi++ }, "lo": func(v *data.View) { v.Lo++ }, "length": func(v *data.View) { v.Length++ },
		"lane": func(v *data.View) { v.Normal = false }, "sketch": func(v *data.View) { v.Sketch[63] = 1 }, "letters": func(v *data.View) { v.Letters = []byte("abd") },
		"sample": func(v *data.View) { v.Sample = nil }, "where they are divided": func(v *data.View) { v.Letters, v.Sample = []byte("abcd"), []byte("efg") },
	} {
		w := v
		change(&w)
		if v.Equal(&w) || w.Equal(&v) || bytes.Equal(v.Append(nil), w.Append(nil)) {
			t.Errorf("views of different %s are equal", name)
		}
		var back data.View
		if back.Unpack(w.Append([]byte{})); !back.Equal(&w) {
			t.Errorf("%+v, packed and unpacked, is %+v", w, back)
		}
	}
	w := v
	w.Letters = slices.Clone(v.Letters)
	if !v.Equal(&w) {
		t.Error("a view is not equal to its copy")
	}
}

func ExampleAppendNumber() {
	record := data.AppendNumber(nil, 1<<32+7) // a document beyond the four billionth
	fmt.Printf("% x %d\n", record, data.Number(record))
	// Output: 01 00 00 00 07 4294967303
}

func ExampleWriteChecked() {
	dir, err := os.MkdirTemp("", "checked")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "names")
	fmt.Println(data.WriteChecked(path, "neardup names 1", []byte("a body")))
	body, err := data.ReadChecked(path, "neardup names 1")
	fmt.Printf("%s %v\n", body, err)
	// Output:
	// <nil>
	// a body <nil>
}
