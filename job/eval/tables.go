package eval

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/neardup/neardup/data/parquet"
)

// Names of the tables of a report.
const (
	TableMeasures = "measures" // every figure of every method, one a row
	TableExamples = "examples" // the worst false pairs and misses
)

// What a row of measures is of, in its column by; the groups' names beside.
const (
	byAll        = "all"
	bySimilarity = "similarity" // true pairs of a similarity from at on
	byScore      = "score"      // the pairs of that score or more
	byDistance   = "distance"   // the method at distance at
	byHistogram  = "histogram"  // pairs at exactly that distance
)

// WriteParquet writes the report as two tables into the directory, which is
// there: measures.parquet and examples.parquet.
func (r *Report) WriteParquet(dir string, o parquet.Options) error {
	return errors.Join(r.writeMeasures(filepath.Join(dir, TableMeasures+".parquet"), o), r.writeExamples(filepath.Join(dir, TableExamples+".parquet"), o))
}

func (r *Report) writeMeasures(path string, o parquet.Options) (err error) {
	w, err := parquet.CreateRecords(path, TableMeasures, []parquet.Field{
		{Name: "method", Type: parquet.String},
		{Name: "by", Type: parquet.String},
		{Name: "name", Type: parquet.String}, // of the group, else empty
		{Name: "at", Type: parquet.Double},   // similarity, score or distance, else null
		{Name: "pairs", Type: parquet.Int},   // reported
		{Name: "right", Type: parquet.Int},   // of these
		{Name: "wanted", Type: parquet.Int},  // that recall is of
		{Name: "found", Type: parquet.Int},   // of these
		{Name: "precision", Type: parquet.Double},
		{Name: "precision_low", Type: parquet.Double}, // 95 % interval
		{Name: "precision_high", Type: parquet.Double},
		{Name: "recall", Type: parquet.Double},
		{Name: "recall_low", Type: parquet.Double},
		{Name: "recall_high", Type: parquet.Double},
		{Name: "f1", Type: parquet.Double},
		{Name: "seconds", Type: parquet.Double},
	}, o)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	none := math.NaN()
	row := func(method, by, name string, at float64, precision, recall Share, f1, seconds float64) {
		if err != nil {
			return
		}
		of := func(s Share) [3]float64 {
			if s.Of == 0 {
				return [3]float64{none, none, none}
			}
			return [3]float64{s.Value, s.Low, s.High}
		}
		p, q := of(precision), of(recall)
		err = w.Write(method, by, name, at, precision.Of, precision.Have, recall.Of, recall.Have, p[0], p[1], p[2], q[0], q[1], q[2], f1, seconds)
	}
	for _, m := range r.Results {
		row(m.Method, byAll, "", none, m.Precision, m.Recall, m.F1, m.Seconds)
		for _, b := range m.Bands {
			row(m.Method, bySimilarity, b.Name(), b.Low, Share{}, b.All, none, none)
		}
		for _, g := range m.Groups {
			row(m.Method, g.By, g.Name, none, g.Precision, g.Recall, none, none)
		}
		for _, p := range m.Curve {
			right := int(math.Round(p.Precision * float64(p.Pairs)))
			found := int(math.Round(p.Recall * float64(m.Recall.Of)))
			row(m.Method, byScore, "", p.Score, NewShare(right, p.Pairs), NewShare(found, m.Recall.Of), p.F1, none)
		}
	}
	for _, s := range r.Sweeps {
		for _, p := range s.Points {
			row(s.Method, byDistance, "", float64(p.K), p.Precision, p.Recall, p.F1, none)
		}
	}
	for _, h := range r.Histograms {
		for d := range h.True {
			row(h.Features, byHistogram, "", float64(d), NewShare(h.True[d], h.True[d]+h.False[d]), Share{}, none, none)
		}
	}
	if err != nil {
		return err
	}
	return w.Commit()
}

func (r *Report) writeExamples(path string, o parquet.Options) (err error) {
	w, err := parquet.CreateRecords(path, TableExamples, []parquet.Field{
		{Name: "method", Type: parquet.String},
		{Name: "missed", Type: parquet.Bool}, // a true pair that is not reported; else one wrongly reported
		{Name: "a", Type: parquet.String},
		{Name: "b", Type: parquet.String},
		{Name: "score", Type: parquet.Double},
		{Name: "jaccard", Type: parquet.Double},
		{Name: "text_a", Type: parquet.String},
		{Name: "text_b", Type: parquet.String},
	}, o)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	for _, m := range r.Results {
		for i, list := range [][]Example{m.False, m.Missed} {
			for _, e := range list {
				if err := w.Write(m.Method, i == 1, e.A, e.B, e.Score, e.Jaccard, e.TextA, e.TextB); err != nil {
					return err
				}
			}
		}
	}
	return w.Commit()
}
