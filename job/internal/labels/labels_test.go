package labels

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/text/encoding/simplifiedchinese"
	"pgregory.net/rapid"
)

func fileOf(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pairsOf are the ids of rows.
func pairsOf(rows []Row) (pairs [][2]string) {
	for _, r := range rows {
		pairs = append(pairs, [2]string{r.A, r.B})
	}
	return pairs
}

func TestRead(t *testing.T) {
	pairs := [][2]string{{"x", "y"}, {"x", "z"}, {"y", "z"}}
	gb, err := simplifiedchinese.GB18030.NewEncoder().String("a,b,判定\nx,y,相同\nx,z,重复\ny,z,是\n")
	if err != nil {
		t.Fatal(err)
	}
	var zipped strings.Builder
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte("a,b\nx,y\nx,z\ny,z\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, in := range map[string]string{
		"pairs.jsonl":    "{\"a\":\"x\",\"b\":\"y\"}\n\n{\"a\":\"x\",\"b\":\"z\"}\n{\"a\":\"y\",\"b\":\"z\"}\n",
		"clusters.jsonl": "\n{\"id\":\"x\",\"cluster\":\"1\"}\n{\"id\":\"y\",\"cluster\":1}\n{\"id\":\"w\",\"cluster\":\"2\"}\n{\"id\":\"z\",\"cluster\":\"1\"}",
		"pairs.csv":      "a,b\nx,y\nx,z\ny,z\n",
		"clusters.tsv":   "id\tcluster\nx\t1\ny\t1\nz\t1\n",
		"mark.csv":       "\ufeffa,b\nx,y\nx,z\ny,z\n",
		"excel.csv":      gb,
		"zipped.csv.gz":  zipped.String(),
	} {
		got, err := Read(fileOf(t, name, in))
		if err != nil || !slices.Equal(pairsOf(got), pairs) || slices.ContainsFunc(got, func(r Row) bool { return r.Answer != Yes }) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for name, in := range map[string]string{
		"pair.jsonl": `{"a":"x"}`, "broken.jsonl": `{"a":`, "columns.csv": "x,y\n1,2\n", "ragged.csv": "a,b\nx\n", "empty.jsonl": " \n", "none.csv": "a,b\n",
	} {
		if got, err := Read(fileOf(t, name, in)); !errors.Is(err, ErrLabels) || !strings.HasPrefix(err.Error(), "labels: ") || len(got) > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	several := func(first string) ([]Row, error) {
		for name, text := range map[string]string{"1.jsonl": first, "2.jsonl": `{"a":"x","b":"z"}{"a":"y","b":"z"}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return Read(dir)
	}
	if got, err := several(`{"a":"x","b":"y"}`); err != nil || !slices.Equal(pairsOf(got), pairs) {
		t.Errorf("a folder: %v, %v", got, err)
	}
	if _, err := several(`{"a":`); !errors.Is(err, ErrLabels) || !strings.Contains(err.Error(), "1.jsonl: row 1") {
		t.Errorf("a folder whose first file is broken: %v", err)
	}
	got, err := Read(fileOf(t, "number.jsonl", `{"a":12345678901234567890,"b":"x"}`))
	if err != nil || !slices.Equal(pairsOf(got), [][2]string{{"12345678901234567890", "x"}}) {
		t.Errorf("a number: %v, %v", got, err)
	}
}

// What says no is no, in whatever words.
func TestAnswers(t *testing.T) {
	for want, all := range map[Answer][]string{
		Yes:    {"yes", "Y", "1", "1.0", "true", "The same", "same", "duplicate", "是", "相同"},
		No:     {"no", "N", "0", "0.0", "False", "not the same", "not_the_same", "different", "not a duplicate", "否", "不同"},
		Unsure: {"unsure", "?", "Maybe", "not sure", "不确定"},
		None:   {"", "  "},
	} {
		for _, text := range all {
			if got, err := ParseAnswer(text); got != want || err != nil {
				t.Errorf("%q: %v, %v", text, got, err)
			}
		}
	}
	for _, text := range []string{"-1", "2", "0.87", "NaN", "-0", "nope", "http://example.org/a", "sketches alike", "yes no"} {
		if got, err := ParseAnswer(text); err == nil || !strings.Contains(err.Error(), "write yes, no or unsure") {
			t.Errorf("%q: %v", text, got)
		}
	}
	for name, in := range map[string]string{
		"verdict.csv": "a,b,verdict\nx,y,the same\nx,z,not the same\ny,z,unsure\n",
		"same.jsonl":  `{"a":"x","b":"y","same":true}{"a":"x","b":"z","same":false}{"a":"y","b":"z","same":"?"}`,
		"label.jsonl": `{"a":"x","b":"y","label":1}{"a":"x","b":"z","label":0}{"a":"y","b":"z","label":"unsure"}{"a":"q","b":"z","label":null}`,
		"order.csv":   "verdict,b,who,a,when,why\nyes,y,me,x,2026-11-23,\nno,z,me,x,2026-11-23T10:00:00Z,another place\n?,z,me,y,,\n,q,,z,,\n",
	} {
		rows, err := Read(fileOf(t, name, in))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := Merge(rows)
		if len(got) != 3 || got[0].Answer != Yes || got[1].Answer != No || got[2].Answer != Unsure || Telling(rows) != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What is not understood is refused, with what to do.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"unknown.csv":    {"a,b,verdikt\nx,y,no\n", `column "verdikt" is not understood`},
		"unknown.jsonl":  {`{"a":"x","b":"y"}{"a":"x","b":"z","similar":false}`, `row 2: column "similar" is not understood`},
		"twice.csv":      {"a,b,label,same\nx,y,1,1\n", "both hold the verdict"},
		"score.csv":      {"a,b,label\nx,y,0.93\n", `row 1: verdict "0.93": write yes, no or unsure`},
		"swapped.csv":    {"a,verdict,b\nx,http://y,no\n", `column b has "no": are the two columns swapped?`},
		"clusters.csv":   {"id,cluster\nc1,x\nc1,y\nc2,z\n", "are the columns id and cluster swapped?"},
		"unique.csv":     {"id,cluster\nc1,x\nc2,y\n", "no labelled pair"},
		"both.csv":       {"a,b,id,cluster\nx,y,z,1\n", "write a and b, or id and cluster"},
		"cluster.csv":    {"id,cluster,verdict\nx,1,no\n", "beside id and cluster there may be no other"},
		"itself.csv":     {"a,b\nx,x\n", `"x" is paired with itself`},
		"when.csv":       {"a,b,when\nx,y,yesterday\n", "is no time"},
		"list.jsonl":     {`{"a":["x"],"b":"y"}`, "a list or an object"},
		"documents.warc": {"WARC/1.0\r\n", "warc"},
	} {
		if got, err := Read(fileOf(t, name, c.in)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
	for in, uniform := range map[string]bool{"a,b,same\nx,y,no\nx,z,no\n": true, "a,b,same\nx,y,1\nx,z,yes\n": true, "a,b,same\nx,y,?\n": true, "a,b,same\nx,y,1\nx,z,0\n": false, "a,b\nx,y\nx,z\n": false} {
		rows, err := Read(fileOf(t, "uniform.csv", in))
		if err != nil || errors.Is(Telling(rows), ErrUniform) != uniform {
			t.Errorf("%q: %v, %v", in, err, Telling(rows))
		}
	}
}

func TestMerge(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 23, hour, 0, 0, 0, time.UTC) }
	got := Merge([]Row{
		{A: "x", B: "y", Answer: Yes, Who: "lin", When: at(9)},
		{A: "x", B: "z", Answer: Yes, Who: "lin", When: at(9)},
		{A: "y", B: "x", Answer: No, Who: "ada", When: at(9)},
		{A: "z", B: "x", Answer: No, Who: "lin", When: at(8)}, // written later, said before
		{A: "p", B: "q", Answer: Yes, Who: "lin", When: at(9)},
		{A: "p", B: "q", Who: "lin", When: at(10)}, // taken back
		{A: "x", B: "y", Answer: No, Who: "kim", When: at(9)},
		{A: "y", B: "z", Answer: Yes, Who: "ada"}, {A: "y", B: "z", Answer: No, Who: "lin"}, {A: "y", B: "z", Answer: Unsure, Who: "kim"},
	})
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct {
		answer   Answer
		disagree bool
		votes    int
	}{{No, true, 3}, {Yes, false, 1}, {Unsure, true, 3}} {
		if p := got[i]; p.Answer != want.answer || p.Disagree() != want.disagree || len(p.Votes) != want.votes {
			t.Errorf("%d: %+v", i, p)
		}
	}
}

// What is written is read back, in either form and in several goes.
func TestAppend(t *testing.T) {
	text := rapid.StringMatching(`[a-zA-Z0-9,"'\n文字 ]{0,12}`)
	id := rapid.StringMatching(`[a-z0-9:/,"文\n]{1,12}`)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		path := filepath.Join(dir, []string{"v.csv", "v.jsonl"}[rapid.IntRange(0, 1).Draw(t, "form")])
		defer func() { _ = os.Remove(path) }()
		var want []Row
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			r := Row{A: "a" + id.Draw(t, "a"), B: "b" + id.Draw(t, "b"), Answer: Answer(rapid.IntRange(0, 3).Draw(t, "answer")), Who: text.Draw(t, "who"), Why: text.Draw(t, "why"), said: true}
			if rapid.Bool().Draw(t, "timed") {
				r.When = time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "when"), 0).UTC()
			}
			want = append(want, r)
			if err := Append(path, r); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Read(path)
		if err != nil || !slices.EqualFunc(got, want, func(a, b Row) bool { return a == b }) {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
	})
	other := fileOf(t, "mine.csv", "a,b,same\nx,y,1")
	if err := Append(other, Row{A: "x", B: "z", Answer: No}); err == nil || !strings.Contains(err.Error(), "name a new file") {
		t.Errorf("%v", err)
	}
	open := fileOf(t, "open.jsonl", `{"a":"x","b":"y","same":true}`)
	if err := Append(open, Row{A: "x", B: "z", Answer: No}); err != nil {
		t.Error(err)
	}
	if got, err := Read(open); err != nil || len(got) != 2 || got[1].Answer != No {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a,b\nx,y\n", true)
	f.Add("a,b,verdict\nx,y,no\n", true)
	f.Add(`{"id":"x","cluster":"1"}`, false)
	f.Add(`{"a":"x","b":"y","same":false}`, false)
	f.Fuzz(func(t *testing.T, in string, csv bool) {
		path := filepath.Join(t.TempDir(), "labels.jsonl")
		if csv {
			path += ".csv"
		}
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		rows, err := Read(path)
		for _, r := range rows {
			if r.A == "" || r.B == "" || r.A == r.B {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}
