package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/frames"
	"github.com/neardup/neardup/job/internal/state/lineage"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/signatures"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/simhash/sketch"
)

// A file with any byte changed, cut anywhere or with a byte too many is refused.
func TestDamage(t *testing.T) {
	documents := oneDocument(t)
	for name, file := range map[string]struct {
		write, read func(path string) error
	}{
		"decisions": {func(path string) error {
			w := decision.Create(path, 7)
			w.Add(&decision.Decision{Doc: 8, Match: 9, Cluster: decision.None})
			return w.Commit()
		}, func(path string) error {
			_, err := decision.Read(path)
			return err
		}},
		"exact duplicates": {func(path string) error {
			return state.Write(path, exactdup.FileKind, exactdup.Append(nil,
				exactdup.Document{Doc: 12, Kind: exactdup.Equal, Of: 3}, exactdup.Document{Doc: 700, Kind: exactdup.Deleted}))
		}, func(path string) error {
			return exactdup.Read(path, func(exactdup.Document) error { return nil })
		}},
		"pairs": {func(path string) error {
			w, err := pairs.Create(path)
			if err != nil {
				return err
			}
			return errors.Join(w.Add(make([]pairs.Pair, 2)), w.Add(make([]pairs.Pair, 1)), w.Commit())
		}, func(path string) error {
			return pairs.Each(context.Background(), path, func(pairs.Pair) error { return nil })
		}},
		"frames": {func(path string) error {
			w := frames.NewWriter(path)
			w.Add([]byte("a short text"))
			w.Add([]byte("a first text"))
			return w.Commit()
		}, func(path string) error {
			return frames.Merge(path, sketch.NewFormCounter())
		}},
		"signatures": {func(path string) error {
			w, err := signatures.Create(path)
			if err != nil {
				return err
			}
			return errors.Join(w.Add(&data.FingerprintRow{Length: 900, Signature: make([]byte, sketch.SignatureSize)}), w.Commit())
		}, func(path string) error {
			_, err := signatures.Read(context.Background(), func(int) string { return path }, documents, 1, []uint64{0})
			return err
		}},
		"lineage": {func(path string) error {
			return lineage.Write(path, map[uint64]lineage.Lineage{3: {Component: "2026-11-01/a"}})
		}, func(path string) error {
			_, err := lineage.Read(path)
			return err
		}},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := errors.Join(file.write(path), file.read(path)); err != nil {
			t.Fatal(err)
		}
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			damaged := slices.Clone(whole)
			damaged[i] ^= 0x10
			for _, b := range [][]byte{damaged, whole[:i], append(slices.Clone(whole), 0)} {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := file.read(path); !errors.Is(err, state.ErrDamaged) {
					t.Fatalf("%s, byte %d: %v", name, i, err)
				}
			}
		}
	}
}

// oneDocument is a run with one document.
func oneDocument(t *testing.T) *views.Folder {
	t.Helper()
	path := filepath.Join(t.TempDir(), "views")
	w, err := views.Create(path, views.Form{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(&views.Row{}), w.Commit()); err != nil {
		t.Fatal(err)
	}
	documents, err := views.Open([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}
