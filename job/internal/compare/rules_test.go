package compare

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
)

// content is a run directory to write.
type content struct {
	documents []string       // ids in the order of the input
	lengths   map[string]int // 100 if not stated
	pairs     []data.MatchRow
	matches   []data.MatchRow
	clusters  []data.ClusterRow
	clean     string
	matched   int
}

func pair(a, b string, distance int32) data.MatchRow {
	return data.MatchRow{DocID: []byte(a), MatchID: []byte(b), Distance: distance, MatchFrom: "run", Estimate: math.NaN(), Jaccard: math.NaN(), Verdict: "distance"}
}

func member(doc, cluster string, representative bool) data.ClusterRow {
	return data.ClusterRow{DocID: []byte(doc), ClusterID: []byte(cluster), Component: []byte(cluster), Size: 3, Representative: representative}
}

// base is a run of the documents c, a, b, which are one cluster, and d.
func base() content {
	return content{
		documents: []string{"c", "a", "b", "d"},
		pairs:     []data.MatchRow{pair("a", "b", 1), pair("a", "c", 1), pair("b", "c", 2)},
		matches:   []data.MatchRow{pair("a", "b", 1), pair("b", "a", 1), pair("c", "a", 1)},
		clusters:  []data.ClusterRow{member("a", "a", true), member("b", "a", false), member("c", "a", false)},
		clean:     "a\nd\n",
		matched:   3,
	}
}

func write[R any](t testing.TB, dir string, table *data.Table[R], name string, rows []R) {
	t.Helper()
	folder := filepath.Join(dir, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := parquet.Create(filepath.Join(folder, rundir.PartName(0, ".parquet")), table, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := out.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
}

func (c content) write(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var docs []data.FingerprintRow
	for i, id := range c.documents {
		row := data.EmptyFingerprintRow()
		row.DocID, row.Lo, row.LengthClass, row.Length, row.Source, row.Offset = []byte(id), uint64(id[0]), "normal", 100, "in.jsonl", int64(id[0])
		if n, ok := c.lengths[id]; ok {
			row.Length = int32(n)
		}
		if docs = append(docs, row); i == 0 {
			docs = append(docs, row) // a second row of an id is no other place
			docs[0].Offset = 1
		}
	}
	write(t, dir, &data.Fingerprints, rundir.Fingerprints, docs)
	write(t, dir, &data.Matches, rundir.Pairs, c.pairs)
	write(t, dir, &data.Matches, rundir.Matches, c.matches)
	write(t, dir, &data.Clusters, rundir.Clusters, c.clusters)
	for name, text := range map[string]string{
		rundir.Clean + "/part-00000.jsonl": c.clean,
		rundir.ManifestFile:                "{}",
		rundir.SummaryFile:                 fmt.Sprintf(`{"matched":%d}`, c.matched),
		rundir.SuccessFile:                 "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDirs(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*content)
		want   map[Kind]int
	}{
		"nothing":                {func(*content) {}, map[Kind]int{}},
		"names":                  {func(c *content) { rename(c, "c") }, map[Kind]int{}},
		"order":                  {func(c *content) { c.pairs[0], c.pairs[2] = c.pairs[2], c.pairs[0] }, map[Kind]int{}},
		"fingerprint":            {func(c *content) { c.lengths = map[string]int{"d": 7} }, map[Kind]int{RowDiffers: 1}},
		"document":               {func(c *content) { c.documents = c.documents[:3] }, map[Kind]int{RowDiffers: 1}},
		"pair gone":              {func(c *content) { c.pairs = c.pairs[:2] }, map[Kind]int{PairDiffers: 1}},
		"pair added":             {func(c *content) { c.pairs = append(c.pairs, pair("a", "d", 1)) }, map[Kind]int{PairDiffers: 1}},
		"distance":               {func(c *content) { c.pairs[0].Distance = 2 }, map[Kind]int{PairDiffers: 1}},
		"estimate":               {func(c *content) { c.pairs[0].Estimate = .9 }, map[Kind]int{PairDiffers: 1}},
		"jaccard":                {func(c *content) { c.matches[0].Jaccard = .9 }, map[Kind]int{MatchDiffers: 1}},
		"verdict":                {func(c *content) { c.pairs[1].Verdict = "texts alike" }, map[Kind]int{PairDiffers: 1}},
		"match earlier":          {func(c *content) { c.matches[0] = pair("a", "c", 1) }, map[Kind]int{MatchTie: 1}},
		"match no pair":          {func(c *content) { c.matches[2] = pair("c", "d", 1) }, map[Kind]int{MatchDiffers: 1}},
		"match less near":        {func(c *content) { c.matches[0] = pair("a", "c", 2) }, map[Kind]int{MatchDiffers: 1}},
		"match gone":             {func(c *content) { c.matches = c.matches[:2] }, map[Kind]int{MatchDiffers: 1}},
		"cluster cut":            {func(c *content) { c.clusters = c.clusters[:2] }, map[Kind]int{ClusterDiffers: 3}},
		"representative earlier": {func(c *content) { keep(c, "c") }, map[Kind]int{RepresentativeTie: 1}},
		"representative later":   {func(c *content) { keep(c, "b") }, map[Kind]int{RepresentativeDiffers: 1}},
		"clean":                  {func(c *content) { c.clean = "a\n" }, map[Kind]int{LineDiffers: 1}},
		"count":                  {func(c *content) { c.matched = 4 }, map[Kind]int{CountDiffers: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := base(), base()
			test.change(&after)
			got, err := Dirs(before.write(t), after.write(t), "length")
			if err != nil || !maps.Equal(got.Counts(), test.want) {
				t.Errorf("%v, %v, want %v", got, err, test.want)
			}
			ties := test.want[MatchTie] + test.want[RepresentativeTie]
			if defects := got.Defects(); len(defects) != len(got)-ties {
				t.Errorf("defects %v of %v", defects, got)
			}
		})
	}
}

// The keep rule decides by lengths that differ: another representative is no tie.
func TestKeepRuleDecides(t *testing.T) {
	before, after := base(), base()
	before.lengths, after.lengths = map[string]int{"a": 101}, map[string]int{"a": 101}
	keep(&after, "c")
	got, err := Dirs(before.write(t), after.write(t), "length")
	if want := map[Kind]int{RepresentativeDiffers: 1}; err != nil || !maps.Equal(got.Counts(), want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// A component of more fingerprints than the bound is cut around centres, of
// which ties go to the earlier document.
func TestCutComponent(t *testing.T) {
	for n, want := range map[int]Kind{maxSpread: ClusterDiffers, maxSpread + 1: ClusterTie} {
		var before content
		for i := range n {
			id := string(rune(0x4e00 + i))
			before.documents = append(before.documents, id)
			if i > 0 {
				p := pair(before.documents[i-1], id, 1)
				before.pairs, before.matches = append(before.pairs, p), append(before.matches, p)
			}
			if i == n-1 {
				before.matches = append(before.matches, pair(id, before.documents[i-1], 1))
			}
		}
		after := before
		before.clusters = []data.ClusterRow{member(before.documents[0], "x", true), member(before.documents[1], "x", false)}
		got, err := Dirs(before.wide(t), after.wide(t), "length")
		if err != nil || !maps.Equal(got.Counts(), map[Kind]int{want: 2}) {
			t.Errorf("%d fingerprints: %v, %v", n, got.Counts(), err)
		}
	}
}

// wide writes a run whose documents all have fingerprints of their own.
func (c content) wide(t testing.TB) string {
	t.Helper()
	dir := c.write(t)
	var docs []data.FingerprintRow
	for i, id := range c.documents {
		row := data.EmptyFingerprintRow()
		row.DocID, row.Lo, row.Offset = []byte(id), uint64(i), int64(i)
		docs = append(docs, row)
	}
	write(t, dir, &data.Fingerprints, rundir.Fingerprints, docs)
	return dir
}

func TestUnfinished(t *testing.T) {
	if _, err := Dirs(base().write(t), t.TempDir(), ""); err == nil {
		t.Error("an unfinished run was compared")
	}
}

func rename(c *content, id string) {
	for i := range c.clusters {
		c.clusters[i].ClusterID, c.clusters[i].Component = []byte(id), []byte(id)
	}
}

func keep(c *content, doc string) {
	for i := range c.clusters {
		c.clusters[i].Representative = string(c.clusters[i].DocID) == doc
	}
	c.clean = doc + "\nd\n"
}
