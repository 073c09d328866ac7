//go:build linux

package gleam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
)

// historyInput is a library with a night that is to be joined with it.
type historyInput struct {
	config config.Config
	l      *library.Library
	splits []library.Split
	night  []data.LibraryRow
}

// newHistoryInput makes a library of n documents and a night of a third as many
// that are like them: some of the same ids, near copies, hot fingerprints, hot
// bands and short texts. One night of the library has most of its documents, a file
// holds so many rows at most, some documents are deleted.
func newHistoryInput(t testing.TB, cfg config.Config, n, fileRows int) *historyInput {
	t.Helper()
	ctx := context.Background()
	in := &historyInput{config: cfg}
	in.config.Library = config.Library{Path: filepath.Join(t.TempDir(), "lib"), Night: "2026-11-20"}
	l, err := library.Lock(ctx, in.config.Library.Path, library.Options{PartRows: int64(fileRows)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	in.l = l
	if err := l.Settle(cfg.Features.Bits, map[string]string{"made": "up"}, nil); err != nil {
		t.Fatal(err)
	}
	views := plantedtest.Views(n+n/3, cfg.Features.Bits)
	row := func(i, id int) data.LibraryRow {
		v := &views[i]
		if i%9 == 0 {
			v.Hi, v.Lo = views[0].Hi, views[0].Lo // a fingerprint that many have
		}
		r := data.LibraryRow{DocID: fmt.Appendf(nil, "http://%d.example/%06d", id%7, id), Hi: v.Hi, Lo: v.Lo, Length: int32(v.Length), LengthClass: "short", Letters: v.Letters, Date: data.NoDate}
		if v.Normal {
			r.LengthClass = "normal"
		}
		if cfg.Match.Verified() && i%17 > 0 {
			r.Sketch = v.Sketch[:]
		}
		return r
	}
	byID := func(a, b data.LibraryRow) int { return bytes.Compare(a.DocID, b.DocID) }
	sizes := []int{n / 20, n / 40, n - n/20 - n/40 - n/10 - 1, n / 10, 1}
	from := 0
	for i, size := range sizes {
		night := fmt.Sprintf("2026-11-%02d", i+1)
		rows := make([]data.LibraryRow, size)
		for j := range rows {
			rows[j] = row(from+j, (from+j)*2/3) // some ids come again
			rows[j].FirstSeen = []string{night, "2026-10-07"}[j%2]
			if j%3 == 0 {
				rows[j].Cluster = fmt.Appendf(nil, "2026-11-01/%d", j%40)
			}
		}
		from += size
		slices.SortFunc(rows, byID)
		rows = slices.CompactFunc(rows, func(a, b data.LibraryRow) bool { return bytes.Equal(a.DocID, b.DocID) })
		_, _, err := l.Add(ctx, night, "", func(yield func(*data.LibraryRow) error) error {
			for k := range rows {
				if err := yield(&rows[k]); err != nil {
					return err
				}
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			if _, err := l.Compact(ctx, int64(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Delete(ctx, library.Doomed{Prefixes: []string{"http://3.example/0000"}}); err != nil {
		t.Fatal(err)
	}
	for i := from; i < len(views); i++ {
		id := i
		if i%3 == 0 {
			id = i % from / 2 // one that the library has
		}
		in.night = append(in.night, row(i, id))
	}
	slices.SortFunc(in.night, byID)
	in.night = slices.CompactFunc(in.night, func(a, b data.LibraryRow) bool { return bytes.Equal(a.DocID, b.DocID) })
	if in.splits, err = l.Splits(library.StreamOptions{Before: in.config.Library.Night}, 1); err != nil {
		t.Fatal(err)
	}
	return in
}

// splitsOfNight is how many splits writeNight makes.
const splitsOfNight = 3

// writeNight lays the fingerprints of a night into the run directory, if they
// are not there, in splits of different sizes, one of them empty. Each split
// begins with a row of an id that was there.
func writeNight(t testing.TB, dir *rundir.Dir, cfg config.Config, rows []data.LibraryRow) {
	t.Helper()
	if err := os.MkdirAll(dir.Path(rundir.State, exactdup.Folder), 0o755); err != nil {
		t.Fatal(err)
	}
	first := uint64(0)
	for task, rows := range [splitsOfNight][]data.LibraryRow{rows[:len(rows)/3], nil, rows[len(rows)/3:]} {
		path, err := dir.Part(rundir.Fingerprints, task, ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		if !attempt.Gone(path) {
			continue
		}
		out, err := parquet.Create(path, &data.Fingerprints, parquet.Options{Bits: cfg.Features.Bits})
		if err != nil {
			t.Fatal(err)
		}
		var known []byte
		if len(rows) > 0 {
			known = exactdup.Append(known, exactdup.Document{Doc: first, Kind: exactdup.DuplicateID})
			rows = append([]data.LibraryRow{rows[len(rows)-1]}, rows...)
		}
		for i := range rows {
			r := &rows[i]
			row := data.FingerprintRow{DocID: r.DocID, Hi: r.Hi, Lo: r.Lo, LengthClass: r.LengthClass, Length: r.Length, Sketch: r.Sketch, Letters: r.Letters, Date: r.Date}
			if err := out.Write(&row); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(out.Commit(), state.Write(corpus.ExactPath(dir, task), exactdup.FileKind, known)); err != nil {
			t.Fatal(err)
		}
		first += uint64(len(rows))
	}
}

// join lays the night into the run directory and has an engine join it. It
// returns what was found, as text.
func (in *historyInput) join(ctx context.Context, t testing.TB, e engine.Engine, dir *rundir.Dir, splits []library.Split) (string, error) {
	t.Helper()
	writeNight(t, dir, in.config, in.night)
	job := &engine.Job{Config: in.config, Hash: "cafe", Dir: dir, Splits: make([]data.Split, splitsOfNight), Log: testLog(t)}
	documents, err := corpus.ReadNight(ctx, in.config, dir, splitsOfNight, 2, nil)
	if err != nil {
		return "", err
	}
	found := documents.NewMatches(in.l.Manifest())
	if err := e.History(ctx, job, documents, in.l, splits, found); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintln(&b, found.Documents(), "documents")
	for row := range found.Rows() {
		fmt.Fprintln(&b, "row", row, found.FirstSeen(row))
	}
	for unit := range uint32(found.Units()) {
		clusters := found.Clusters(unit) // in order
		if g, ok := found.Gathered(unit); ok {
			fmt.Fprintln(&b, "unit", unit, g.Matches, g.Exact, g.Last, clusters)
		}
	}
	return b.String(), nil
}

// historyEqualsLocal joins libraries of files of any size on the cluster.
func historyEqualsLocal(t *testing.T, c *testCluster) {
	type variant struct {
		preset string
		bits   int
		rows   int // of a file
	}
	variants := []variant{{config.PresetBalanced, 64, 450}}
	if long() {
		variants = append(variants, variant{config.PresetBalanced, 64, 2000}, variant{config.PresetClassic, 64, 1000}, variant{config.PresetClassic, 64, 77}, variant{config.PresetThorough, 128, 333}, variant{config.PresetBalanced, 32, 40})
	}
	for _, v := range variants {
		in := newHistoryInput(t, presetConfig(t, v.preset, v.bits), 6000, v.rows)
		want, err := in.join(t.Context(), t, local.New(1), openRun(t), in.splits)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(want, "unit") < 50 || strings.Count(want, "2026-") < 100 {
			t.Fatalf("hardly anything is found: the test shows nothing: %.200s", want)
		}
		if got, err := in.join(t.Context(), t, local.New(3), openRun(t), in.splits); err != nil || got != want {
			t.Errorf("%+v, %d splits, here: %v; %s", v, len(in.splits), err, firstDifference(got, want))
		}
		dir := openRun(t)
		began := time.Now()
		got, err := in.join(t.Context(), t, newEngine(t, Options{Master: c.master}), dir, in.splits)
		if err != nil || got != want {
			t.Errorf("%+v, %d splits: %v; %s", v, len(in.splits), err, firstDifference(got, want))
		}
		t.Logf("%s, %d bits: %d splits in %v", v.preset, v.bits, len(in.splits), time.Since(began))
		c.left(dir.Path())
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %.300q, want %.300q", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(x), len(y))
}

// Splits that are joined stay joined: what one attempt, or one run, has found is
// not looked for again, and what is of another state of the library is removed.
func TestJoinedSplitsAreKept(t *testing.T) {
	needCluster(t)
	t.Parallel()
	in := newHistoryInput(t, presetConfig(t, config.PresetBalanced, 64), 1500, 100)
	dir := openRun(t)
	want, err := in.join(t.Context(), t, local.New(1), dir, in.splits)
	if err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, 2, 3)
	e := newEngine(t, Options{Master: c.master})
	e.historyRows = 250
	groups := grouped(in.splits, e.historyRows) // of several splits, each of a file
	if got, err := in.join(t.Context(), t, e, dir, in.splits); err != nil || got != want {
		t.Fatalf("%v; %s", err, firstDifference(got, want))
	}
	parts, err := os.ReadDir(dir.Path(rundir.State, history.PartsFolder))
	if err != nil || len(parts) != len(groups) || len(groups) > len(in.splits)/2 || !slices.ContainsFunc(groups, func(g []library.Split) bool { return g[0].File != g[len(g)-1].File }) {
		t.Fatalf("%d parts of %d tasks, %v, are kept (%v)", len(parts), len(groups), groups, err)
	}
	c.left(dir.Path())
	c.stop() // nothing is left for it to do
	stray := dir.Path(rundir.State, history.PartsFolder, "0123456789abcdef")
	if err := os.WriteFile(stray, []byte("of another library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := in.join(t.Context(), t, e, dir, in.splits); err != nil || got != want {
		t.Fatalf("again: %v; %s", err, firstDifference(got, want))
	}
	if !attempt.Gone(stray) {
		t.Error("a part of another library is left")
	}
	// A part that is damaged is no result.
	path := dir.Path(rundir.State, history.PartsFolder, parts[0].Name())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := in.join(t.Context(), t, e, dir, in.splits); !errors.Is(err, state.ErrDamaged) || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged part: %v", err)
	}
}

// A host that does not see the library ends the run before any work is done,
// and one that sees another before the join.
func TestLibraryChecks(t *testing.T) {
	h := makeHosts(t, 2)
	in := newHistoryInput(t, presetConfig(t, config.PresetBalanced, 64), 500, 500/3)
	lib := in.config.Library.Path
	refused := failed("cluster not ready", "(host1): it cannot read the library: ", lib, "mount it at the same path")
	for _, hidden := range []string{lib, filepath.Join(lib, "documents")} {
		t.Run(filepath.Base(hidden), func(t *testing.T) {
			dir := openRun(t)
			c := startClusterAt(t, h.net+".1", h.places("", "mount -t tmpfs none "+hidden), 4)
			if hidden == lib {
				records, err := eachTask(t.Context(), t, newEngine(t, Options{Master: c.master}), dir, stage.Fingerprint, manifestOf(t, in.config, dump(t, t.TempDir())))
				if wrong := refused(err); wrong != "" {
					t.Error(wrong)
				}
				for _, rec := range records {
					if rec.Stage != "" {
						t.Errorf("work was done: %+v", rec)
					}
				}
			}
			_, err := in.join(t.Context(), t, newEngine(t, Options{Master: c.master}), dir, in.splits)
			if wrong := refused(err); wrong != "" {
				t.Error(wrong)
			}
			t.Log(err)
			c.left(dir.Path())
		})
	}
}

// What was found survives its part; a part that was cut or changed, or that is
// not of this run, is refused, and so are parts at random.
func FuzzPart(f *testing.F) {
	newFound := func(units int) *history.Matches { return history.New(4, units, "2026-11-02") }
	found := newFound(4)
	found.Seen(2, "2026-11-01", "")
	found.Add(1, &history.Row{Night: "2026-11-02", ID: []byte("a"), FirstSeen: "2026-11-01", Reason: "r"})
	found.Add(1, &history.Row{Night: "2026-11-02", ID: []byte("b"), FirstSeen: "2026-11-02", Cluster: []byte("c"), Distance: 2, Similarity: 0.5})
	found.Pass(7)
	path := filepath.Join(f.TempDir(), "part")
	if err := writePart(path, found); err != nil {
		f.Fatal(err)
	}
	got := newFound(4)
	if n, err := readPart(path, got); err != nil || n != 7 || got.Documents() != 7 || got.FirstSeen(2) != "2026-11-01" || got.FirstSeen(1) != "" {
		f.Fatalf("%d, %v", n, err)
	}
	a, _ := found.Gathered(1)
	if g, ok := got.Gathered(1); !ok || fmt.Sprint(a) != fmt.Sprint(g) {
		f.Fatalf("got %v, want %v", g, a)
	}
	if _, err := readPart(path, newFound(1)); !errors.Is(err, state.ErrDamaged) {
		f.Errorf("a unit that is not there: %v", err)
	}
	if _, err := readPart(path, history.New(2, 4, "")); !errors.Is(err, state.ErrDamaged) {
		f.Errorf("a row that is not there: %v", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 4
		for _, b := range [][]byte{whole[:i], changed} {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				f.Fatal(err)
			}
			if _, err := readPart(path, newFound(4)); !errors.Is(err, state.ErrDamaged) {
				f.Errorf("%x was taken: %v", b, err)
			}
		}
	}
	f.Add(whole[len(kindPart)+1 : len(whole)-8])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "part")
		if err := state.Write(path, kindPart, body); err != nil {
			t.Fatal(err)
		}
		if _, err := readPart(path, newFound(4)); err != nil && !errors.Is(err, state.ErrDamaged) {
			t.Error(err)
		}
	})
}
