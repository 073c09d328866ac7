package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/template"
)

// Neardup is our own method at any settings: a run of package job over the
// laboratory's documents, in its folder.
type Neardup struct {
	Label    string // name in reports
	Features config.Features
	Match    config.Match
	// Templates learns what the pages of a site share from all documents at
	// hand, and not from those that the run samples.
	Templates bool
}

// Preset returns the method of a preset of package config, nil if it has none
// of that name.
func Preset(name string) *Neardup {
	cfg, err := config.Default().WithPreset(name)
	if err != nil {
		return nil
	}
	return &Neardup{Label: name, Features: cfg.Features, Match: cfg.Match}
}

// Name returns the label.
func (m *Neardup) Name() string { return m.Label }

// config returns the settings of a run of the method.
func (m *Neardup) config() config.Config {
	cfg := config.Default()
	cfg.Features, cfg.Match = m.Features, m.Match
	cfg.Match.AllPairs, cfg.Match.MaxPairs = true, math.MaxInt64
	cfg.Input.Encoding, cfg.Input.MaxRecord, cfg.Input.MaxBad = "utf-8", 1<<30, "0"
	cfg.Output.Clean = false
	return cfg
}

// rule says which documents are candidates, and when they are the same.
func (m *Neardup) rule() mapper.Rule { return engine.Rule(m.Match) }

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
	if m.Templates {
		cfg.Features.Templates = filepath.Join(dir, "templates")
		model, err := job.Templates(ctx, cfg, []string{input}, l.options.Workers, template.Options{})
		if err != nil {
			return err
		}
		blob, err := model.MarshalBinary()
		if err := errors.Join(err, data.WriteFileAtomic(cfg.Features.Templates, blob)); err != nil {
			return err
		}
	}
	out := filepath.Join(dir, "out")
	request := job.Request{Command: job.CommandRun, Inputs: []string{input}, Out: out, Config: cfg, Engine: local.New(l.options.Workers)}
	if _, err := job.Run(ctx, request); err != nil {
		return err
	}
	return read(out)
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

// numberOf returns the number of the document that write gave the id.
func numberOf(id []byte) (int32, error) {
	n, err := strconv.ParseInt(string(id[bytes.LastIndexByte(id, '/')+1:]), 10, 32)
	return int32(n), err
}

// eachPair calls visit with the pairs of a run. Their score is the similarity
// that the verdict rests on.
func eachPair(ctx context.Context, dir string, visit func(matched)) error {
	o := parquet.ReadOptions{Columns: []string{"doc_id", "match_id", "distance", "similarity", "estimate", "jaccard"}}
	var row data.MatchRow
	return eachPart(dir, rundir.Pairs, func(path string) error {
		in, err := parquet.OpenMatches(path, o)
		if err != nil {
			return err
		}
		for err == nil {
			if err = errors.Join(in.Read(&row), ctx.Err()); err != nil {
				break
			}
			a, errA := numberOf(row.DocID)
			b, errB := numberOf(row.MatchID)
			score := row.Similarity
			for _, closer := range []float64{row.Estimate, row.Jaccard} {
				if !math.IsNaN(closer) {
					score = closer
				}
			}
			visit(matched{Found{pairOf(a, b), score}, int(row.Distance)})
			err = errors.Join(errA, errB)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return errors.Join(err, in.Close())
	})
}

// views returns what verdicts look at of the documents of a run.
func (l *Lab) views(ctx context.Context, dir string) ([]data.View, error) {
	views := make([]data.View, len(l.corpus.Documents))
	err := eachPart(dir, rundir.Fingerprints, func(path string) error {
		return parquet.ReadFingerprints(ctx, path, parquet.ReadOptions{}, func(row *data.FingerprintRow) error {
			n, err := numberOf(row.DocID)
			if err == nil {
				mapper.View(row, &views[n])
				views[n].Letters = bytes.Clone(row.Letters)
			}
			return err
		})
	})
	return views, err
}

// eachPart calls read with every file of a run's table.
func eachPart(dir, table string, read func(path string) error) error {
	paths, err := rundir.Parts(dir, table)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if err := read(path); err != nil {
			return err
		}
	}
	return nil
}
