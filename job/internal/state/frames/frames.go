// Package frames stores, for each split of a run, what its short texts share but for a
// slot. It is state that one stage hands to the next;
// job/docs/internals/run-directory.md describes the file. The package never decides
// which of these frames are forms: see [sketch.FormCounter].
package frames

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash/sketch"
)

// Folder has, within the run directory's state, a file for each split of a run that
// compares short texts.
const Folder = "frames"

const kind = "neardup frames 1"

// Writer counts the frames of a split's short texts, and writes them with Commit. A nil
// Writer does nothing, for runs that do not compare short texts. Not safe for
// concurrent use.
type Writer struct {
	counter *sketch.FormCounter
	path    string
}

// NewWriter returns a Writer of the file at path.
func NewWriter(path string) *Writer {
	return &Writer{counter: sketch.NewFormCounter(), path: path}
}

// Add counts a text, given by its letters. One without letters is no short text, and is
// passed over.
func (w *Writer) Add(letters []byte) {
	if w != nil && len(letters) > 0 {
		w.counter.Add(letters)
	}
}

// Commit writes the file.
func (w *Writer) Commit() error {
	if w == nil {
		return nil
	}
	body, err := w.counter.AppendBinary(nil)
	if err != nil {
		return err
	}
	return state.Write(w.path, kind, body)
}

// Abort leaves nothing behind: nothing is written before Commit.
func (*Writer) Abort() error { return nil }

// Merge adds the frames of the file at path to those that c has counted.
func Merge(path string, c *sketch.FormCounter) error {
	body, err := state.Read(path, kind)
	if err != nil {
		return err
	}
	if err := c.Merge(body); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
