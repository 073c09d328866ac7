package report

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/rundir"
)

// night is what a library knew of the documents of a night.
type night struct {
	Name                               string
	Documents, New, Repeated, Returned int64
}

// nights lists the night of the run at path and those before it, the latest
// first, as far as the runs that brought them to the same library stand beside
// it; nil if none does.
func nights(path string, s *job.Summary) (list []night) {
	if s.Library == nil {
		return nil
	}
	beside, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Clean(path)), "*", rundir.SummaryFile))
	if err != nil {
		return nil // the folder's name is no pattern
	}
	latest := map[string]*job.Summary{s.Library.Night: s} // a night may have been run again
	for _, file := range beside {
		var other job.Summary
		if rundir.ReadJSON(file, &other) != nil || other.Library == nil || other.Library.Path != s.Library.Path || other.Library.Night >= s.Library.Night {
			continue
		}
		if was := latest[other.Library.Night]; was == nil || was.Began.Before(other.Began) {
			latest[other.Library.Night] = &other
		}
	}
	if len(latest) == 1 {
		return nil
	}
	names := slices.Sorted(maps.Keys(latest))
	slices.Reverse(names)
	for _, name := range names[:min(len(names), mostNights)] {
		l := latest[name].Library
		list = append(list, night{name, l.New + l.Repeated + l.Returned, l.New, l.Repeated, l.Returned})
	}
	return list
}
