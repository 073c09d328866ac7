package parquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// readWhole reads all rows of a table of fingerprints and calls yield with each.
func readWhole(path string, yield func(*data.FingerprintRow)) (rows int, err error) {
	in, err := parquet.OpenFingerprints(path, parquet.ReadOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var row data.FingerprintRow
	for {
		if err := in.Read(&row); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
		rows++
		yield(&row)
	}
}

// sumWhole is of what the rows of a table say that is read without an error.
func sumWhole(t *testing.T, path string) (rows int, sum uint64) {
	t.Helper()
	h := xxh3.New()
	rows, err := readWhole(path, func(row *data.FingerprintRow) { fmt.Fprintf(h, "%v", *row) })
	if err != nil {
		t.Fatal(err)
	}
	return rows, h.Sum64()
}

// TestFlippedBits flips one bit at a time, anywhere in a table of several
// blocks: reading it fails, with an error that names the file, or, where the
// bit says only that there are checksums, gives what was written.
func TestFlippedBits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.parquet")
	writeFingerprints(t, path, 30_000, parquet.Options{})
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(sound) < 600<<10 {
		t.Fatalf("%d bytes are not several blocks", len(sound))
	}
	rows, want := sumWhole(t, path)
	if rows != 30_000 {
		t.Fatalf("%d rows", rows)
	}
	silent := 0
	random := rand.New(rand.NewPCG(1, 2))
	flips, places := 200, []int{0, 3, 4, 256<<10 - 1, 256 << 10, len(sound) - 9, len(sound) - 8, len(sound) - 5, len(sound) - 1}
	if testing.Short() {
		flips = 40
	}
	for range flips {
		places = append(places, random.IntN(len(sound)))
		places = append(places, len(sound)-1-random.IntN(4<<10)) // footer
	}
	for _, at := range places {
		damaged := bytes.Clone(sound)
		damaged[at] ^= 1 << random.IntN(8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readWhole(path, func(*data.FingerprintRow) {}); err == nil {
			silent++
			if _, got := sumWhole(t, path); got != want {
				t.Errorf("a bit at offset %d of %d is flipped, and other rows are read", at, len(sound))
			}
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("a bit at offset %d of %d is flipped: %v", at, len(sound), err)
		}
	}
	if silent > len(places)/20 {
		t.Errorf("%d of %d flips were not noticed", silent, len(places))
	}
}

// TestEveryFlippedByte flips a bit of each byte of a small table that no program
// but neardup writes: no reading of it succeeds.
func TestEveryFlippedByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "merges.parquet")
	w, err := parquet.Create(path, &data.Merges, parquet.Options{Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(&data.MergeRow{Night: "2026-11-02", From: []byte("a"), Into: []byte("b")}), w.Commit()); err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		return parquet.ReadTable(t.Context(), path, &data.Merges, func(*data.MergeRow) error { return nil })
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	for at := range sound {
		damaged := bytes.Clone(sound)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a bit at offset %d of %d is flipped: %v", at, len(sound), err)
		}
	}
}

// TestCopyHasNoStaleChecksums reads the copy of some rows of a table, whose
// bytes are others.
func TestCopyHasNoStaleChecksums(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "table.parquet"), filepath.Join(dir, "copy.parquet")
	writeFingerprints(t, path, 1000, parquet.Options{})
	if _, err := parquet.CopyFile(copied, data.Split{Path: path, End: -1}, parquet.Options{}, parquet.Changes{}, func(_ int, row int64) bool { return row%2 == 0 }); err != nil {
		t.Fatal(err)
	}
	if rows, err := readWhole(copied, func(*data.FingerprintRow) {}); rows != 500 || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}
}
