package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
)

// PageFile is the file of a run's page in its directory.
const PageFile = "report.html"

// Index is the runs in a folder, the latest first.
type Index struct {
	Folder string
	Runs   []indexed
	Cut    bool // there are more
}

// indexed is a run of an index.
type indexed struct {
	Name    string
	Page    string // its report, relative to the folder; empty: there is none
	Summary *job.Summary
	Look    []string // what is unusual; filled in for a language

	changes []change
}

// mostRuns is how many runs an index has.
const mostRuns = 1000

// errNoRuns is returned for a folder without a run directory.
var errNoRuns = errors.New("no folder in it is a run directory with a summary: name the folder of the runs")

// ReadIndex reads the summaries of the runs in a folder.
func ReadIndex(folder string) (*Index, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	x := &Index{Folder: folder}
	for _, e := range entries {
		s := new(job.Summary)
		dir := filepath.Join(folder, e.Name())
		if !e.IsDir() || rundir.ReadJSON(filepath.Join(dir, rundir.SummaryFile), s) != nil || s.Command != rundir.CommandRun {
			continue
		}
		r := indexed{Name: e.Name(), Summary: s}
		if _, err := os.Stat(filepath.Join(dir, PageFile)); err == nil {
			r.Page = url.PathEscape(e.Name()) + "/" + PageFile
		}
		x.Runs = append(x.Runs, r)
	}
	if len(x.Runs) == 0 {
		return nil, fmt.Errorf("%s: %w", folder, errNoRuns)
	}
	slices.SortFunc(x.Runs, func(a, b indexed) int {
		return cmp.Or(b.Summary.Began.Compare(a.Summary.Began), cmp.Compare(b.Name, a.Name))
	})
	libraries := map[string]map[string]*night{} // of each the latest run of a night
	for _, r := range slices.Backward(x.Runs) {
		if l := r.Summary.Library; l != nil {
			if libraries[l.Path] == nil {
				libraries[l.Path] = map[string]*night{}
			}
			libraries[l.Path][l.Night] = &night{l.Night, r.Summary}
		}
	}
	x.Cut = len(x.Runs) > mostRuns
	x.Runs = x.Runs[:min(len(x.Runs), mostRuns)]
	for i := range x.Runs {
		r := &x.Runs[i]
		l := r.Summary.Library
		if l == nil {
			continue
		}
		list := []night{{l.Night, r.Summary}}
		of := libraries[l.Path]
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(of))) {
			if name < l.Night && len(list) < mostNights {
				list = append(list, *of[name])
			}
		}
		r.changes = changes(list)
	}
	return x, nil
}

// WriteHTML writes the index as one page that needs nothing else.
func (x *Index) WriteHTML(w io.Writer, l message.Language) error {
	shown := *x
	shown.Runs = slices.Clone(x.Runs)
	for i := range shown.Runs {
		r := &shown.Runs[i]
		r.Look = nil
		for _, c := range r.changes {
			if c.Above {
				r.Look = append(r.Look, l.Text("above: %s", l.Text(c.Name)))
			} else if c.Below {
				r.Look = append(r.Look, l.Text("below: %s", l.Text(c.Name)))
			}
		}
		if losses := r.Summary.Losses; losses != nil && losses.SitesAll > 0 {
			r.Look = append(r.Look, l.Count(losses.SitesAll, "site with many losses"))
		}
	}
	var b bytes.Buffer
	for {
		b.Reset()
		if err := write(&b, "index.html", l, &shown); err != nil {
			return err
		}
		if b.Len() <= mostBytes || len(shown.Runs) < 2 {
			_, err := b.WriteTo(w)
			return err
		}
		shown.Runs, shown.Cut = shown.Runs[:len(shown.Runs)/2], true
	}
}
