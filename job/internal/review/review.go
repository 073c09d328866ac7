// Package review has people judge a finished run. It draws pairs to read, in
// strata: what the run takes for the same, by reason and near its limit, and
// what a wider search finds beyond. It shows them on a page or a terminal, and
// makes of the readers' verdicts what the run is worth: precision and recall
// with their intervals, and the limits that the verdicts ask for. It never
// changes a table of the run, and verdicts stay in the readers' own files.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/version"
)

// Kinds of strata. Those of StratumReason have the run's verdict behind it.
const (
	StratumNear      = "near"      // taken for the same, just within the limit
	StratumShort     = "short"     // short texts taken for the same
	StratumReason    = "reason: "  // taken for the same, by the run's verdict
	StratumContained = "contained" // the one is said to contain the other
	StratumHistory   = "history"   // the other document is of an earlier night
	StratumChain     = "chain"     // left out for a document that it is no pair with
	StratumBelow     = "below"     // not taken for the same, just beyond the limit
	StratumWide      = "wide"      // not taken for the same, further beyond it
)

// Stratum is a kind of pairs.
type Stratum struct {
	Name  string `json:"name"`
	Round int    `json:"round"` // 1: of what the run found; 2: of what a wider search finds beyond
	Pairs int64  `json:"pairs"` // that there are
	Drawn int    `json:"drawn"`
}

// claims reports whether the run says of the stratum's pairs that they are the
// same.
func (s *Stratum) claims() bool {
	return s.Round == 1 && s.Name != StratumContained && s.Name != StratumChain
}

// Pair is a pair that was drawn, with what the run knows of it.
type Pair struct {
	A           string   `json:"a"` // ids; of an earlier night's document the night, "/", its id
	B           string   `json:"b"`
	RowA        int64    `json:"a_row"` // as in the tables
	RowB        int64    `json:"b_row"` // data.NoRow: of an earlier night
	Night       string   `json:"b_night,omitempty"`
	ID          string   `json:"b_id,omitempty"` // of B in that night
	Stratum     string   `json:"stratum"`
	Verdict     string   `json:"verdict,omitempty"` // the run's, or of the wider search
	Distance    int32    `json:"distance"`
	Estimate    *float64 `json:"estimate,omitempty"`
	Jaccard     *float64 `json:"jaccard,omitempty"`
	Containment *float64 `json:"containment,omitempty"`
	Length      int32    `json:"length"` // characters of the shorter document
}

// figure is how alike the texts are, as exactly as it is known; NaN if it is
// not.
func (p *Pair) figure() float64 {
	switch {
	case p.Jaccard != nil:
		return *p.Jaccard
	case p.Estimate != nil:
		return *p.Estimate
	}
	return math.NaN()
}

// Draw is the pairs that were drawn of a run, in the order in which they are
// read: one that does not tell a pair's stratum.
type Draw struct {
	Run      string    `json:"run"`
	Version  string    `json:"version"`
	Drawn    time.Time `json:"drawn"`
	Count    int       `json:"count"` // that was asked for
	Seed     uint64    `json:"seed"`
	AllPairs bool      `json:"all_pairs"` // of all pairs of the run; else of each document's best match
	Widened  string    `json:"widened"`   // how the wider search differs; empty: there was none
	Strata   []Stratum `json:"strata"`
	Pairs    []Pair    `json:"pairs"`
}

// Options of a draw.
type Options struct {
	Count   int    // pairs to draw
	Seed    uint64 // the same draws the same
	Workers int    // goroutines; 0: all cores
	Narrow  bool   // without the second round, which matches the run again
	Pass    parallel.Pass
}

// How far from its limit a pair is near it, and how much wider the second round
// searches.
const (
	nearLimit     = 0.1
	widerLimit    = 0.2
	widerDistance = 3
	secondRound   = 0.4 // share of the pairs
)

// New draws pairs of the finished run in directory path.
func New(ctx context.Context, path string, o Options) (_ *Draw, err error) {
	manifest, cfg, err := runs.Settings(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(path, rundir.SuccessFile)); err != nil {
		return nil, fmt.Errorf("%s is not finished: the command that began it goes on with it, `neardup status` says how far it is", path)
	}
	d := &drawer{
		path: path, config: cfg, most: o.Count, rng: rand.New(rand.NewPCG(o.Seed, 0x726576696577)), strata: map[string]*sampled{},
		draw: &Draw{Run: path, Version: version.Version, Drawn: time.Now().UTC().Truncate(time.Second), Count: o.Count, Seed: o.Seed, AllPairs: cfg.Match.AllPairs},
	}
	if err := d.learn(ctx, len(manifest.Splits), o.Pass.Begin(int64(len(manifest.Splits)), "splits")); err != nil {
		return nil, err
	}
	wide := ""
	if !o.Narrow {
		if wide, err = os.MkdirTemp("", "neardup-review-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(wide)) }()
		if err := d.widen(ctx, wide, o); err != nil {
			return nil, fmt.Errorf("the wider search: %w", err)
		}
	}
	if err := d.pairs(ctx, wide); err != nil {
		return nil, err
	}
	if err := d.chains(ctx); err != nil {
		return nil, err
	}
	d.choose()
	return d.draw, nil
}

// drawer draws.
type drawer struct {
	path   string
	config config.Config
	most   int
	rng    *rand.Rand
	draw   *Draw
	strata map[string]*sampled

	lengths  [][]int32       // of each part's documents
	copies   map[int64]int32 // of documents that have copies, by row: a number for these
	distance int             // of the wider search
	best     map[int64]int64 // matches by row, of a run that has not all pairs
}

// sampled is a stratum and a sample of its pairs, each as likely to be in it.
type sampled struct {
	Stratum
	have []Pair
}

// table is a stream of the rows of a table, over its parts.
type table[R any] struct {
	parts []string
	of    *data.Table[R]
	o     parquet.ReadOptions
	in    *parquet.TableReader[R]
	row   R
	ended bool
}

func openTable[R any](dir, name string, of *data.Table[R], columns ...string) (*table[R], error) {
	parts, err := rundir.Parts(dir, name)
	return &table[R]{parts: parts, of: of, o: parquet.ReadOptions{Columns: columns}}, err
}

// next goes to the next row, in row; ended is true behind the last.
func (t *table[R]) next(ctx context.Context) (err error) {
	for !t.ended {
		if t.in == nil {
			if len(t.parts) == 0 {
				t.ended = true
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if t.in, err = parquet.OpenTable(t.parts[0], t.of, t.o); err != nil {
				return err
			}
			t.parts = t.parts[1:]
		}
		switch err := t.in.Read(&t.row); {
		case err == nil:
			return nil
		case !errors.Is(err, io.EOF):
			return err
		}
		if err := t.close(); err != nil {
			return err
		}
	}
	return nil
}

func (t *table[R]) close() error {
	if t.in == nil {
		return nil
	}
	in := t.in
	t.in = nil
	return in.Close()
}

// each calls yield with every row.
func (t *table[R]) each(ctx context.Context, yield func(*R)) (err error) {
	defer func() { err = errors.Join(err, t.close()) }()
	for err = t.next(ctx); err == nil && !t.ended; err = t.next(ctx) {
		yield(&t.row)
	}
	return err
}

// learn reads what the strata go by: lengths, and who is whose copy.
func (d *drawer) learn(ctx context.Context, parts int, advance func(int64)) error {
	for task := range parts {
		var lengths []int32
		columns := parquet.ReadOptions{Columns: []string{"length"}}
		err := parquet.ReadFingerprints(ctx, filepath.Join(d.path, rundir.Fingerprints, rundir.PartName(task, ".parquet")), columns, func(r *data.FingerprintRow) error {
			lengths = append(lengths, r.Length)
			return nil
		})
		if err != nil {
			return err
		}
		d.lengths = append(d.lengths, lengths)
		advance(1)
	}
	clusters, err := openTable(d.path, rundir.Clusters, &data.Clusters, "component_id", "row")
	if err != nil {
		return err
	}
	d.copies = map[int64]int32{}
	numbers := map[string]int32{}
	err = clusters.each(ctx, func(r *data.ClusterRow) {
		if len(r.Component) == 0 {
			return
		}
		n, had := numbers[string(r.Component)]
		if !had {
			n = int32(len(numbers))
			numbers[string(r.Component)] = n
		}
		d.copies[r.Row] = n
	})
	if err != nil || d.draw.AllPairs {
		return err
	}
	d.best, err = bestOf(ctx, d.path)
	return err
}

// bestOf reads each document's best match within the run.
func bestOf(ctx context.Context, dir string) (map[int64]int64, error) {
	best := map[int64]int64{}
	matches, err := openTable(dir, rundir.Matches, &data.Matches, "row", "match_row")
	if err != nil {
		return nil, err
	}
	return best, matches.each(ctx, func(m *data.MatchRow) {
		if m.MatchRow != data.NoRow {
			best[m.Row] = m.MatchRow
		}
	})
}

// place is where a document stands, by its row in the tables.
func place(row int64) (part int, at int64) {
	const partRows = 10_000_000_000 // as data.RowNumber has it
	return int(row / partRows), row % partRows
}

// length is that of a document; 0 where the run does not have it.
func (d *drawer) length(row int64) int32 {
	part, at := place(row)
	if row < 0 || part >= len(d.lengths) || at >= int64(len(d.lengths[part])) {
		return 0
	}
	return d.lengths[part][at]
}

// widen matches the run's fingerprints once more, into dir, with lower limits
// and a larger distance, as far as sketches can tell.
func (d *drawer) widen(ctx context.Context, dir string, o Options) error {
	cfg, err := method.MatchConfig([]string{d.path}, d.config)
	if err != nil {
		return err
	}
	m := &cfg.Match
	m.AllPairs, m.Containment, m.Border = d.config.Match.AllPairs, 0, 0
	cfg.Library, cfg.Output.Clean, cfg.Execution.Engine, cfg.Execution.Workers = config.Library{}, false, config.EngineLocal, o.Workers
	m.Distance = max(m.Distance, min(m.Distance+widerDistance, 2*widerDistance))
	d.draw.Widened = fmt.Sprintf("match.distance %d", m.Distance)
	if m.Verify == config.VerifyLength {
		m.Verify = config.VerifyNone
	}
	if m.Sketched() {
		m.Verify = config.VerifySketch
		m.LimitLong, m.LimitShort = max(0.1, m.LimitLong-widerLimit), max(0.1, m.LimitShort-widerLimit)
		d.draw.Widened += fmt.Sprintf(", match.limit_long %.2f, match.limit_short %.2f", m.LimitLong, m.LimitShort)
	}
	d.distance = m.Distance
	request := job.Request{Command: job.CommandMatch, Inputs: []string{d.path}, Out: dir, Config: cfg, Engine: local.New(o.Workers)}
	request.Progress = func(string) (func(int64, string) func(int64), func()) { return o.Pass.Begin, func() {} }
	_, err = job.Run(ctx, request)
	return err
}

// pairs goes through the pairs of the run and, unless wide is empty, those of
// the wider search, side by side: both are in the order of their rows.
func (d *drawer) pairs(ctx context.Context, wide string) (err error) {
	name := rundir.Matches
	if d.draw.AllPairs {
		name = rundir.Pairs
	}
	ours, err := openTable(d.path, name, &data.Matches)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	at, partners := int64(-1), []int64{}
	upTo := func(row int64) error {
		for !ours.ended && ours.row.Row <= row {
			m := &ours.row
			if m.Row != at {
				at, partners = m.Row, partners[:0]
			}
			partners = append(partners, m.MatchRow)
			if !again(d.best, m) {
				d.take(d.claimed(m), 1, m)
			}
			if err := ours.next(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	if err := ours.next(ctx); err != nil {
		return err
	}
	if d.draw.AllPairs { // which has those of this run alone
		if err := d.history(ctx); err != nil {
			return err
		}
	}
	if wide == "" {
		return upTo(math.MaxInt64)
	}
	var best map[int64]int64
	if !d.draw.AllPairs {
		if best, err = bestOf(ctx, wide); err != nil {
			return err
		}
	}
	wider, err := openTable(wide, name, &data.Matches)
	if err != nil {
		return err
	}
	err = wider.each(ctx, func(m *data.MatchRow) {
		if err == nil {
			err = upTo(m.Row)
		}
		if err != nil || again(best, m) || d.together(m.Row, m.MatchRow) || at == m.Row && slices.Contains(partners, m.MatchRow) {
			return
		}
		d.take(d.refused(m), 2, m)
	})
	return errors.Join(err, upTo(math.MaxInt64))
}

// again reports whether a best match was counted as that of its other document.
func again(best map[int64]int64, m *data.MatchRow) bool {
	other, had := best[m.MatchRow]
	return had && other == m.Row && m.MatchRow < m.Row
}

// together reports whether the run takes two documents for the same in effect:
// they are copies of one another, or one is the other's best match.
func (d *drawer) together(a, b int64) bool {
	x, inA := d.copies[a]
	y, inB := d.copies[b]
	if inA && inB && x == y {
		return true
	}
	of, had := d.best[b]
	return had && of == a
}

// earlier takes the matches of earlier nights.
func (d *drawer) history(ctx context.Context) error {
	matches, err := openTable(d.path, rundir.Matches, &data.Matches)
	if err != nil {
		return err
	}
	return matches.each(ctx, func(m *data.MatchRow) {
		if m.MatchRow == data.NoRow {
			d.take(StratumHistory, 1, m)
		}
	})
}

// fromRun is the match_from of a document of the run itself.
const fromRun = "run"

// claimed is the stratum of a pair that the run reports.
func (d *drawer) claimed(m *data.MatchRow) string {
	switch {
	case m.MatchFrom != fromRun && m.MatchFrom != "":
		return StratumHistory
	case m.Verdict == data.Contains.String() || m.Verdict == data.Contained.String():
		return StratumContained
	case m.Verdict == data.ByEquality.String() || m.Verdict == data.ByEdits.String():
		return StratumShort
	}
	rules, shorter := d.config.Match.Rules(), min(d.length(m.Row), d.length(m.MatchRow))
	switch {
	case !d.config.Match.Sketched():
		if m.Distance > 0 && int(m.Distance) == d.config.Match.Distance {
			return StratumNear
		}
	case m.Verdict == data.BySketches.String() || m.Verdict == data.BySignatures.String() || m.Verdict == data.ByTexts.String():
		if figureOf(m)-rules.Limit(int(shorter)) < nearLimit {
			return StratumNear
		}
	}
	return StratumReason + m.Verdict
}

// refused is the stratum of a pair that the wider search has and the run does
// not.
func (d *drawer) refused(m *data.MatchRow) string {
	limit := d.config.Match.Rules().Limit(int(min(d.length(m.Row), d.length(m.MatchRow))))
	if d.config.Match.Sketched() && figureOf(m) >= limit-nearLimit || !d.config.Match.Sketched() && int(m.Distance) == d.config.Match.Distance+1 {
		return StratumBelow
	}
	return StratumWide
}

func figureOf(m *data.MatchRow) float64 {
	if math.IsNaN(m.Jaccard) {
		return m.Estimate
	}
	return m.Jaccard
}

// known is a figure that may be none.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// take counts a pair of a stratum, and may take it into the sample.
func (d *drawer) take(name string, round int, m *data.MatchRow) {
	d.sample(name, round, func() Pair {
		p := Pair{
			A: string(m.DocID), B: string(m.MatchID), RowA: m.Row, RowB: m.MatchRow, Stratum: name, Verdict: m.Verdict, Distance: m.Distance,
			Estimate: known(m.Estimate), Jaccard: known(m.Jaccard), Containment: known(m.Containment), Length: min(d.length(m.Row), d.length(m.MatchRow)),
		}
		if m.MatchRow == data.NoRow {
			p.Length, p.Night, p.ID = d.length(m.Row), m.MatchFrom, string(m.MatchID)
			p.B = m.MatchFrom + "/" + p.ID
		}
		return p
	})
}

// sample keeps every pair of a stratum with the same probability (Vitter:
// Random Sampling with a Reservoir, 1985, algorithm R).
func (d *drawer) sample(name string, round int, pair func() Pair) {
	s := d.strata[name]
	if s == nil {
		s = &sampled{Stratum: Stratum{Name: name, Round: round}}
		d.strata[name] = s
	}
	s.Pairs++
	if len(s.have) < d.most {
		s.have = append(s.have, pair())
	} else if at := d.rng.Int64N(s.Pairs); at < int64(d.most) {
		s.have[at] = pair()
	}
}

// chains takes what the clean dump leaves out for a document that it is no pair
// with.
func (d *drawer) chains(ctx context.Context) error {
	if !d.config.Output.Clean {
		return nil
	}
	removed, err := openTable(d.path, rundir.Removed, &data.Removed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return removed.each(ctx, func(r *data.RemovedRow) {
		if r.KeptRow == data.NoRow || !math.IsNaN(r.Similarity) || r.KeptRow == r.Row {
			return
		}
		d.sample(StratumChain, 1, func() Pair {
			return Pair{A: string(r.DocID), B: string(r.KeptID), RowA: r.Row, RowB: r.KeptRow, Stratum: StratumChain, Distance: -1, Containment: known(r.Containment), Length: min(d.length(r.Row), d.length(r.KeptRow))}
		})
	})
}

// order is that of strata in a table.
func order(s *Stratum) int {
	if at := slices.Index([]string{StratumNear, StratumShort, StratumReason, StratumContained, StratumHistory, StratumChain, StratumBelow, StratumWide}, s.Name); at >= 0 {
		return at
	}
	return 2
}

func compareStrata(a, b *Stratum) int {
	return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(order(a), order(b)), cmp.Compare(a.Name, b.Name))
}

// choose deals the pairs to the rounds and, evenly, to their strata, and mixes
// them.
func (d *drawer) choose() {
	var rounds [2][]*sampled
	for _, s := range d.strata {
		rounds[s.Round-1] = append(rounds[s.Round-1], s)
	}
	left := d.most
	for i, share := range []float64{secondRound, 1} { // the second round first: what it leaves, the first may have
		round := rounds[1-i]
		slices.SortFunc(round, func(a, b *sampled) int {
			return compareStrata(&a.Stratum, &b.Stratum)
		})
		left -= deal(round, int(math.Round(share*float64(left))))
	}
	deal(rounds[1], left) // and what the first leaves, the second
	for _, s := range slices.Concat(rounds[0], rounds[1]) {
		d.rng.Shuffle(len(s.have), func(i, j int) { s.have[i], s.have[j] = s.have[j], s.have[i] })
		d.draw.Pairs = append(d.draw.Pairs, s.have[:s.Drawn]...)
		d.draw.Strata = append(d.draw.Strata, s.Stratum)
	}
	d.draw.Pairs = distinct(d.draw)
	d.rng.Shuffle(len(d.draw.Pairs), func(i, j int) { d.draw.Pairs[i], d.draw.Pairs[j] = d.draw.Pairs[j], d.draw.Pairs[i] })
}

// deal gives strata up to n more pairs, as evenly as they have them.
func deal(strata []*sampled, n int) (dealt int) {
	for more := true; more && dealt < n; {
		more = false
		for _, s := range strata {
			if dealt < n && s.Drawn < len(s.have) {
				s.Drawn++
				dealt++
				more = true
			}
		}
	}
	return dealt
}

// distinct leaves out pairs of the same ids as another one: a reader could not
// tell them apart, nor could a file of verdicts.
func distinct(d *Draw) []Pair {
	seen := map[[2]string]bool{}
	return slices.DeleteFunc(d.Pairs, func(p Pair) bool {
		k := [2]string{min(p.A, p.B), max(p.A, p.B)}
		if !seen[k] && p.A != p.B {
			seen[k] = true
			return false
		}
		d.Strata[slices.IndexFunc(d.Strata, func(s Stratum) bool { return s.Name == p.Stratum })].Drawn--
		return true
	})
}
