package frames_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/job/internal/state/frames"
	"github.com/neardup/neardup/simhash/sketch"
)

// The frames of splits, merged, are those of all their texts.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	path := func(split int) string { return filepath.Join(dir, fmt.Sprint("part-", split)) }
	const splits = 3
	want, merged := sketch.NewFormCounter(), sketch.NewFormCounter()
	var of [splits]*frames.Writer
	for split := range of {
		of[split] = frames.NewWriter(path(split))
	}
	for i, word := range []string{"山", "舟", "树", "月", "花", "江"} {
		text := fmt.Appendf(nil, "含有%s字的古诗词有哪些", word)
		want.Add(text)
		of[i%splits].Add(text)
		of[i%splits].Add(nil) // of a long text
	}
	for split, w := range of {
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := frames.Merge(path(split), merged); err != nil {
			t.Fatal(err)
		}
	}
	got, err := merged.Forms().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	all, err := want.Forms().MarshalBinary()
	if err != nil || want.Forms().Len() == 0 || !bytes.Equal(got, all) {
		t.Errorf("%d forms, want %d, %v", merged.Forms().Len(), want.Forms().Len(), err)
	}
}

// A run that does not compare short texts, and one that stops, leave no file.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	var none *frames.Writer
	none.Add([]byte("含有山字的古诗词有哪些"))
	if err := none.Commit(); err != nil {
		t.Error(err)
	}
	w := frames.NewWriter(filepath.Join(dir, "part"))
	w.Add([]byte("含有山字的古诗词有哪些"))
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
