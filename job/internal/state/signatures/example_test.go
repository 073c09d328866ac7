package signatures_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/signatures"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/simhash/sketch"
)

// Of a split with two documents, only the second has a signature.
func Example() {
	dir, err := os.MkdirTemp("", "signatures")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := func(int) string { return filepath.Join(dir, "part") }
	w, err := signatures.Create(path(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	long := data.FingerprintRow{Length: 400, Signature: bytes.Repeat([]byte{7}, sketch.SignatureSize)}
	fmt.Println(errors.Join(w.Add(&data.FingerprintRow{Length: 5}), w.Add(&long), w.Commit()))

	rows, err := views.Create(filepath.Join(dir, "views"), views.Form{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Join(rows.Write(&views.Row{}), rows.Write(&views.Row{}), rows.Commit()))
	documents, err := views.Open([]string{filepath.Join(dir, "views")})
	if err != nil {
		fmt.Println(err)
		return
	}
	signed, err := signatures.Read(context.Background(), path, documents, 1, []uint64{0, 1})
	fmt.Println(signed[0].Signature != nil, signed[1].Signature[0], signed[1].Length, err)
	// Output:
	// <nil>
	// <nil>
	// false 7 400 <nil>
}
