// Package history connects a run with its library. The stage history compares the
// run's documents with those of earlier nights. The stage publish adds them to the
// library as a night. Status and Repair work on a library without a run.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/neardup/neardup/job/internal/history"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/summary"
	"github.com/neardup/neardup/job/internal/version"
)

// Check returns, before any work is done, the errors for which Open would refuse the
// library.
func Check(c config.Config) error {
	if err := library.Check(c.Library.Path, c.Library.Night); err != nil {
		return err
	}
	m, err := library.ReadManifest(c.Library.Path)
	if errors.Is(err, library.ErrNone) {
		return nil
	}
	if err != nil || len(m.Nights) == 0 {
		return err
	}
	settings, err := method.LibrarySettings(c)
	if err != nil {
		return err
	}
	err = library.CompareSettings(m.Settings, settings)
	if err != nil && m.Settings[method.SettingSketches] != settings[method.SettingSketches] {
		err = fmt.Errorf("%w\n(%s is what a run needs that verifies: preset balanced or thorough, or match.verify=sketch; not classic)", err, method.SettingSketches)
	}
	return err
}

// libraryState is what the state folder keeps of the library.
type libraryState struct {
	Change   int64  `json:"change"`             // its sequence when the run began to read it
	Manifest string `json:"manifest,omitempty"` // checksum of its manifest then
}

const libraryFile = "library.json"

// Open locks the run's library, which it sets in r, and checks that its settings are
// those of the run. If the library has changed since an earlier process of this run
// began to read it, Open calls forget, which must discard all results that depend on
// the library.
func Open(ctx context.Context, r *stage.Run, forget func() error) error {
	c := r.Config.Library
	settings, err := method.LibrarySettings(r.Config)
	if err != nil {
		return err
	}
	r.Library, err = library.Lock(ctx, c.Path, library.Options{
		Version: version.Version, Extractor: extractor(r),
		Wait: r.Config.Execution.Wait,
		Waiting: func(holders string, waited time.Duration) {
			r.Log.Info("another neardup has the library: waiting for it", "library", c.Path, "held", holders, "waited", waited, "limit", r.Config.Execution.Wait)
		},
	})
	if err != nil {
		return err
	}
	kept, err := r.Config.Absolute() // look-ups, from whatever folder, find its files
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := r.Library.Settle(r.Config.Features.Bits, settings, text); err != nil {
		return err
	}
	m := r.Library.Manifest()
	if v := extractor(r); v != 0 {
		if nights, documents := m.Extracted(v); len(nights) > 0 {
			r.Log.Warn("earlier nights have texts of another extractor: their pages match this night's less; run them again to mend it",
				"nights", len(nights), "first", nights[0], "documents", documents, "extractor", v)
		}
	}
	var state libraryState
	err = rundir.ReadJSON(r.Dir.Path(rundir.State, libraryFile), &state)
	if err == nil {
		r.Change = state.Change
		if n, ok := m.Night(c.Night); state.Change == m.Sequence && (state.Manifest == "" || state.Manifest == m.Checksum) || ok && n.Run == r.Token() {
			return nil // nothing has changed, but for the night that this run has added
		}
		r.Log.Info("the library has changed since this run was interrupted: matching again", "library", c.Path)
		if err := forget(); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Change = m.Sequence
	return rundir.WriteJSON(r.Dir.Path(rundir.State, libraryFile), libraryState{Change: r.Change, Manifest: m.Checksum})
}

// extractor returns the version of the extractor that finds the texts of pages; 0 if
// no split of the input needs it.
func extractor(r *stage.Run) int {
	if slices.ContainsFunc(r.Job.Splits, func(s data.Split) bool { return source.Extracts(s.Format) }) {
		return warc.Extractor
	}
	return 0
}

// Gone reports whether the library lacks the night that a finished run added: because
// it was deleted or has expired, or because this is another library.
func Gone(c config.Config) bool {
	if c.Library.Path == "" {
		return false
	}
	m, err := library.ReadManifest(c.Library.Path)
	if err != nil {
		return errors.Is(err, library.ErrNone)
	}
	_, ok := m.Night(c.Library.Night)
	return !ok
}

// Done checks that no row was lost, and adds to the summary what earlier nights know
// of this run's documents. It removes the engine's parts.
func Done(ctx context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	rec, s := records[0], r.Sum
	if want := s.Documents - s.Skipped[data.ReasonDuplicateID] - s.Skipped[data.ReasonDeleted]; rec.RowsIn != want {
		return fmt.Errorf("%s: %w: %d documents of the night, %d came in", stage.History, rundir.ErrNotConserved, want, rec.RowsIn)
	}
	s.Library = &summary.Library{
		Path: r.Config.Library.Path, Night: r.Config.Library.Night,
		Nights: int(rec.Counts["nights"]), Documents: rec.Counts["documents"],
		New: rec.Counts["new"], Repeated: rec.Counts["repeated"], Returned: rec.Counts["returned"],
	}
	return errors.Join(readDrift(ctx, r, s.Library), os.RemoveAll(r.Dir.Path(rundir.State, history.PartsFolder)))
}
