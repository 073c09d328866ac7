package engine

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash/sketch"
)

// framesFolder, within the run directory's state, holds what short texts of a
// split share but for a slot.
const (
	framesFolder = "frames"
	kindFrames   = "neardup frames 1"
)

// frameCounter counts the forms of a split's short texts. A nil one counts none.
type frameCounter struct {
	counter *sketch.FormCounter
	dir     *rundir.Dir
	name    string // within the run directory
}

func newFrameCounter(job *Job, task int) *frameCounter {
	if !method.Rule(job.Config.Match).ShortTexts {
		return nil
	}
	return &frameCounter{counter: sketch.NewFormCounter(), dir: job.Dir, name: rundir.StatePart(framesFolder, task)}
}

// add counts a short text.
func (c *frameCounter) add(v *data.View) {
	if c != nil && len(v.Letters) > 0 {
		c.counter.Add(v.Letters)
	}
}

// Commit writes what the split's short texts share.
func (c *frameCounter) Commit() error {
	if c == nil {
		return nil
	}
	body, err := c.counter.AppendBinary(nil)
	if err != nil {
		return err
	}
	return state.Write(c.dir.Path(c.name), kindFrames, body)
}

// Abort leaves nothing behind: nothing is written before Commit.
func (*frameCounter) Abort() error { return nil }

// WriteForms makes the run's forms from what its splits counted. With a library it adds
// the short texts of earlier nights that look like this run's. Otherwise a night's only
// title of a form would be removed for one of an earlier night. l may be nil. It
// returns the name of the file within the run directory and the number of forms; the
// name is empty for a run that does not compare short texts.
func WriteForms(ctx context.Context, job *Job, l *library.Library) (name string, forms int, err error) {
	if !method.Rule(job.Config.Match).ShortTexts {
		return "", 0, nil
	}
	all := sketch.NewFormCounter()
	for task := range job.Splits {
		path := job.Dir.Path(rundir.StatePart(framesFolder, task))
		body, err := state.Read(path, kindFrames)
		if err != nil {
			return "", 0, err
		}
		if err := all.Merge(body); err != nil {
			return "", 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := countEarlier(ctx, job, l, all); err != nil {
		return "", 0, err
	}
	found := all.Forms()
	name, err = method.KeepForms(job.Dir, found)
	return name, found.Len(), err
}

// countEarlier counts the forms of earlier nights' short texts together with this run's:
// of either those alone that may share a frame with one of the other.
func countEarlier(ctx context.Context, job *Job, l *library.Library, all *sketch.FormCounter) error {
	if l == nil {
		return nil
	}
	var tonight, before sketch.FormFilter
	each := func(add func(text []byte)) error {
		for task := range job.Splits {
			err := EachFingerprinted(ctx, job.Dir, task, lettersColumn, func(row *data.LibraryRow) error {
				if len(row.Letters) > 0 {
					add(row.Letters)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(tonight.Add); err != nil {
		return err
	}
	if !tonight.Knows() {
		return nil
	}
	earlier := library.StreamOptions{Before: job.Config.Library.Night, Columns: lettersColumn}
	err := l.Rows(ctx, earlier, func(row *data.LibraryRow) error {
		if len(row.Letters) > 0 && tonight.Near(row.Letters) {
			before.Add(row.Letters)
			all.Add(row.Letters)
		}
		return nil
	})
	if err != nil || !before.Knows() {
		return err
	}
	return each(func(text []byte) {
		if before.Near(text) {
			all.Add(text)
		}
	})
}

var lettersColumn = []string{"letters"}
