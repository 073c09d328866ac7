package eval

import (
	"math"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// measure is a figure, or some that belong together.
type measure struct {
	method, by, name  string
	at, f1, seconds   float64
	precision, recall shareRow
}

var measures = data.Table[measure]{Name: "measures", RowBytes: 128, Columns: slices.Concat([]data.Column[measure]{
	{Name: "method", Doc: "method that is measured",
		Word: func(m *measure) *string { return &m.method }},
	{Name: "by", Doc: "what the row is of: `all`; `truth`, one definition alone; `clusters`, pairs of documents in one; `similarity`, true pairs of at or more; `score`, pairs of at or more; `distance`, the method at that; or a kind of group",
		Word: func(m *measure) *string { return &m.by }},
	{Name: "name", Doc: "of the definition of truth, or of the group, else empty",
		Word: func(m *measure) *string { return &m.name }},
	{Name: "at", Doc: "similarity, score or distance, else null", Null: true,
		Double: func(m *measure) *float64 { return &m.at }},
	{Name: "f1", Unit: "0 to 1", Doc: "harmonic mean of precision and recall", Null: true,
		Double: func(m *measure) *float64 { return &m.f1 }},
	{Name: "seconds", Unit: "seconds", Doc: "time the method took", Null: true,
		Double: func(m *measure) *float64 { return &m.seconds }},
},
	shareColumns("precision", "pairs", "pairs that were reported", "right", "of these those that are right", func(m *measure) *shareRow { return &m.precision }),
	shareColumns("recall", "wanted", "pairs that recall is of", "found", "of these those that were found", func(m *measure) *shareRow { return &m.recall }),
)}

// shareRow is a Share as a table has it: null when it is of nothing.
type shareRow struct {
	of, have         int64
	value, low, high float64
}

func (s Share) row() shareRow {
	if s.Of == 0 {
		return shareRow{0, 0, math.NaN(), math.NaN(), math.NaN()}
	}
	return shareRow{int64(s.Of), int64(s.Have), s.Value, s.Low, s.High}
}

// shareColumns are the columns of a share: what it is of, and its value with
// the 95 % interval.
func shareColumns(name, of, ofDoc, have, haveDoc string, at func(*measure) *shareRow) []data.Column[measure] {
	return []data.Column[measure]{
		{Name: of, Unit: "pairs", Doc: ofDoc, Int64: func(m *measure) *int64 { return &at(m).of }},
		{Name: have, Unit: "pairs", Doc: haveDoc, Int64: func(m *measure) *int64 { return &at(m).have }},
		{Name: name, Unit: "0 to 1", Doc: "`" + have + "` / `" + of + "`", Null: true, Double: func(m *measure) *float64 { return &at(m).value }},
		{Name: name + "_low", Unit: "0 to 1", Doc: "its 95 % interval: the lower end", Null: true, Double: func(m *measure) *float64 { return &at(m).low }},
		{Name: name + "_high", Unit: "0 to 1", Doc: "the upper end", Null: true, Double: func(m *measure) *float64 { return &at(m).high }},
	}
}

// WriteParquet writes the report's figures as a table.
func (r *Report) WriteParquet(path string, o parquet.Options) error {
	return parquet.WriteTable(path, &measures, o, r.measures())
}

func (r *Report) measures() (rows []*measure) {
	none := math.NaN()
	row := func(method, by, name string, at float64, precision, recall Share, f1, seconds float64) {
		rows = append(rows, &measure{method, by, name, at, f1, seconds, precision.row(), recall.row()})
	}
	for _, m := range r.Results {
		row(m.Method, "all", "", none, m.Precision, m.Recall, m.F1, m.Seconds)
		for _, d := range m.Definitions {
			row(m.Method, "truth", d.Truth, none, d.Precision, d.Recall, d.F1, none)
		}
		row(m.Method, "clusters", "", none, m.Clusters.Precision, m.Clusters.Recall, m.Clusters.F1, none)
		for _, b := range m.Bands {
			row(m.Method, "similarity", b.Name(), b.Low, Share{}, b.All, none, none)
		}
		for _, g := range m.Groups {
			row(m.Method, g.By, g.Name, none, g.Precision, g.Recall, none, none)
		}
		for _, p := range m.Curve {
			row(m.Method, "score", "", p.Score, p.Precision, p.Recall, p.F1, none)
		}
	}
	for _, s := range r.Sweeps {
		for k, p := range s.Points {
			row(s.Method, "distance", "", float64(k), p.Precision, p.Recall, p.F1, none)
		}
	}
	return rows
}
