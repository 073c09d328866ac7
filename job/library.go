package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/version"
)

// LibraryCounts is what a run learned from its library and did to it.
type LibraryCounts struct {
	Path      string `json:"path"`
	Night     string `json:"night"`
	Nights    int    `json:"nights"`    // that this one was compared with
	Documents int64  `json:"documents"` // of those nights
	Matched   int64  `json:"matched"`   // of this run's documents have their best match in an earlier night
	New       int64  `json:"new"`       // neither the id nor the content was there
	Repeated  int64  `json:"repeated"`  // another id, but the content was there
	Returned  int64  `json:"returned"`  // the id was there
	Continued int64  `json:"continued"` // components of this run that continue an earlier one
	Merges    int64  `json:"merges"`    // earlier components that this run joined with another
	Added     int64  `json:"added"`     // documents added
	Left      int64  `json:"left"`      // not added: they were deleted for good
	Replaced  bool   `json:"replaced"`  // the library had the night
	Dropped   int64  `json:"dropped"`   // documents that the clean dump leaves out since an earlier night has them

	// The shares by language and by site, most documents first; of the sites at
	// most ten, drift/ has them all.
	Languages []drift `json:"languages,omitempty"`
	Sites     []drift `json:"sites,omitempty"`
	// Growing are the fingerprints that grew most since the night before, at
	// most ten; growth/ has more.
	Growing []growth `json:"growing,omitempty"`
}

// checkLibrary tells, before any work, what openLibrary would refuse.
func checkLibrary(c config.Config) error {
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
	settings, err := engine.LibrarySettings(c)
	if err != nil {
		return err
	}
	err = library.CompareSettings(m.Settings, settings)
	if err != nil && m.Settings[engine.SettingSketches] != settings[engine.SettingSketches] {
		err = fmt.Errorf("%w\n(%s is what a run needs that verifies: preset balanced or thorough, or match.verify=sketch; not classic)", err, engine.SettingSketches)
	}
	return err
}

// libraryState is what the state folder keeps of the library.
type libraryState struct {
	Change   int64  `json:"change"`             // its sequence when the run began to read it
	Manifest string `json:"manifest,omitempty"` // checksum of its manifest then
}

const libraryFile = "library.json"

// openLibrary locks the run's library, and compares its settings. Where the
// library has changed since an earlier process of this run began to read it,
// what the run made of it is made again.
func (r *run) openLibrary(ctx context.Context) error {
	c := r.config.Library
	settings, err := engine.LibrarySettings(r.config)
	if err != nil {
		return err
	}
	r.library, err = library.Lock(ctx, c.Path, library.Options{
		Version: version.Version, Extractor: r.extractor(),
		Wait: r.config.Execution.Wait,
		Waiting: func(holders string, waited time.Duration) {
			r.Log.Info("another neardup has the library: waiting for it", "library", c.Path, "held", holders, "waited", waited, "limit", r.config.Execution.Wait)
		},
	})
	if err != nil {
		return err
	}
	kept, err := r.config.Absolute() // look-ups, from whatever folder, find its files
	if err != nil {
		return err
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if err := r.library.Settle(r.config.Features.Bits, settings, text); err != nil {
		return err
	}
	m := r.library.Manifest()
	if v := r.extractor(); v != 0 {
		if nights, documents := m.Extracted(v); len(nights) > 0 {
			r.Log.Warn("earlier nights have texts of another extractor: their pages match this night's less; run them again to mend it",
				"nights", len(nights), "first", nights[0], "documents", documents, "extractor", v)
		}
	}
	var state libraryState
	err = rundir.ReadJSON(r.dir.Path(rundir.State, libraryFile), &state)
	if err == nil {
		r.change = state.Change
		if n, ok := m.Night(c.Night); state.Change == m.Sequence && (state.Manifest == "" || state.Manifest == m.Checksum) || ok && n.Run == r.token() {
			return nil // nothing has changed, but for the night that this run has added
		}
		r.Log.Info("the library has changed since this run was interrupted: matching again", "library", c.Path)
		for _, stage := range stages {
			if stage.stays {
				continue
			}
			for task := range max(len(r.job.Splits), 1) {
				if err := os.Remove(r.dir.RecordPath(stage.Name, task)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.change = m.Sequence
	return rundir.WriteJSON(r.dir.Path(rundir.State, libraryFile), libraryState{Change: r.change, Manifest: m.Checksum})
}

// extractor is the version of what finds the run's texts; 0 where the input has
// them.
func (r *run) extractor() int {
	if slices.ContainsFunc(r.job.Splits, func(s data.Split) bool { return source.Extracts(s.Format) }) {
		return warc.Extractor
	}
	return 0
}

// token tells the night that this run adds from others of its name.
func (r *run) token() string { return fmt.Sprintf("%s-%d", r.job.Hash, r.change) }

// nightGone reports whether the library lacks the night that a finished run
// added: it was deleted or expired since, or the library is another.
func (r *run) nightGone() bool {
	if r.config.Library.Path == "" {
		return false
	}
	m, err := library.ReadManifest(r.config.Library.Path)
	if err != nil {
		return errors.Is(err, library.ErrNone)
	}
	_, ok := m.Night(r.config.Library.Night)
	return !ok
}

// inherited counts what earlier nights know of this run's documents.
func (r *run) inherited(ctx context.Context, records []rundir.TaskRecord) error {
	rec, s := records[0], r.sum
	if want := s.Documents - s.Skipped[data.ReasonDuplicateID] - s.Skipped[data.ReasonDeleted]; rec.RowsIn != want {
		return fmt.Errorf("%s: %w: %d documents of the night, %d came in", stagePrevious, rundir.ErrNotConserved, want, rec.RowsIn)
	}
	s.Library = &LibraryCounts{
		Path: r.config.Library.Path, Night: r.config.Library.Night,
		Nights: int(rec.Counts["nights"]), Documents: rec.Counts["documents"],
		New: rec.Counts["new"], Repeated: rec.Counts["repeated"], Returned: rec.Counts["returned"],
	}
	return errors.Join(r.readDrift(ctx, s.Library), os.RemoveAll(r.dir.Path(rundir.State, engine.EarlierParts)))
}
