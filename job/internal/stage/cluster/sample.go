package cluster

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/texts"
)

// The sample has one removal for every sampleShare documents of the run, but at
// least leastSample and at most mostSample.
const (
	sampleShare = 200
	leastSample = 16
	mostSample  = 400
)

// sample chooses removals whose texts the stage write reads again, spread evenly
// over the documents that are removed for another one of this run. It does so only
// if there is a clean dump to write.
func (d *decider) sample(context.Context) error {
	r := d.run
	for _, name := range []string{texts.SampledFolder, texts.RereadFolder, stage.SampledFile} {
		if err := os.RemoveAll(r.Dir.Path(rundir.State, name)); err != nil {
			return err // of an earlier attempt
		}
	}
	if !r.Job.Cleans() {
		return nil
	}
	goes := func(i int) bool { return d.representatives[i] != noDocument && d.representatives[i] != uint32(i) }
	all := 0
	for i := range d.representatives {
		if goes(i) {
			all++
		}
	}
	count := min(max(int(d.documents.Len()/sampleShare), leastSample), mostSample, all)
	var pairs []stage.RemovedPair
	rows := map[int][]int64{}
	at := 0
	for i := range d.representatives {
		if !goes(i) {
			continue
		}
		if at*count/all != (at+1)*count/all { // count times, evenly
			p := stage.RemovedPair{Doc: d.number(uint32(i)), Kept: d.number(d.representatives[i])}
			for _, doc := range [...]uint64{p.Doc, p.Kept} {
				task := d.documents.Part(doc)
				rows[task] = append(rows[task], int64(doc-d.documents.First(task)))
			}
			pairs = append(pairs, p)
		}
		at++
	}
	for task, wanted := range rows {
		slices.Sort(wanted)
		if err := texts.WriteRows(r.StatePath(texts.SampledFolder)(task), slices.Compact(wanted)); err != nil {
			return err
		}
	}
	d.rec.Outputs = append(d.rec.Outputs, filepath.Join(rundir.State, stage.SampledFile))
	return state.WriteGob(r.Dir.Path(rundir.State, stage.SampledFile), stage.KindSampled, pairs)
}
