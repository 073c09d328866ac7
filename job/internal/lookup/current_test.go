package lookup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	store "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// While another process has the library, and so the index cannot be brought up
// to date, what that process deletes, expires or replaces is not answered any
// more, and the rest still is; also when the files that the index is of are
// rewritten.
func TestDeletedWhileLocked(t *testing.T) {
	dir := t.TempDir()
	texts := map[string][]string{}
	for i := range 6 {
		texts[fmt.Sprintf("p%d", i)] = words(uint64(i), 300)
	}
	some := func(names ...string) map[string][]string {
		m := map[string][]string{}
		for _, n := range names {
			m[n] = texts[n]
		}
		return m
	}
	addNight(t, dir, "2026-11-01", config.PresetBalanced, some("p0"))
	addNight(t, dir, "2026-11-02", config.PresetBalanced, some("p1", "p2", "p3", "p4"))
	addNight(t, dir, "2026-11-03", config.PresetBalanced, some("p5"))
	x := open(t, dir, lookup.Options{Distance: -1})
	ctx := context.Background()
	check := func(after string, known ...string) {
		t.Helper()
		want := some(known...)
		for id, text := range texts {
			got := find(t, x, text)
			if _, ok := want[id]; got.Known != ok {
				t.Errorf("after %s: %s known %t: %+v", after, id, got.Known, got.Matches)
			}
		}
	}
	check("opening", "p0", "p1", "p2", "p3", "p4", "p5")
	l, err := library.Lock(ctx, filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Delete(ctx, library.Doomed{IDs: []string{"p1"}}); err != nil {
		t.Fatal(err)
	}
	check("a deletion", "p0", "p2", "p3", "p4", "p5")
	if _, err := l.Delete(ctx, library.Doomed{IDs: []string{"p2"}, Once: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Delete(ctx, library.Doomed{Prefixes: []string{"p3"}, Once: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Expire(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if done, err := l.Compact(ctx, 0); err != nil || done.Files == 0 {
		t.Fatal(done, err)
	}
	check("deletions, an expiry and a compaction", "p4", "p5")
	if _, err := l.RemoveNights("2026-11-03"); err != nil {
		t.Fatal(err)
	}
	check("a night that was removed", "p4")

	// The index cannot be brought up to date before the library is free.
	hurried, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := x.Refresh(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if fresh, err := x.Refresh(ctx); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	check("all of it", "p4")
}

// A night that is run again, with other pages, takes the place of the old one
// as soon as it is there.
func TestReplacedNight(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"b": words(2, 300)})
	if got := find(t, x, words(1, 300)); got.Known {
		t.Errorf("%+v", got)
	}
	if _, err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := find(t, x, words(2, 300)); !got.Known || got.Matches[0].ID != "b" {
		t.Errorf("%+v", got)
	}
}

// compact deletes the page "gone" of dir's library and compacts it as the command
// does, which removes the index.
func compact(t *testing.T, dir string) {
	t.Helper()
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := l.Delete(context.Background(), library.Doomed{IDs: []string{"gone"}}); err != nil || done.Rows != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := l.Compact(context.Background(), 1000); err != nil || done.Files != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := os.RemoveAll(l.Path(library.Index)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// A flipped bit of the index is an error that names its file, or the file is made
// again; it never changes an answer.
func TestFlippedBitsOfIndex(t *testing.T) {
	dir := t.TempDir()
	text := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"a": text, "b": words(2, 300)})
	want := fmt.Sprintf("%+v", *find(t, open(t, dir, lookup.Options{Distance: -1}), text).Matches[0].Estimate)
	paths, err := filepath.Glob(filepath.Join(dir, "lib", library.Index, "*.idx"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	whole, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	places := 40
	if testing.Short() {
		places = 8
	}
	refused := 0
	for at := 0; at < len(whole); at += 1 + len(whole)/places {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(paths[0]+".new", damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(paths[0]+".new", paths[0]); err != nil { // not into what is mapped
			t.Fatal(err)
		}
		x := open(t, dir, lookup.Options{Distance: -1})
		a, err := x.Find(t.Context(), &data.Document{Text: []byte(strings.Join(text, " "))})
		switch {
		case err != nil && strings.Contains(err.Error(), paths[0]):
			refused++
		case err != nil || len(a.Matches) != 1 || a.Matches[0].ID != "a" || fmt.Sprintf("%+v", *a.Matches[0].Estimate) != want:
			t.Errorf("byte %d of %d: %+v, %v", at, len(whole), a, err)
		}
	}
	if refused == 0 {
		t.Error("no damage was noticed: the test shows nothing")
	}
}

// An index whose files were given each other's names, or are those of another
// library under the names of this one, is made again: answers are those of the
// library. A file of the index is named after the change and the digest of the
// library's file that it was made of, and says its name.
func TestExchangedIndexes(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir, elsewhere := t.TempDir(), t.TempDir()
	texts := [][]string{words(1, 300), words(2, 300), words(3, 300), words(4, 300)}
	index := func(dir string, first int) (paths []string) {
		addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{fmt.Sprint(first): texts[first]})
		addNight(t, dir, "2026-11-02", config.PresetBalanced, map[string][]string{fmt.Sprint(first + 1): texts[first+1]})
		find(t, open(t, dir, lookup.Options{Distance: -1}), texts[first])
		paths, err := filepath.Glob(filepath.Join(dir, "lib", library.Index, "*.idx"))
		if err != nil || len(paths) != 2 {
			t.Fatal(paths, err)
		}
		return paths
	}
	mine, other := index(dir, 0), index(elsewhere, 2)
	if filepath.Base(mine[0]) == filepath.Base(other[0]) {
		t.Errorf("%s is the name of files of two libraries", filepath.Base(mine[0]))
	}
	for name, from := range map[string][]string{"each other's": {mine[1], mine[0]}, "another library's": other, "the same twice": {mine[0], mine[0]}} {
		var contents [][]byte
		for _, path := range from {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			contents = append(contents, text)
		}
		for i, path := range mine {
			if err := os.WriteFile(path+".new", contents[i], 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(path+".new", path); err != nil { // not into what is mapped
				t.Fatal(err)
			}
		}
		if v, err := sorted.Verify(t.Context(), filepath.Dir(mine[0])); err != nil || len(v.Damaged) == 0 {
			t.Errorf("%s: verification finds nothing: %+v, %v", name, v, err)
		}
		x := open(t, dir, lookup.Options{Distance: -1})
		for i, text := range texts {
			a := find(t, x, text)
			if known := len(a.Matches) > 0; known != (i < 2) || known && (a.Matches[0].ID != fmt.Sprint(i) || a.Matches[0].Night != fmt.Sprintf("2026-11-%02d", i+1)) {
				t.Errorf("%s: text %d: %+v", name, i, a.Matches)
			}
		}
	}
}

// A service goes on when the library is compacted, and the index removed, while
// it runs.
func TestCompactedWhileOpen(t *testing.T) {
	dir := t.TempDir()
	a, b, c := words(1, 300), words(2, 300), words(3, 300)
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": a, "gone": words(9, 300)})
	addNight(t, dir, "2026-11-02", config.PresetClassic, map[string][]string{"b": b})
	x := open(t, dir, lookup.Options{Distance: -1})
	compact(t, dir)
	check := func(after string, texts ...[]string) {
		t.Helper()
		for i, text := range texts {
			if !find(t, x, text).Known {
				t.Errorf("after %s page %d is not known", after, i)
			}
		}
	}
	check("the compaction", a, b)
	addNight(t, dir, "2026-11-03", config.PresetClassic, map[string][]string{"c": c})
	check("a night", a, b)
	if _, err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	check("a look at the library", a, b, c)
	if again := open(t, dir, lookup.Options{Distance: -1}); !find(t, again, c).Known {
		t.Error("opened again, it does not know the night")
	}
}

// between does something before it looks.
type between struct {
	store.Store
	do func()
}

func (b *between) Near(ctx context.Context, q *store.Query) ([]store.Hit, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.Store.Near(ctx, q)
}

// A page that is known stays known while the parts that know it make room for
// others, and is no unknown page, but an error, when they are lost.
func TestPartsGoWhileLooking(t *testing.T) {
	dir := t.TempDir()
	a := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": a, "gone": words(2, 300)})
	s := &between{}
	x := open(t, dir, lookup.Options{Distance: -1, Store: func(dir string, schema store.Schema) (_ store.Store, err error) {
		s.Store, err = sorted.Open(filepath.Join(dir, library.Index), schema, sorted.Options{})
		return s, err
	}})
	compact(t, dir)
	s.do = func() {
		if changed, err := x.Refresh(context.Background()); err != nil || !changed {
			t.Error(changed, err)
		}
	}
	if got := find(t, x, a); !got.Known || s.do != nil {
		t.Errorf("%+v", got)
	}
	s.do = func() {
		parts, err := s.Parts(context.Background())
		if err != nil || len(parts) != 1 {
			t.Error(parts, err)
		}
		if err := s.Drop(context.Background(), parts[0]); err != nil {
			t.Error(err)
		}
	}
	if got, err := x.Find(context.Background(), &data.Document{Text: []byte(strings.Join(a, " "))}); !errors.Is(err, lookup.ErrLacking) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !find(t, x, a).Known {
		t.Error("made again, it does not know the page")
	}
}

// Look-ups need no lock as long as the index has all files: a run that has the
// library for hours keeps nobody waiting.
func TestOpenWhileLocked(t *testing.T) {
	dir := t.TempDir()
	text := words(1, 300)
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": text})
	open(t, dir, lookup.Options{Distance: -1})
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := find(t, open(t, dir, lookup.Options{Distance: -1}), text); !got.Known {
		t.Errorf("%+v", got)
	}
}

// No answer that is asked for after a deletion has the deleted page, while
// others ask all the time.
func TestServiceNeverServesDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("loads all cores")
	}
	dir := t.TempDir()
	const pages = 12
	all := map[string][]string{}
	for i := range pages {
		all[fmt.Sprintf("p%02d", i)] = words(uint64(i), 200)
	}
	addNight(t, dir, "2026-11-01", config.PresetBalanced, all)
	x := open(t, dir, lookup.Options{Distance: -1})
	url := serve(t, x, lookup.ServerOptions{Interval: 5 * time.Millisecond})
	var gone atomic.Int64 // pages p00 to this are deleted
	done := make(chan struct{})
	var asking sync.WaitGroup
	stop := sync.OnceFunc(func() { close(done); asking.Wait() })
	defer stop()
	var answers atomic.Int64
	for w := range 4 {
		asking.Go(func() {
			for i := w; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				id := fmt.Sprintf("p%02d", i%pages)
				deleted := i%pages < int(gone.Load())
				r, err := http.Post(url+"/lookup", "text/plain", strings.NewReader(strings.Join(all[id], " "))) //nolint:noctx // a test
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(r.Body)
				if err := errors.Join(err, r.Body.Close()); err != nil || r.StatusCode != http.StatusOK {
					t.Error(r.StatusCode, err, string(body))
					return
				}
				if known := bytes.Contains(body, []byte(`"known":true`)); known && deleted || !known && i%pages == pages-1 {
					t.Errorf("%s, deleted %t: %s", id, deleted, body)
					return
				}
				answers.Add(1)
			}
		})
	}
	ctx := context.Background()
	for i := range pages - 1 {
		l, err := library.Lock(ctx, filepath.Join(dir, "lib"), library.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Delete(ctx, library.Doomed{IDs: []string{fmt.Sprintf("p%02d", i)}, Once: i%2 == 0}); err != nil {
			t.Fatal(err)
		}
		gone.Store(int64(i + 1))
		if i%4 == 3 {
			if _, err := l.Compact(ctx, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for n := answers.Load(); answers.Load() < n+20 && !t.Failed(); {
			time.Sleep(time.Millisecond)
		}
	}
	stop()
}

// The metrics are what Prometheus reads, and the library's damage is among
// them and in the health, as long as it lasts.
func TestMetricsAndHealth(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	url := serve(t, x, lookup.ServerOptions{Interval: 5 * time.Millisecond})
	_, text := get(t, url+"/metrics")
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	value := func(name string) float64 {
		t.Helper()
		_, text := get(t, url+"/metrics")
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		f := families[name]
		if f == nil || f.GetHelp() == "" {
			t.Fatalf("no metric %s with a help text", name)
		}
		sum := 0.0
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
		return sum
	}
	for range 3 {
		post(t, url, "text/plain", strings.NewReader(strings.Join(words(1, 300), " ")))
	}
	post(t, url, "image/png", strings.NewReader("x"))
	for name, want := range map[string]float64{
		"neardup_lookup_requests_total": 4, "neardup_lookup_seconds": 4, "neardup_lookup_known_total": 3, "neardup_lookup_in_flight": 0, "neardup_lookup_request_bytes": 0,
		"neardup_lookup_documents": 1, "neardup_lookup_nights": 1, "neardup_lookup_healthy": 1, "neardup_lookup_refresh_failures_total": 0,
	} {
		if got := value(name); got != want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	for name, harm := range map[string]struct{ do, undo func() error }{
		"manifest gone": {
			func() error {
				return os.Rename(filepath.Join(dir, "lib", library.ManifestFile), filepath.Join(dir, "m"))
			},
			func() error {
				return os.Rename(filepath.Join(dir, "m"), filepath.Join(dir, "lib", library.ManifestFile))
			},
		},
		"folder gone": {
			func() error { return os.Rename(filepath.Join(dir, "lib"), filepath.Join(dir, "elsewhere")) },
			func() error { return os.Rename(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lib")) },
		},
	} {
		if err := harm.do(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, url+"/healthz", 503)
		var health struct{ Status, Error string }
		_, text := get(t, url+"/healthz")
		if err := json.Unmarshal([]byte(text), &health); err != nil || health.Status != "stale" || health.Error == "" {
			t.Errorf("%s: %s", name, text)
		}
		if value("neardup_lookup_healthy") != 0 || value("neardup_lookup_refresh_failures_total") == 0 {
			t.Errorf("%s: the metrics do not say so", name)
		}
		if code, body := post(t, url, "text/plain", strings.NewReader(strings.Join(words(1, 300), " "))); code != 200 || !strings.Contains(body, `"id":"a"`) {
			t.Errorf("%s: %d %s", name, code, body)
		}
		if err := harm.undo(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, url+"/healthz", 200)
	}
}

// Pages that are under way take no more memory than is allowed; when they are
// gone, others are answered.
func TestRequestMemory(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	h := lookup.NewServer(x, lookup.ServerOptions{Memory: 1000}).Handler()
	ask := func(body io.Reader) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/lookup", body))
		return w.Code
	}
	if code := ask(strings.NewReader(strings.Repeat("x", 1001))); code != http.StatusServiceUnavailable {
		t.Errorf("one page beyond the limit: %d", code)
	}
	in, out := io.Pipe()
	slow := make(chan int, 1)
	go func() { slow <- ask(in) }()
	if _, err := out.Write(bytes.Repeat([]byte("x"), 900)); err != nil {
		t.Fatal(err)
	}
	for counted := false; !counted; time.Sleep(time.Millisecond) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		counted = strings.Contains(w.Body.String(), "neardup_lookup_request_bytes 900\n")
	}
	if code := ask(strings.NewReader(strings.Repeat("y", 200))); code != http.StatusServiceUnavailable {
		t.Errorf("beside the slow sender: %d", code)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-slow; code != http.StatusOK {
		t.Errorf("the slow sender: %d", code)
	}
	if code := ask(strings.NewReader(strings.Repeat("y", 900))); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}

// FuzzHandler asks in any way: no answer is the service's fault, and all but
// those of the metrics are JSON or of the standard library.
func FuzzHandler(f *testing.F) {
	f.Add("POST", "/lookup", "text/plain", "gzip", []byte("text"))
	f.Add("POST", "/lookup", "text/html; charset=gbk", "", []byte("<html lang=zh><p>\xd6\xd0"))
	f.Add("POST", "/lookup", "application/json", "", []byte(`{"id":"http://x/","text":"x","text":null}`))
	f.Add("GET", "/metrics?x=%zz", "", "", []byte(nil))
	f.Add("PUT", "/healthz/../lookup", "multipart/form-data; boundary=x", "", []byte("--x"))
	dir := f.TempDir()
	addNight(f, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"a": words(1, 300)})
	x := open(f, dir, lookup.Options{Distance: -1})
	h := lookup.NewServer(x, lookup.ServerOptions{MaxBody: 1 << 16}).Handler()
	f.Fuzz(func(t *testing.T, method, target, kind, encoding string, body []byte) {
		r, err := http.NewRequestWithContext(context.Background(), method, "http://127.0.0.1"+target, bytes.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 || w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// A library that was put back from a backup may give a new file the name of one
// that was lost: the index, which was not put back, must not take the one for
// the other; a service that runs on must not either.
func TestRestoredBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes many runs")
	}
	dir := t.TempDir()
	lib, backup := filepath.Join(dir, "lib"), filepath.Join(dir, "backup")
	a, b, c := words(1, 300), words(2, 300), words(3, 300)
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": a})
	if err := os.CopyFS(backup, os.DirFS(lib)); err != nil {
		t.Fatal(err)
	}
	addNight(t, dir, "2026-11-02", config.PresetClassic, map[string][]string{"b": b})
	x := open(t, dir, lookup.Options{Distance: -1})
	if !find(t, x, a).Known || !find(t, x, b).Known {
		t.Fatal("the nights are not known")
	}
	before, err := library.ReadManifest(lib)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(lib)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == library.Index {
			continue
		}
		if err := os.RemoveAll(filepath.Join(lib, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(lib, os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	addNight(t, dir, "2026-11-02", config.PresetClassic, map[string][]string{"c": c})
	after, err := library.ReadManifest(lib)
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Files) != 4 || after.Files[1].Name != before.Files[1].Name || after.Sequence != before.Sequence {
		t.Fatalf("two nights, each with documents and samples: %+v, %+v", before.Files, after.Files)
	}
	if find(t, x, b).Known {
		t.Error("a page that was lost is answered")
	}
	if _, err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]*lookup.Index{"runs on": x, "new": open(t, dir, lookup.Options{Distance: -1})} {
		if find(t, x, b).Known || !find(t, x, a).Known || !find(t, x, c).Known {
			t.Errorf("%s: a %t, b %t, c %t", name, find(t, x, a).Known, find(t, x, b).Known, find(t, x, c).Known)
		}
	}
}

// A store that does not open is an error, whatever it comes with.
func TestStoreDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	_, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1, Store: func(_ string, schema store.Schema) (store.Store, error) {
		return redis.Open(context.Background(), schema, redis.Options{Address: "127.0.0.1:1"})
	}})
	if err == nil || !strings.Contains(err.Error(), "redis at 127.0.0.1:1") {
		t.Error(err)
	}
}

// moody is a store that fails or hangs when it is told to.
type moody struct {
	store.Store
	fails, hangs atomic.Bool
}

func (m *moody) mood(ctx context.Context) error {
	if m.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.fails.Load() {
		return errors.New("the store is out of order")
	}
	return nil
}

func (m *moody) Near(ctx context.Context, q *store.Query) ([]store.Hit, error) {
	if err := m.mood(ctx); err != nil {
		return nil, err
	}
	return m.Store.Near(ctx, q)
}

func (m *moody) Parts(ctx context.Context) ([]string, error) {
	if err := m.mood(ctx); err != nil {
		return nil, err
	}
	return m.Store.Parts(ctx)
}

// A store that fails or hangs is said, keeps nobody longer than it may, and is
// used again when it is well.
func TestStoreOutOfOrder(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	m := &moody{}
	x := open(t, dir, lookup.Options{Distance: -1, Store: func(dir string, schema store.Schema) (store.Store, error) {
		s, err := sorted.Open(filepath.Join(dir, library.Index), schema, sorted.Options{})
		m.Store = s
		return m, err
	}})
	patient := lookup.NewServer(x, lookup.ServerOptions{}).Handler()
	hasty := lookup.NewServer(x, lookup.ServerOptions{Answer: time.Millisecond}).Handler()
	hastier := lookup.NewServer(x, lookup.ServerOptions{Wait: time.Millisecond}).Handler()
	check := func(h http.Handler, path string, want int, says string) {
		t.Helper()
		method := http.MethodGet
		if path == "/lookup" {
			method = http.MethodPost
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(strings.Join(words(1, 300), " "))))
		if w.Code != want || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s, want %d and %q", path, w.Code, w.Body, want, says)
		}
	}
	check(patient, "/lookup", 200, `"id":"a"`)
	check(patient, "/healthz", 200, `"ok"`)
	m.fails.Store(true)
	check(patient, "/lookup", 500, "the log of the service says why")
	check(patient, "/healthz", 503, "out of order")
	m.hangs.Store(true)
	check(hasty, "/lookup", 503, "took too long")
	check(hastier, "/healthz", 503, `"down"`)
	m.hangs.Store(false)
	m.fails.Store(false)
	check(patient, "/lookup", 200, `"id":"a"`)

	// It loses what it had, while another process has the library.
	parts, err := m.Store.Parts(context.Background())
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	if err := m.Drop(context.Background(), parts[0]); err != nil {
		t.Fatal(err)
	}
	check(patient, "/healthz", 503, "has lost files")
	l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	hurried, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := x.Refresh(hurried); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	check(patient, "/lookup", 503, "has lost files")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	check(patient, "/lookup", 200, `"id":"a"`)
	check(patient, "/healthz", 200, `"ok"`)
}
