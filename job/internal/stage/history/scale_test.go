package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// syntheticRow is document i of a made-up library.
func syntheticRow(i uint64, sketches bool, row *data.LibraryRow) {
	rng := rand.New(rand.NewPCG(i, 1))
	row.DocID = fmt.Appendf(row.DocID[:0], "https://site-%04d.example/%04x/article-%09d.html", i>>12%5000, i>>6&0xffff, i)
	row.Lo, row.LengthClass, row.Length, row.Site = rng.Uint64(), "normal", int32(200+rng.IntN(4000)), row.DocID[8:25]
	row.Sketch = row.Sketch[:0]
	if sketches {
		for range 8 {
			row.Sketch = binary.LittleEndian.AppendUint64(row.Sketch, rng.Uint64())
		}
	}
	row.Date, row.Language = data.NoDate, "en"
}

// TestLibraryScale measures tonight's documents against a made-up library.
// NEARDUP_LIBRARY_SCALE is the number of its documents, of nights of a million,
// in the folder NEARDUP_LIBRARY_DIR, which is made when it is not there; then
// the test ends, so that the next run measures the memory of the join alone.
// NEARDUP_LIBRARY_TONIGHT is the number of tonight's (a million), and
// NEARDUP_LIBRARY_PRESET how near-duplicates are told (classic).
func TestLibraryScale(t *testing.T) {
	scale, err := strconv.Atoi(os.Getenv("NEARDUP_LIBRARY_SCALE"))
	if err != nil {
		t.Skip("NEARDUP_LIBRARY_SCALE is not set: a measurement, not a test")
	}
	ctx := context.Background()
	dir := os.Getenv("NEARDUP_LIBRARY_DIR")
	preset := config.PresetClassic
	if p := os.Getenv("NEARDUP_LIBRARY_PRESET"); p != "" {
		preset = p
	}
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	const perNight = 1_000_000
	nightOf := func(first int) string {
		return time.Date(2025, 1, 1+first/perNight, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	cfg.Library = config.Library{Path: dir, Night: nightOf(scale)} // a larger library is taken in part
	sketches := cfg.Match.Verified()
	l, err := library.Lock(ctx, dir, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Manifest().Nights) == 0 { // one with sketches serves all presets
		if err := l.Settle(64, map[string]string{"made up": preset}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if have := int(l.Manifest().Rows()); have < scale {
		began := time.Now()
		for first := have; first < scale; first += perNight {
			night := nightOf(first)
			rows := make([]data.LibraryRow, min(perNight, scale-first))
			for i := range rows {
				syntheticRow(uint64(first+i), sketches, &rows[i])
				rows[i].FirstSeen = night
			}
			slices.SortFunc(rows, func(a, b data.LibraryRow) int { return bytes.Compare(a.DocID, b.DocID) })
			_, _, err := l.Add(ctx, night, "", func(yield func(*data.LibraryRow) error) error {
				for i := range rows {
					if err := yield(&rows[i]); err != nil {
						return err
					}
				}
				return nil
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d documents added in %v, %s on disk; run again to measure", scale-have, time.Since(began).Round(time.Second), show.Bytes(l.Manifest().Bytes()))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}

	current := 1_000_000
	if v := os.Getenv("NEARDUP_LIBRARY_TONIGHT"); v != "" {
		if current, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	d, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := &stage.Run{Log: slog.New(slog.DiscardHandler), Config: cfg, Dir: d, Library: l, Workers: 2, Engine: local.New(2)}
	r.Job = &engine.Job{Config: cfg, Dir: d, Splits: make([]data.Split, 1)}
	// Six of ten are new, three come again as they were, one is a copy with up
	// to three bits changed.
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]data.LibraryRow, current)
	ids := map[uint64]bool{}
	for i := range rows {
		kind := rng.IntN(10)
		of := rng.Uint64N(uint64(scale))
		if ids[of] {
			kind = 0
		}
		syntheticRow(of, sketches, &rows[i])
		switch {
		case kind < 6:
			other := rows[i]
			syntheticRow(uint64(1)<<40+uint64(i), sketches, &other)
			rows[i] = other
		case kind < 9:
			ids[of] = true
		default:
			rows[i].DocID = fmt.Appendf(nil, "https://copy.example/%09d", i)
			for range rng.IntN(4) {
				rows[i].Lo ^= 1 << rng.IntN(64)
			}
		}
	}
	slices.SortFunc(rows, func(a, b data.LibraryRow) int { return bytes.Compare(a.DocID, b.DocID) })
	rows = slices.CompactFunc(rows, func(a, b data.LibraryRow) bool { return bytes.Equal(a.DocID, b.DocID) })
	writeNight(t, r.Job, rows)
	clear(rows) // gives the memory of their texts back
	began, cpu := time.Now(), machine.ProcessorTime()
	rec := rundir.TaskRecord{Counts: map[string]int64{}}
	if err := Compare(ctx, r, &rec); err != nil {
		t.Fatal(err)
	}
	took, worked := time.Since(began), machine.ProcessorTime()-cpu
	t.Logf("%d of tonight's against %d of the library: %.1f s by the clock, %.1f s of CPU, %.2f M documents of the library a second of CPU; peak memory %s; %v",
		current, scale, took.Seconds(), worked.Seconds(), float64(scale)/worked.Seconds()/1e6, show.Bytes(machine.PeakMemory()), rec.Counts)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// writeNight writes what the fingerprint stage and the one after it would have
// written of a night's documents.
func writeNight(t *testing.T, j *engine.Job, rows []data.LibraryRow) {
	t.Helper()
	part, err := j.Dir.Part(rundir.Fingerprints, 0, ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	out, err := parquet.Create(part, &data.Fingerprints, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(corpus.ViewPath(j.Dir, 0)), 0o755); err != nil {
		t.Fatal(err)
	}
	seen, err := views.Create(corpus.ViewPath(j.Dir, 0), method.ViewForm(j.Config))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		row := data.EmptyFingerprintRow()
		row.DocID, row.Lo, row.LengthClass, row.Length, row.Sketch, row.Letters = rows[i].DocID, rows[i].Lo, rows[i].LengthClass, rows[i].Length, rows[i].Sketch, rows[i].Letters
		var v views.Row
		mapper.View(&row, &v.View)
		if err := errors.Join(out.Write(&row), seen.Write(&v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(corpus.ExactPath(j.Dir, 0)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(out.Commit(), seen.Commit(), state.Write(corpus.ExactPath(j.Dir, 0), exactdup.FileKind, nil)); err != nil {
		t.Fatal(err)
	}
}
