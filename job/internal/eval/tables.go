package eval

import (
	"errors"
	"math"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// Names of the tables of a report.
const (
	tableMeasures = "measures" // every figure of every method, one a row
	tableExamples = "examples" // the worst false pairs and misses
)

// What a row of measures is of, in its column by; the groups' names beside.
const (
	byAll        = "all"
	bySimilarity = "similarity" // true pairs of a similarity from at on
	byScore      = "score"      // the pairs of that score or more
	byDistance   = "distance"   // the method at distance at
	byHistogram  = "histogram"  // pairs at exactly that distance
)

// measure is a figure, or some that belong together.
type measure struct {
	method, by, name            string
	at                          float64
	pairs, right, wanted, found int64
	precision, recall           [3]float64 // with the 95 % interval
	f1, seconds                 float64
}

var measures = data.Table[measure]{Name: tableMeasures, RowBytes: 128, Columns: []data.Column[measure]{
	{Name: "method", Doc: "method that is measured",
		Word: func(m *measure) *string { return &m.method }},
	{Name: "by", Doc: "what the row is of: `all`, `similarity`, `score`, `distance`, `histogram`, or a kind of group",
		Word: func(m *measure) *string { return &m.by }},
	{Name: "name", Doc: "of the group, else empty",
		Word: func(m *measure) *string { return &m.name }},
	{Name: "at", Doc: "similarity, score or distance, else null", Null: true,
		Double: func(m *measure) *float64 { return &m.at }},
	{Name: "pairs", Unit: "pairs", Doc: "pairs that were reported",
		Int64: func(m *measure) *int64 { return &m.pairs }},
	{Name: "right", Unit: "pairs", Doc: "of these those that are right",
		Int64: func(m *measure) *int64 { return &m.right }},
	{Name: "wanted", Unit: "pairs", Doc: "pairs that recall is of",
		Int64: func(m *measure) *int64 { return &m.wanted }},
	{Name: "found", Unit: "pairs", Doc: "of these those that were found",
		Int64: func(m *measure) *int64 { return &m.found }},
	{Name: "precision", Unit: "0 to 1", Doc: "`right` / `pairs`", Null: true,
		Double: func(m *measure) *float64 { return &m.precision[0] }},
	{Name: "precision_low", Unit: "0 to 1", Doc: "its 95 % interval: the lower end", Null: true,
		Double: func(m *measure) *float64 { return &m.precision[1] }},
	{Name: "precision_high", Unit: "0 to 1", Doc: "the upper end", Null: true,
		Double: func(m *measure) *float64 { return &m.precision[2] }},
	{Name: "recall", Unit: "0 to 1", Doc: "`found` / `wanted`", Null: true,
		Double: func(m *measure) *float64 { return &m.recall[0] }},
	{Name: "recall_low", Unit: "0 to 1", Doc: "its 95 % interval: the lower end", Null: true,
		Double: func(m *measure) *float64 { return &m.recall[1] }},
	{Name: "recall_high", Unit: "0 to 1", Doc: "the upper end", Null: true,
		Double: func(m *measure) *float64 { return &m.recall[2] }},
	{Name: "f1", Unit: "0 to 1", Doc: "harmonic mean of precision and recall", Null: true,
		Double: func(m *measure) *float64 { return &m.f1 }},
	{Name: "seconds", Unit: "seconds", Doc: "time the method took", Null: true,
		Double: func(m *measure) *float64 { return &m.seconds }},
}}

// example is a pair that a method gets wrong.
type example struct {
	method         string
	missed         bool
	a, b           []byte
	score, jaccard float64
	textA, textB   []byte
}

var examples = data.Table[example]{Name: tableExamples, RowBytes: 64, Columns: []data.Column[example]{
	{Name: "method", Doc: "method that is measured",
		Word: func(e *example) *string { return &e.method }},
	{Name: "missed", Doc: "a true pair that is not reported; else one wrongly reported",
		Bool: func(e *example) *bool { return &e.missed }},
	{Name: "a", Doc: "id of the one document",
		String: func(e *example) *[]byte { return &e.a }},
	{Name: "b", Doc: "id of the other",
		String: func(e *example) *[]byte { return &e.b }},
	{Name: "score", Doc: "what the method says of the pair", Null: true,
		Double: func(e *example) *float64 { return &e.score }},
	{Name: "jaccard", Unit: "0 to 1", Doc: "similarity of the texts", Null: true,
		Double: func(e *example) *float64 { return &e.jaccard }},
	{Name: "text_a", Doc: "text of the one", NoStats: true,
		Text: func(e *example) *[]byte { return &e.textA }},
	{Name: "text_b", Doc: "text of the other", NoStats: true,
		Text: func(e *example) *[]byte { return &e.textB }},
}}

// WriteParquet writes the report as two tables into the directory, which is
// there: measures.parquet and examples.parquet.
func (r *Report) WriteParquet(dir string, o parquet.Options) error {
	return errors.Join(r.writeMeasures(filepath.Join(dir, tableMeasures+".parquet"), o), r.writeExamples(filepath.Join(dir, tableExamples+".parquet"), o))
}

func (r *Report) writeMeasures(path string, o parquet.Options) (err error) {
	w, err := parquet.Create(path, &measures, o)
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
		err = w.Write(&measure{method, by, name, at,
			int64(precision.Of), int64(precision.Have), int64(recall.Of), int64(recall.Have), of(precision), of(recall), f1, seconds})
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
	w, err := parquet.Create(path, &examples, o)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Abort())
		}
	}()
	for _, m := range r.Results {
		for i, list := range [][]examplePair{m.False, m.Missed} {
			for _, e := range list {
				if err := w.Write(&example{m.Method, i == 1, []byte(e.A), []byte(e.B), e.Score, e.Jaccard, []byte(e.TextA), []byte(e.TextB)}); err != nil {
					return err
				}
			}
		}
	}
	return w.Commit()
}
