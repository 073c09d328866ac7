package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/simhash/template"
)

// Neardup is our own method at any settings: a run of package job over the
// laboratory's documents, in its folder.
type Neardup struct {
	Label string // name in reports
	config.Config

	Run string // folder of a run whose forms of short texts explain knows; empty: none
}

// Preset returns the method of a preset of package config, nil if it has none
// of that name.
func Preset(name string) *Neardup {
	cfg, err := config.Default().WithPreset(name)
	if err != nil {
		return nil
	}
	return &Neardup{Label: name, Config: cfg}
}

// Name returns the label.
func (m *Neardup) Name() string { return m.Label }

// config returns the settings of a run of the method.
func (m *Neardup) config() config.Config {
	cfg := m.Config
	cfg.Match.AllPairs, cfg.Match.MaxPairs = true, math.MaxInt64
	cfg.Input.Encoding, cfg.Input.MaxRecord, cfg.Input.MaxBad = "utf-8", 1<<30, "0"
	cfg.Output.Clean = false
	return cfg
}

// matched is a pair of a run.
type matched struct {
	Found
	distance int // of the fingerprints
}

// Find implements Method.
func (m *Neardup) Find(ctx context.Context, l *Lab) ([]Found, error) {
	var found []Found
	err := m.run(ctx, l, func(dir string) error {
		return eachPair(ctx, dir, func(p matched) { found = append(found, p.Found) })
	})
	return found, err
}

// run executes a run of the documents and calls read with its directory, which
// is gone afterwards.
func (m *Neardup) run(ctx context.Context, l *Lab, read func(dir string) error) (err error) {
	input, err := l.input()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(l.dir, "run-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := m.config()
	cfg.Execution.Workers = l.options.Workers
	request := job.Request{Command: job.CommandRun, Inputs: []string{input}, Out: dir, Config: cfg, Engine: local.New(l.options.Workers)}
	request.Progress = func(name string) (pass func(int64, string) func(int64), done func()) {
		if pass = l.options.Pass.Begin; name == stage.Fingerprint {
			pass = l.read
		}
		return pass, func() {}
	}
	if _, err := job.Run(ctx, request); err != nil {
		return err
	}
	return read(dir)
}

// read begins a pass over the texts that is told of bytes of their file.
func (l *Lab) read(total int64, _ string) (advance func(bytes int64)) {
	documents := int64(len(l.corpus.Documents))
	one := l.options.Pass.Begin(documents, PassTexts)
	var mu sync.Mutex
	var bytes, told int64
	return func(n int64) {
		mu.Lock()
		defer mu.Unlock()
		bytes += n
		done := bytes * documents / max(total, 1)
		one(done - told)
		told = done
	}
}

// input returns the file of the documents in the laboratory's folder, made when
// it is first asked for.
func (l *Lab) input() (path string, err error) {
	if l.dir == "" {
		dir, err := os.MkdirTemp("", "neardup-eval-")
		if err != nil {
			return "", err
		}
		if err := l.write(filepath.Join(dir, documentsFile)); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
		l.dir = dir
	}
	return filepath.Join(l.dir, documentsFile), nil
}

const documentsFile = "documents.jsonl"

// Close removes the folder of runs.
func (l *Lab) Close() error { return os.RemoveAll(l.dir) }

// write writes the documents as JSON lines. The number of a document is its id
// there, below its site if it has one.
func (l *Lab) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(file)
	lines.SetEscapeHTML(false)
	for i := range l.corpus.Documents {
		d := &l.corpus.Documents[i]
		id := fmt.Sprintf("%09d", i)
		if site := template.Site([]byte(d.ID)); len(site) > 0 {
			id = fmt.Sprintf("http://%s/%s", site, id)
		}
		if err := lines.Encode(map[string]string{"id": id, "title": string(d.Title), "text": string(d.Text)}); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

// pairOfIDs returns the pair of the documents that write gave the ids.
func pairOfIDs(ids ...[]byte) (Pair, error) {
	var n [2]int64
	var errs [2]error
	for i, id := range ids {
		n[i], errs[i] = strconv.ParseInt(string(id[bytes.LastIndexByte(id, '/')+1:]), 10, 32)
	}
	return pairOf(int32(n[0]), int32(n[1])), errors.Join(errs[:]...)
}

// eachPair calls visit with the pairs of a run. Their score is the similarity
// that the verdict rests on.
func eachPair(ctx context.Context, dir string, visit func(matched)) error {
	o := parquet.ReadOptions{Columns: []string{"doc_id", "match_id", "distance", "similarity", "estimate", "jaccard", "verdict"}}
	paths, err := rundir.Parts(dir, rundir.Pairs)
	for _, path := range paths {
		in, err := parquet.OpenTable(path, &data.Matches, o)
		if err != nil {
			return err
		}
		err = parquet.Each(ctx, in, data.MatchRow{}, func(row *data.MatchRow) (err error) {
			p := matched{distance: int(row.Distance)}
			if p.Pair, err = pairOfIDs(row.DocID, row.MatchID); err != nil {
				return err
			}
			p.Score, p.Contained = row.Similarity, row.Verdict == data.Contains.String() || row.Verdict == data.Contained.String()
			for _, closer := range []float64{row.Estimate, row.Jaccard} {
				if !math.IsNaN(closer) {
					p.Score = closer
				}
			}
			visit(p)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return err
}
