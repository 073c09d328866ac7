package exact

import (
	"context"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state/frames"
	"github.com/neardup/neardup/simhash/sketch"
)

// writeForms makes the run's forms from what its splits counted. With a library it adds
// the short texts of earlier nights that look like this run's. Otherwise a night's only
// title of a form would be removed for one of an earlier night. It returns the name of
// the file within the run directory and the number of forms; the name is empty for a
// run that does not compare short texts.
func writeForms(ctx context.Context, r *stage.Run) (name string, forms int, err error) {
	if !method.Rule(r.Config.Match).ShortTexts {
		return "", 0, nil
	}
	all, path := sketch.NewFormCounter(), r.StatePath(frames.Folder)
	for task := range r.Job.Splits {
		if err := frames.Merge(path(task), all); err != nil {
			return "", 0, err
		}
	}
	if err := countEarlier(ctx, r, all); err != nil {
		return "", 0, err
	}
	found := all.Forms()
	name, err = method.KeepForms(r.Dir, found)
	return name, found.Len(), err
}

// countEarlier counts the forms of earlier nights' short texts together with this run's:
// of either those alone that may share a frame with one of the other.
func countEarlier(ctx context.Context, r *stage.Run, all *sketch.FormCounter) error {
	if r.Library == nil {
		return nil
	}
	var tonight, before sketch.FormFilter
	each := func(add func(text []byte)) error {
		for task := range r.Job.Splits {
			err := corpus.EachFingerprinted(ctx, r.Dir, task, lettersColumn, func(row *data.LibraryRow) error {
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
	earlier := library.StreamOptions{Before: r.Config.Library.Night, Columns: lettersColumn}
	err := r.Library.Rows(ctx, earlier, func(row *data.LibraryRow) error {
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
