package local

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/shuffle"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/reducer"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/columns"
	"github.com/neardup/neardup/simhash/sketch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A way finds the pairs, in any order.
type way struct {
	name string
	find func(t fataler, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) []data.Pair
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// ways are all ways: in memory, by the disk under that many bytes, and as a
// cluster does.
func ways(caps ...string) []way {
	ways := []way{inMemoryOn(1), inMemoryOn(2), inMemoryOn(7)}
	for i, limit := range caps {
		ways = append(ways, byDisk([]int{1, 2, 7}[i%3], limit))
	}
	return append(ways, shuffled(1, 1), shuffled(3, 5))
}

func inMemoryOn(workers int) way {
	return way{fmt.Sprintf("in memory on %d", workers), func(t fataler, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) []data.Pair {
		cfg.Execution.Memory = "1GiB"
		return matched(t, workers, dir, cfg, documents)
	}}
}

func byDisk(workers int, limit string) way {
	return way{fmt.Sprintf("by the disk on %d under %s", workers, limit), func(t fataler, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) []data.Pair {
		cfg.Execution.Memory = limit
		return matched(t, workers, dir, cfg, documents)
	}}
}

func matched(t fataler, workers int, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) (pairs []data.Pair) {
	t.Helper()
	var mu sync.Mutex
	err := New(workers).Match(context.Background(), newJob(cfg, dir), documents, func(batch []data.Pair) error {
		mu.Lock()
		defer mu.Unlock()
		pairs = append(pairs, batch...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

func newJob(cfg config.Config, dir *rundir.Dir) *engine.Job {
	return &engine.Job{Config: cfg, Dir: dir, Log: slog.New(slog.DiscardHandler)}
}

// shuffled is the pipeline that a cluster runs: postings, partial reduces by salt
// and shard, final reduces by shard, comparison and verdict.
func shuffled(salts, shards int) way {
	return way{fmt.Sprintf("shuffled over %d salts and %d shards", salts, shards), func(t fataler, dir *rundir.Dir, cfg config.Config, documents *corpus.Documents) []data.Pair {
		t.Helper()
		if cfg.Features.Bits > 64 {
			return shuffledOver[columns.Uint128](t, cfg, documents, salts, shards)
		}
		return shuffledOver[uint64](t, cfg, documents, salts, shards)
	}}
}

func shuffledOver[F columns.Fingerprint](t fataler, cfg config.Config, documents *corpus.Documents, salts, shards int) (pairs []data.Pair) {
	t.Helper()
	rule := method.Rule(cfg.Match)
	tiers := rule.Tiers()
	sizes, err := documents.Sizes(context.Background(), tiers, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := tiers.Choose(cfg.Features.Bits, sizes); err != nil {
		t.Fatal(err)
	}
	keys := mapper.NewKeyEmitter(tiers, rule)
	came := make([][]reducer.Postings[F], shards*salts) // by partition, by table
	for i := range came {
		came[i] = make([]reducer.Postings[F], keys.Tables())
	}
	err = documents.Each(context.Background(), 0, documents.Len(), views.Reading(keys.Reads()), func(doc uint64, r *views.Row) error {
		return keys.Postings(0, keys.Tables(), &r.View, doc, func(p data.Posting) error {
			at := mapper.Shard(p.Key, shards)*salts + mapper.Salt(p.Hi, p.Lo, salts)
			key := simhash.Key(p.Key)
			packed := keys.Pack(key, simhash.Fingerprint{Hi: p.Hi, Lo: p.Lo})
			came[at][key.Table()].Add(columns.Of[F](packed.Hi, packed.Lo), p.Doc)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	reader := documents.Reader()
	defer reader.Close()
	counts := shuffle.NewCounts(tiers, rule)
	compare := &shuffle.Batch{Rule: rule, Documents: documents.Len(), View: reader.View, Counts: counts[tiers.Tables():], Most: 100 * shards, Emit: func(p data.Pair) error {
		pairs = append(pairs, p)
		return nil
	}}
	final := shuffle.NewFinal[F](tiers, compare)
	for shard := range shards {
		for table := range keys.Tables() {
			var postings reducer.Postings[F]
			for salt := range salts {
				lists, err := reducer.Partial(&came[shard*salts+salt][table], columns.Width[F](), 1)
				if err != nil {
					t.Fatal(err)
				}
				for i, value := range lists.Values() {
					postings.Add(value, lists.Documents(nil, i)...)
				}
			}
			if err := final.Table(context.Background(), table, &postings, counts[table]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := compare.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, c := range counts[tiers.Tables():] {
		if c.Pairs > c.Candidates || c.Pairs > int64(len(pairs)) {
			t.Fatalf("table %s: %d pairs of %d candidates, %d in all", c.Table, c.Pairs, c.Candidates, len(pairs))
		}
	}
	return pairs
}

// longText is a short text that is not of few letters.
var longText = strings.Repeat("of texts that few edits part some are longer than others", 3)[:140]

// bruteForce compares all documents with all by the rule, but for those that an
// earlier one stands for.
func bruteForce(all []data.View, rule mapper.Rule) (pairs []data.Pair) {
	verify := mapper.NewVerifier(rule)
	takesPart := func(v *data.View) bool { return v.Normal || rule.Verified && v.Sketch != [data.SketchSize]byte{} }
	equal := func(a, b *data.View) bool {
		if !rule.Verified {
			return a.Hi == b.Hi && a.Lo == b.Lo
		}
		return a.Equal(b) && (!rule.Estimates() || a.Sketch != [data.SketchSize]byte{} || len(a.Letters) > 0)
	}
	var units []int
	for i := range all {
		if takesPart(&all[i]) && !slices.ContainsFunc(units, func(u int) bool { return equal(&all[u], &all[i]) }) {
			units = append(units, i)
		}
	}
	for i, a := range units {
		for _, b := range units[i+1:] {
			if !rule.Candidate(&all[a], &all[b]) {
				continue
			}
			if e := verify.Judge(&all[a], &all[b]); e.Reason != data.NotTheSame {
				pairs = append(pairs, data.Pair{A: uint64(a), B: uint64(b), Distance: uint8(mapper.Distance(&all[a], &all[b])), Evidence: e})
			}
		}
	}
	return pairs
}

func comparePairs(a, b data.Pair) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// difference says what only one of two lists has, or what one has twice, but for
// pairs whose texts decide.
func difference(got, want []data.Pair) string {
	count := map[data.Pair]int{}
	for _, p := range got {
		if count[p]++; p.Evidence.Reason == data.Undecided {
			count[p] = 1
		}
	}
	for _, p := range want {
		count[p]--
	}
	text, n := "", 0
	for p, c := range count {
		if c == 0 {
			continue
		}
		if n++; n <= 5 {
			text += fmt.Sprintf("%+v came %+d times too often; ", p, c)
		}
	}
	if n > 0 {
		text += fmt.Sprintf("%d differ in all", n)
	}
	return text
}

func openRun(t testing.TB) *rundir.Dir {
	t.Helper()
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		left, err := os.ReadDir(dir.Path(rundir.Scratch))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func written(t fataler, dir *rundir.Dir, cfg config.Config, splits int, documents []data.View) *corpus.Documents {
	t.Helper()
	d, err := plantedtest.Write(dir, cfg, splits, documents)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// drawConfig draws what decides on the pairs.
func drawConfig(t *rapid.T) config.Config {
	cfg := config.Default()
	cfg.Features.Bits = rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
	m := &cfg.Match
	m.Distance = rapid.IntRange(0, 8).Draw(t, "k")
	m.Verify = rapid.SampledFrom([]string{config.VerifyNone, config.VerifySketch, config.VerifyTexts, config.VerifySketch, config.VerifyLength}).Draw(t, "verify")
	m.Bands, m.ShortTexts = rapid.IntRange(0, 3).Draw(t, "bands") > 0, rapid.IntRange(0, 3).Draw(t, "short texts") > 0
	if m.Verify == config.VerifyLength { // as the preset piecewise
		m.Distance, m.Bands, m.ShortTexts = m.Distance+3, false, false
	}
	m.Containment = 0
	if m.Sketched() {
		m.Containment = rapid.SampledFrom([]float64{0, 0.8}).Draw(t, "containment")
	}
	m.Border = 0
	if m.Verify == config.VerifyTexts {
		m.Border = 0.1
	}
	return cfg
}

// drawDocuments draws random, near, equal and skewed documents: copies of a few
// values with some bits flipped, of few bands, sketches and short texts.
func drawDocuments(t *rapid.T, cfg config.Config) []data.View {
	bits := cfg.Features.Bits
	one := rapid.Custom(func(t *rapid.T) data.View {
		v := data.View{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo"), Normal: rapid.IntRange(0, 5).Draw(t, "length_class") > 0}
		if rapid.IntRange(0, 4).Draw(t, "kind") > 0 {
			v.Hi, v.Lo = 0, rapid.SampledFrom([]uint64{0, 0xffff, 0x123456789abcdef0}).Draw(t, "base")
			for range rapid.IntRange(0, 6).Draw(t, "flips") {
				if b := rapid.IntRange(0, bits-1).Draw(t, "bit"); b < 64 {
					v.Lo ^= 1 << b
				} else {
					v.Hi ^= 1 << (b - 64)
				}
			}
		}
		switch bits {
		case 32:
			v.Hi, v.Lo = 0, v.Lo&(1<<32-1)
		case 64:
			v.Hi = 0
		}
		if !cfg.Match.Verified() {
			return v
		}
		v.Length = rapid.SampledFrom([]uint32{50, 1000, 200, 499, 500}).Draw(t, "length")
		if rapid.IntRange(0, 9).Draw(t, "empty") > 0 {
			v.Sketch[39] = 1
			for i := range rapid.IntRange(0, 30).Draw(t, "unlike") {
				v.Sketch[i] = 0xff
			}
			for b := range sketch.Bands {
				v.Sketch[40+3*b] = byte(rapid.IntRange(0, 3).Draw(t, "band"))
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "short") == 0 {
			v.Letters = []byte(rapid.SampledFrom([]string{"新闻头条今天", "新闻头条明天", "新闻头条今天早上好", "第1页第2页第3页", "第1页第2页第4页", "ab",
				longText, longText[:90] + "x" + longText[91:], longText[5:], "x" + longText[1:10] + longText[11:], longText[100:]}).Draw(t, "letters"))
		}
		if cfg.Match.Containment > 0 && (len(v.Letters) == 0 || !sketch.Few(v.Letters)) {
			key := uint32(0)
			for range rapid.IntRange(0, 5).Draw(t, "keys") {
				key += 1 << rapid.IntRange(18, 27).Draw(t, "next key")
				v.Sample = binary.LittleEndian.AppendUint32(v.Sample, key)
			}
		}
		return v
	})
	documents := rapid.SliceOfN(one, 0, 40).Draw(t, "documents")
	for n := len(documents); n > 0 && len(documents) < n+n/3; {
		documents = append(documents, documents[rapid.IntRange(0, n-1).Draw(t, "copied")])
	}
	return rapid.Permutation(documents).Draw(t, "order")
}

// Every way finds the pairs of mapper.Rule and the verifier, each once, and
// leaves nothing behind.
func TestEveryWayEqualsBruteForce(t *testing.T) {
	dir := openRun(t)
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		documents := drawDocuments(t, cfg)
		d := written(t, dir, cfg, rapid.IntRange(1, 4).Draw(t, "splits"), documents)
		want := bruteForce(documents, method.Rule(cfg.Match))
		for _, w := range ways("97", "500", "2000") {
			if wrong := difference(w.find(t, dir, cfg, d), want); wrong != "" {
				t.Fatalf("%s: %s", w.name, wrong)
			}
		}
	})
}

// sized is how many documents a large set has: in the short form, with which the
// race detector runs, a quarter.
func sized(documents int) int {
	if testing.Short() {
		return documents / 4
	}
	return documents
}

// So it is with enough documents for every path of several workers.
func TestManyDocumentsEveryWay(t *testing.T) {
	n := sized(3000)
	for _, bits := range []int{64, 128} {
		cfg := config.Default()
		cfg.Features.Bits, cfg.Match.Containment = bits, 0.8
		documents := plantedtest.Views(n, bits)
		dir := openRun(t)
		d := written(t, dir, cfg, 3, documents)
		want := bruteForce(documents, method.Rule(cfg.Match))
		if len(want) < n/3 {
			t.Fatalf("%d pairs: the test shows nothing", len(want))
		}
		for _, w := range ways("30KiB", "100KiB") {
			if wrong := difference(w.find(t, dir, cfg, d), want); wrong != "" {
				t.Errorf("%d bits, %s: %s", bits, w.name, wrong)
			}
		}
	}
}

// With a limit by length short texts have tables of their own, and each way finds
// what both tiers together have to.
func TestLengthsEveryWay(t *testing.T) {
	n := sized(4000)
	for _, bits := range []int{64, 128} {
		cfg, err := config.Default().WithPreset(config.PresetPiecewise)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Features.Bits = bits
		documents, rule := plantedtest.Lengths(n, bits), method.Rule(cfg.Match)
		dir := openRun(t)
		d := written(t, dir, cfg, 3, documents)
		want := bruteForce(documents, rule)
		far := 0 // pairs of the second tier
		for _, p := range want {
			if int(p.Distance) > sketch.PieceLong {
				far++
			}
		}
		if far < n/30 || len(want)-far < n/30 {
			t.Fatalf("%d pairs, %d of them far: the test shows nothing", len(want), far)
		}
		for _, w := range ways("30KiB", "100KiB") {
			if wrong := difference(w.find(t, dir, cfg, d), want); wrong != "" {
				t.Errorf("%d bits, %s: %s", bits, w.name, wrong)
			}
		}
		sizes, err := d.Sizes(t.Context(), rule.Tiers(), 3)
		if err != nil {
			t.Fatal(err)
		}
		short := uint64(0)
		for i := range documents {
			if documents[i].Length < sketch.PiecesFrom && !d.Excluded(uint64(i)) {
				short++
			}
		}
		if !slices.Equal(sizes, []uint64{uint64(n), short}) || short > uint64(n)*3/4 {
			t.Errorf("tiers of %d documents, want %d and %d", sizes, n, short)
		}
	}
}

// Beyond the bounds on hot keys not all pairs are found, but every way finds
// the same.
func TestHotKeysAreTheSameEveryWay(t *testing.T) {
	cfg := config.Default()
	cfg.Match.Containment = 0.8
	documents := plantedtest.Hot()
	dir := openRun(t)
	d := written(t, dir, cfg, 2, documents)
	var all []data.Pair // in the short form it is not asked which are missed
	if !testing.Short() {
		all = bruteForce(documents, method.Rule(cfg.Match))
	}
	var want []data.Pair
	limits := []string{"20KiB", "50KiB", "100KiB"}
	if testing.Short() {
		limits = limits[:1]
	}
	for _, w := range ways(limits...) {
		got := w.find(t, dir, cfg, d)
		if want == nil {
			want = got
			if len(want) < 100 {
				t.Errorf("%d pairs are found: the test shows nothing", len(want))
			}
			if all != nil {
				checkFound(t, want, all)
			}
		}
		if wrong := difference(got, want); wrong != "" {
			t.Errorf("%s: %s", w.name, wrong)
		}
	}
}

// checkFound expects some but not all of all pairs.
func checkFound(t *testing.T, some, all []data.Pair) {
	t.Helper()
	if missed := len(all) - len(some); missed < 10 {
		t.Errorf("%d of %d pairs are found: the test shows nothing", len(some), len(all))
	}
	found := map[data.Pair]bool{}
	for _, p := range all {
		found[p] = true
	}
	for _, p := range some {
		if !found[p] {
			t.Fatalf("%+v is no pair", p)
		}
	}
}

// Enough fingerprints for every path of the join in memory, compiled for this
// package: the shuffle and the disk find the same pairs. Several workers deal more
// than 65,536 values.
func TestManyFingerprints(t *testing.T) {
	sizes := map[int]int{64: 75_000, 128: 70_000}
	switch {
	case testing.Short():
		delete(sizes, 128)
	case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
		sizes[64] = 200_000
	}
	for bits, n := range sizes {
		cfg := config.Default()
		cfg.Match.Verify, cfg.Features.Bits = config.VerifyNone, bits
		dir := openRun(t)
		d := written(t, dir, cfg, 5, plantedtest.Prints(n, bits))
		want := inMemoryOn(2).find(t, dir, cfg, d)
		slices.SortFunc(want, comparePairs)
		if len(want) < n/30 || len(slices.Compact(slices.Clone(want))) < len(want) {
			t.Errorf("%d bits: %d pairs", bits, len(want))
		}
		for _, w := range []way{shuffled(3, 2), byDisk(2, "8MiB")} {
			if wrong := difference(w.find(t, dir, cfg, d), want); wrong != "" {
				t.Errorf("%d bits, %s: %s", bits, w.name, wrong)
			}
		}
	}
}

func ExampleEngine_Match() {
	tmp, err := os.MkdirTemp("", "local")
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := rundir.Open(filepath.Join(tmp, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg := config.Default()
	cfg.Match.Verify = config.VerifyNone
	documents, err := plantedtest.Write(dir, cfg, 1, []data.View{{Lo: 0x00ff, Normal: true}, {Lo: 0xff00, Normal: true}, {Lo: 0x00fe, Normal: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = New(1).Match(context.Background(), &engine.Job{Config: cfg, Dir: dir}, documents, func(pairs []data.Pair) error {
		for _, p := range pairs {
			fmt.Println(p.A, p.B, "distance", p.Distance)
		}
		return nil
	})
	fmt.Println(err, dir.Close(), os.RemoveAll(tmp))
	// Output:
	// 0 2 distance 1
	// <nil> <nil> <nil>
}
