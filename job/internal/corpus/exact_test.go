package corpus_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dumped is a document as Deduper sees it.
type dumped struct {
	id      string
	hash    uint64 // of the id; different ids may share it
	deleted bool
	view    data.View
}

// openDumped writes the views of splits and opens them.
func openDumped(t fataler, dir *rundir.Dir, form views.Form, splits [][]dumped) *corpus.Documents {
	t.Helper()
	for task, split := range splits {
		path := corpus.ViewPath(dir, task)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := views.Create(path, form)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range split {
			if err := w.Write(&views.Row{View: d.view, ID: d.hash, Keep: math.NaN()}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	documents, err := corpus.Open(dir, len(splits))
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// ids are the ids of the splits, for Deduper.
func ids(splits [][]dumped) func(context.Context, int, func([]byte) error) error {
	return func(ctx context.Context, split int, yield func([]byte) error) error {
		var b []byte // used again, as a reader of a table does
		for _, d := range splits[split] {
			if b = append(b[:0], d.id...); ctx.Err() != nil {
				return ctx.Err()
			}
			if err := yield(b); err != nil {
				return err
			}
		}
		return nil
	}
}

// find returns what Deduper finds, by document.
func find(ctx context.Context, x *corpus.Deduper) (found []exactdup.Document, err error) {
	var mu sync.Mutex
	err = x.Find(ctx, func(d exactdup.Document) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, d)
		return nil
	})
	slices.SortFunc(found, func(a, b exactdup.Document) int { return cmp.Compare(a.Doc, b.Doc) })
	return found, err
}

// stoodFor is the obvious form of what Deduper finds.
func stoodFor(all []dumped, form views.Form, rule *mapper.Rule) (want []exactdup.Document) {
	first := map[string]uint64{}
	type seen struct {
		view data.View
		doc  uint64
	}
	var units []seen
	for i, d := range all {
		doc := uint64(i)
		if of, ok := first[d.id]; ok {
			want = append(want, exactdup.Document{Doc: doc, Kind: exactdup.DuplicateID, Of: of})
			continue
		}
		first[d.id] = doc
		if d.deleted {
			want = append(want, exactdup.Document{Doc: doc, Kind: exactdup.Deleted})
			continue
		}
		v := d.view
		if !form.Verified {
			v = data.View{Hi: v.Hi, Lo: v.Lo, Normal: v.Normal}
		}
		sketched := v.Sketch != [data.SketchSize]byte{}
		if !v.Normal && !sketched || form.Verified && !sketched && len(v.Letters) == 0 {
			continue // is not matched, or resembles nothing, itself included
		}
		at := slices.IndexFunc(units, func(u seen) bool { return u.view.Equal(&v) })
		if at < 0 {
			units = append(units, seen{v, doc})
			continue
		}
		kind := exactdup.Equal
		switch mapper.NewVerifier(*rule).Judge(&v, &v).Reason {
		case data.ByEquality:
			kind = exactdup.EqualShort
		case data.NotTheSame:
			panic("a document is not the same as itself")
		}
		want = append(want, exactdup.Document{Doc: doc, Kind: kind, Of: units[at].doc})
	}
	return want
}

func drawDumped(t *rapid.T, form views.Form) dumped {
	d := dumped{id: fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "id"))}
	d.hash = uint64(len(d.id)) + uint64(d.id[len(d.id)-1])%3 // six ids or more share one
	d.deleted = strings.HasSuffix(d.id, "7")
	v := &d.view
	v.Lo, v.Normal = rapid.SampledFrom([]uint64{0, 1, 1 << 63, math.MaxUint64}).Draw(t, "lo"), rapid.IntRange(0, 3).Draw(t, "length_class") > 0
	if form.Wide {
		v.Hi = rapid.SampledFrom([]uint64{0, 1, 1 << 63}).Draw(t, "hi")
	}
	v.Length = rapid.Uint32Range(0, 1).Draw(t, "length")
	v.Sketch[rapid.SampledFrom([]int{0, 63}).Draw(t, "bin")] = rapid.ByteRange(0, 1).Draw(t, "sketch")
	v.Letters = []byte(rapid.SampledFrom([]string{"", "", "abc", "abd"}).Draw(t, "letters"))
	return d
}

// Deduper finds what a map does, however much memory it has, and Documents
// leave those documents out.
func TestIdentitiesEqualMap(t *testing.T) {
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		form := views.Form{Wide: rapid.Bool().Draw(t, "wide"), Verified: rapid.Bool().Draw(t, "verified")}
		rule := mapper.Rule{K: 3, Verified: form.Verified, ShortTexts: form.Verified && rapid.Bool().Draw(t, "short texts"), Rules: sketch.Balanced()}
		split := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) dumped { return drawDumped(t, form) }), 0, 30)
		splits := rapid.SliceOfN(split, 1, 4).Draw(t, "splits")
		all := slices.Concat(splits...)
		want := stoodFor(all, form, &rule)
		openDumped(t, dir, form, splits)
		for _, way := range []struct {
			memory  int64
			workers int
		}{{1 << 20, 1}, {1 << 20, 3}, {1000, 3}, {100, 1}} {
			documents, err := corpus.Open(dir, len(splits))
			if err != nil {
				t.Fatal(err)
			}
			x := corpus.Deduper{Documents: documents, Rule: rule, Workers: way.workers, Memory: way.memory, IDs: ids(splits), Deleted: func(id []byte) bool { return bytes.HasSuffix(id, []byte("7")) }}
			passes, told := int64(0), atomic.Int64{}
			x.Pass = func(total int64, unit string) func(int64) {
				if total != int64(len(all)) || unit != "documents" {
					t.Fatalf("a pass over %d %s of %d", total, unit, len(all))
				}
				passes++
				return func(n int64) { told.Add(n) }
			}
			got, err := find(context.Background(), &x)
			if passes < 3 || told.Load() != passes*int64(len(all)) { // ids, deletions, views
				t.Fatalf("%+v: told of %d documents in %d passes over %d", way, told.Load(), passes, len(all))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%+v: got %+v, %v, want %+v", way, got, err, want)
			}
			for i := range all {
				_, excluded := slices.BinarySearchFunc(want, uint64(i), func(d exactdup.Document, doc uint64) int { return cmp.Compare(d.Doc, doc) })
				if documents.Excluded(uint64(i)) != excluded {
					t.Fatalf("document %d is silent: %t", i, !excluded)
				}
			}
		}
	})
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
}

// Errors, of reading ids, of the receiver, of the disk, and the cancellation
// come back, and nothing is left behind.
func TestIdentitiesReturnErrors(t *testing.T) {
	dir := openDir(t)
	splits := make([][]dumped, 3)
	for i := range 300 {
		splits[i/100] = append(splits[i/100], dumped{id: fmt.Sprint(i / 2), hash: uint64(i / 4), view: data.View{Lo: uint64(i / 6), Normal: true}})
	}
	unlike := make([][]dumped, len(splits))
	stop := errors.New("stop")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	shortened := slices.Clone(splits)
	shortened[1] = splits[1][:99]
	for i := range splits { // nothing but the deletions asks for ids
		unlike[i] = slices.Clone(splits[i])
		for j := range unlike[i] {
			unlike[i][j].hash = uint64(100*i + j)
		}
	}
	lengthened := slices.Clone(splits)
	lengthened[2] = append(slices.Clone(splits[2]), splits[0][0])
	emit := func(exactdup.Document) error { return nil }
	deleted := func([]byte) bool { return false }
	for name, c := range map[string]struct {
		ctx    context.Context
		splits [][]dumped
		x      corpus.Deduper
		emit   func(exactdup.Document) error
		want   string
	}{
		"receiver":              {emit: func(exactdup.Document) error { return stop }, want: stop.Error()},
		"receiver of deletions": {x: corpus.Deduper{Deleted: func([]byte) bool { return true }}, emit: func(d exactdup.Document) error { return kindError(d, exactdup.Deleted, stop) }, want: stop.Error()},
		"receiver of equals":    {emit: func(d exactdup.Document) error { return kindError(d, exactdup.Equal, stop) }, want: stop.Error()},
		"ids":                   {x: corpus.Deduper{IDs: func(context.Context, int, func([]byte) error) error { return stop }}, want: stop.Error()},
		"panic":                 {x: corpus.Deduper{IDs: func(context.Context, int, func([]byte) error) error { panic("boom") }}, want: "boom"},
		"cancelled":             {ctx: cancelled, want: context.Canceled.Error()},
		"fewer documents":       {x: corpus.Deduper{IDs: ids(shortened)}, want: "split 1"},
		"more documents":        {x: corpus.Deduper{IDs: ids(lengthened)}, want: "split 2"},
		"more when deleted":     {splits: unlike, x: corpus.Deduper{IDs: ids(lengthened), Deleted: deleted}, want: "split 2"},
	} {
		for _, memory := range []int64{1 << 20, 100} {
			of := splits
			if c.splits != nil {
				of = c.splits
			}
			documents := openDumped(t, dir, views.Form{}, of)
			x := c.x
			x.Documents, x.Workers, x.Memory = documents, 2, memory
			if x.IDs == nil {
				x.IDs = ids(splits)
			}
			ctx, receive := c.ctx, c.emit
			if ctx == nil {
				ctx = context.Background()
			}
			if receive == nil {
				receive = emit
			}
			if err := x.Find(ctx, receive); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %d bytes: got %v, want %q", name, memory, err, c.want)
			}
		}
	}
}

func kindError(d exactdup.Document, kind exactdup.Kind, err error) error {
	if d.Kind == kind {
		return err
	}
	return nil
}

func openDir(t *testing.T) *rundir.Dir {
	t.Helper()
	dir, err := rundir.Open(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// What others stand for is left out once its stage has written it, and a file
// that names documents beyond the last is refused.
func TestOpenReadsIdenticals(t *testing.T) {
	dir := openDir(t)
	splits := make([][]dumped, 2)
	for i := range 6 {
		splits[i/3] = append(splits[i/3], dumped{view: data.View{Lo: uint64(i), Normal: i != 4}})
	}
	for _, c := range []struct {
		gone [][]uint64
		want []uint64
	}{{nil, []uint64{0, 1, 2, 3, 5}}, {[][]uint64{{1, 2}, {5}}, []uint64{0, 3}}, {[][]uint64{{}, {6}}, nil}} {
		openDumped(t, dir, views.Form{}, splits)
		for task, docs := range c.gone {
			path := corpus.ExactPath(dir, task)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			var records []byte
			for _, doc := range docs {
				records = exactdup.Append(records, exactdup.Document{Doc: doc, Kind: exactdup.Deleted})
			}
			if err := state.Write(path, exactdup.FileKind, records); err != nil {
				t.Fatal(err)
			}
		}
		again, err := corpus.Open(dir, len(splits))
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), "document 6 of 6") {
				t.Errorf("got %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []uint64
		err = again.Each(context.Background(), 0, again.Len(), 0, func(doc uint64, _ *views.Row) error { got = append(got, doc); return nil })
		if err := err; err != nil || !slices.Equal(got, c.want) {
			t.Errorf("got %v, %v, want %v", got, err, c.want)
		}
	}
}
