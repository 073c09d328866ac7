package lookup_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/local"
	"github.com/neardup/neardup/job/internal/lookup"
	"github.com/neardup/neardup/simhash/sketch"
)

// words is a text of its own for each seed.
func words(seed uint64, n int) []string {
	rng := rand.New(rand.NewPCG(seed, 5))
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", rng.IntN(5000))
	}
	return out
}

// addNight runs a night of pages, by their ids' seeds, into dir's library.
func addNight(t testing.TB, dir, night, preset string, pages map[string][]string) {
	t.Helper()
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for id, text := range pages {
		if err := enc.Encode(map[string]string{"id": id, "text": strings.Join(text, " ")}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, night+".jsonl")
	if err := os.WriteFile(path, in.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Default().WithPreset(preset)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Library = config.Library{Path: filepath.Join(dir, "lib"), Night: night}
	cfg.Output.Clean = false
	out := filepath.Join(dir, "run-"+night)
	if err := os.RemoveAll(out); err != nil {
		t.Fatal(err)
	}
	_, err = job.Run(context.Background(), job.Request{Command: job.CommandRun, Inputs: []string{path}, Out: out, Config: cfg, Engine: local.New(1)})
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string, o lookup.Options) *lookup.Index {
	t.Helper()
	x, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func find(t testing.TB, x *lookup.Index, text []string) *lookup.Answer {
	t.Helper()
	a, err := x.Find(context.Background(), &data.Document{Text: []byte(strings.Join(text, " "))})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func changed(text []string, at int) []string {
	text = slices.Clone(text)
	text[at] = "changed"
	return text
}

// A page is found by its text, a changed one too, with the night in which its
// source was first seen; what was deleted or expired is not.
func TestFind(t *testing.T) {
	for _, preset := range []string{config.PresetClassic, config.PresetPiecewise, config.PresetBalanced, config.PresetThorough} {
		if testing.Short() && preset != config.PresetClassic && preset != config.PresetBalanced {
			continue
		}
		t.Run(preset, func(t *testing.T) {
			dir := t.TempDir()
			a, b, c := words(1, 300), words(2, 300), words(3, 300)
			addNight(t, dir, "2026-11-01", preset, map[string][]string{"a": a, "b": b})
			addNight(t, dir, "2026-11-02", preset, map[string][]string{"a": a, "c": c})
			x := open(t, dir, lookup.Options{Distance: -1})
			got := find(t, x, changed(a, 7))
			if !got.Known || len(got.Matches) != 1 {
				t.Fatalf("%+v", got)
			}
			m := got.Matches[0]
			if m.ID != "a" || m.Night != "2026-11-01" || m.FirstSeen != "2026-11-01" || m.LastSeen != "2026-11-02" || m.Nights != 2 || (m.Estimate == nil) != (preset == config.PresetClassic || preset == config.PresetPiecewise) {
				t.Fatalf("%+v", m)
			}
			if got := find(t, x, words(9, 300)); got.Known {
				t.Fatalf("%+v", got)
			}

			l, err := library.Lock(context.Background(), filepath.Join(dir, "lib"), library.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Delete(context.Background(), library.Doomed{IDs: []string{"a"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Expire(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)); err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if fresh, err := x.Refresh(context.Background()); err != nil || !fresh {
				t.Fatal(fresh, err)
			}
			for name, text := range map[string][]string{"a, deleted": a, "b, expired": b} {
				if got := find(t, x, text); got.Known {
					t.Errorf("%s: %+v", name, got)
				}
			}
			if got := find(t, x, c); !got.Known || got.Matches[0].ID != "c" {
				t.Errorf("%+v", got)
			}
			// A new index says the same.
			y := open(t, dir, lookup.Options{Distance: -1})
			if find(t, y, a).Known || !find(t, y, c).Known {
				t.Error("another index answers otherwise")
			}
		})
	}
}

// The look-up finds what a comparison with all documents finds, at distances
// that the tables serve and at larger ones.
func TestFindEqualsScan(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(4, 4))
	pages := map[string][]string{}
	for i := range 60 {
		text := words(uint64(i%20), 150)
		for range rng.IntN(4) {
			text = changed(text, rng.IntN(len(text)))
		}
		pages[fmt.Sprintf("p%02d", i)] = text
	}
	addNight(t, dir, "2026-11-01", config.PresetClassic, pages)
	prints := map[string]uint64{}
	x := open(t, dir, lookup.Options{Distance: 0, Limit: 1000})
	for id, text := range pages {
		var fp uint64
		if _, err := fmt.Sscanf(find(t, x, text).Fingerprint, "%x", &fp); err != nil {
			t.Fatal(err)
		}
		prints[id] = fp
	}
	found := 0
	for _, c := range []struct{ k, tables int }{{0, 4}, {1, 4}, {3, 4}, {5, 4}, {9, 4}, {0, 10}, {3, 10}, {5, 10}, {7, 10}, {3, 20}, {4, 20}} {
		k := c.k
		x := open(t, dir, lookup.Options{Distance: k, Limit: 1000, Tables: c.tables, Store: probing})
		for id, text := range pages {
			var want, got []string
			for other, fp := range prints {
				if d := ones(fp ^ prints[id]); d <= k {
					want = append(want, fmt.Sprintf("%02d %s", d, other))
				}
			}
			for _, m := range find(t, x, text).Matches {
				got = append(got, fmt.Sprintf("%02d %s", m.Distance, m.ID))
			}
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%+v: %v, want %v", c, got, want)
			}
			found += len(got)
		}
	}
	if found < 500 {
		t.Errorf("%d matches: the test shows nothing", found)
	}
}

// With the preset piecewise the longer of two texts says how far they may be apart.
func TestFindByLength(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(6, 4))
	pages := map[string][]string{}
	for i := range 80 {
		n := 30 + 80*(i%4) // 150 to 1,300 characters
		text := words(uint64(i%20), n)
		for range rng.IntN(3 + n/10) {
			text = changed(text, rng.IntN(len(text)))
		}
		pages[fmt.Sprintf("p%02d", i)] = text
	}
	addNight(t, dir, "2026-11-01", config.PresetPiecewise, pages)
	x := open(t, dir, lookup.Options{Distance: -1, Limit: 1000})
	type look struct {
		print  uint64
		length int
	}
	looks, matches := map[string]look{}, map[string][]string{}
	for id, text := range pages {
		answer := find(t, x, text)
		l := look{length: answer.Length}
		if _, err := fmt.Sscanf(answer.Fingerprint, "%x", &l.print); err != nil {
			t.Fatal(err)
		}
		looks[id] = l
		for _, m := range answer.Matches {
			matches[id] = append(matches[id], fmt.Sprintf("%02d %s", m.Distance, m.ID))
		}
	}
	near, far := 0, 0
	for id, a := range looks {
		var want []string
		for other, b := range looks {
			switch d := ones(a.print ^ b.print); {
			case d <= sketch.Piecewise(sketch.PieceShort, max(a.length, b.length)):
				want = append(want, fmt.Sprintf("%02d %s", d, other))
				if d > sketch.PieceLong {
					near++
				}
			case d <= sketch.PieceShort:
				far++
			}
		}
		if slices.Sort(want); !slices.Equal(matches[id], want) {
			t.Errorf("%s: %v, want %v", id, matches[id], want)
		}
	}
	if near < 10 || far < 10 {
		t.Errorf("%d beyond the distance of long texts, %d of texts too long: the test shows nothing", near, far)
	}
}

func ones(x uint64) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

// serve starts a service on a free port of this machine.
func serve(t *testing.T, x *lookup.Index, o lookup.ServerOptions) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l, err := lookup.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	s := lookup.NewServer(x, o)
	go func() {
		done <- lookup.Serve(ctx, l, o, func(context.Context) (*lookup.Server, error) { return s, nil })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	url = "http://" + l.Addr().String()
	for _, health := get(t, url+"/healthz"); strings.Contains(health, "starting"); _, health = get(t, url+"/healthz") {
		time.Sleep(time.Millisecond)
	}
	return url
}

// While its index is made the service listens, and says so; without one it ends.
func TestStarting(t *testing.T) {
	defer goleak.VerifyNone(t)
	defer http.DefaultClient.CloseIdleConnections()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l, err := lookup.Listen(ctx, "127.0.0.1:0", false)
	if err != nil {
		t.Fatal(err)
	}
	url, made, done := "http://"+l.Addr().String(), make(chan error), make(chan error, 1)
	go func() {
		done <- lookup.Serve(ctx, l, lookup.ServerOptions{}, func(context.Context) (*lookup.Server, error) { return nil, <-made })
	}()
	for _, path := range []string{"/healthz", "/", "/metrics", "/lookup?id=a"} {
		if code, body := get(t, url+path); code != 503 || !strings.Contains(body, `"starting"`) || !strings.Contains(body, "try again") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	made <- os.ErrPermission
	if err := <-done; !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil { //nolint:noctx // a test
		t.Error("it still listens")
	}
}

func post(t *testing.T, url, contentType string, body io.Reader) (int, string) {
	t.Helper()
	r, err := http.Post(url+"/lookup", contentType, body) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestService(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	a, b := words(1, 300), words(2, 300)
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"a": a})
	x, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("", func(t *testing.T) {
		url := serve(t, x, lookup.ServerOptions{MaxBody: 64 << 10, Interval: 20 * time.Millisecond})
		asText := strings.Join(a, " ")
		asJSON, err := json.Marshal(map[string]string{"title": "x", "text": asText})
		if err != nil {
			t.Fatal(err)
		}
		html := "<html><head><title>x</title></head><body><article><p>" + asText + "</p></article></body></html>"
		for _, c := range []struct {
			name, kind, body string
			code             int
			says             string
		}{
			{"text", "text/plain; charset=utf-8", asText, 200, `"id":"a"`},
			{"no content type", "", asText, 200, `"known":true`},
			{"JSON", "application/json", string(asJSON), 200, `"id":"a"`},
			{"HTML", "text/html", html, 200, `"id":"a"`},
			{"unknown", "text/plain", strings.Join(b, " "), 200, `"known":false`},
			{"empty", "text/plain", "", 200, `"length_class":"empty"`},
			{"not JSON", "application/json", "{", 400, "is not"},
			{"JSON without text", "application/json", `{"title":"x"}`, 400, `has no \"text\"`},
			{"JSON of another form", "application/json", `{"text":[1]}`, 400, "is not"},
			{"a JSON list", "application/json", `[]`, 400, "there is a JSON array"},
			{"two objects", "application/json", `{"text":"x"}{}`, 400, "after top-level value"},
			{"deep JSON", "application/json", strings.Repeat("[", 30000), 400, "is not"},
			{"HTML without text", "text/html", "<html><script>x</script></html>", 422, "no text"},
			{"bytes", "text/html", "\x00\xff\xfe<\x80" + strings.Repeat("\x90", 100), 0, ""},
			{"deep HTML", "text/html", strings.Repeat("<div>", 10000) + "x", 0, ""},
			{"an image", "image/png", "x", 415, "send text/plain"},
			{"huge", "text/plain", strings.Repeat("x", 65<<10), 413, "more than 65536 bytes"},
		} {
			code, body := post(t, url, c.kind, strings.NewReader(c.body))
			if c.code != 0 && code != c.code || code >= 500 || !strings.Contains(body, c.says) || !json.Valid([]byte(body)) {
				t.Errorf("%s: %d %s", c.name, code, body)
			}
		}
		for path, want := range map[string]int{"/lookup": 400, "/": 200, "/nothing": 404, "/healthz": 200, "/metrics": 200, "/../etc/passwd": 404} {
			if code, body := get(t, url+path); code != want {
				t.Errorf("GET %s: %d %s", path, code, body)
			}
		}

		// Slow senders, of the header and of the body, block nobody, and a
		// service that gives them little time cuts them off.
		slow := func(address string) (senders []net.Conn) {
			for i := range 20 {
				c, err := net.Dial("tcp", address) //nolint:noctx // a test
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				text := "POST /lookup HTTP/1.1\r\nHost: x\r\n"
				if i%2 == 0 {
					text += "Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\nabc"
				}
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
				senders = append(senders, c)
			}
			return senders
		}
		address := strings.TrimPrefix(url, "http://")
		slow(address)
		if code, body := post(t, url, "text/plain", strings.NewReader(asText)); code != 200 {
			t.Errorf("beside slow senders: %d %s", code, body)
		}
		hasty := serve(t, x, lookup.ServerOptions{Header: 200 * time.Millisecond, Read: 500 * time.Millisecond})
		for _, c := range slow(strings.TrimPrefix(hasty, "http://")) {
			if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a slow sender was not cut off")
			}
		}
		// What is too large is told so, and not waited for; what is compressed
		// is not taken for text.
		for header, want := range map[string]string{"Content-Length: 99999999": " 413 ", "Content-Length: 1\r\nContent-Encoding: gzip\r\n\r\nx": " 415 "} {
			c, err := net.Dial("tcp", address) //nolint:noctx // a test
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			if _, err := io.WriteString(c, "POST /lookup HTTP/1.1\r\nHost: x\r\n"+header+"\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, want) {
				t.Errorf("%q: %q, %v", header, line, err)
			}
		}

		// What is no HTTP.
		c, err := net.Dial("tcp", address) //nolint:noctx // a test
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(bytes.Repeat([]byte{0xff, 0, '\n'}, 1000)); err != nil {
			t.Log(err)
		}

		// The library grows, and the answers with it.
		addNight(t, dir, "2026-11-02", config.PresetBalanced, map[string][]string{"b": b})
		deadline := time.Now().Add(time.Minute)
		for {
			_, body := post(t, url, "text/plain", strings.NewReader(strings.Join(b, " ")))
			if strings.Contains(body, `"id":"b"`) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the service does not follow the library: %s", body)
			}
			time.Sleep(10 * time.Millisecond)
		}
		if code, body := get(t, url+"/healthz"); code != 200 || !strings.Contains(body, `"nights":2`) {
			t.Errorf("%d %s", code, body)
		}
		_, metrics := get(t, url+"/metrics")
		for _, want := range []string{`neardup_lookup_requests_total{code="200"}`, `neardup_lookup_requests_total{code="413"} 2`, "neardup_lookup_documents 2", "neardup_lookup_seconds_bucket", "process_resident_memory_bytes"} {
			if !strings.Contains(metrics, want) {
				t.Errorf("the metrics have no %s", want)
			}
		}

		// A library that can no longer be read is said; the answers stay.
		path := filepath.Join(dir, "lib", library.ManifestFile)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for content, want := range map[string]int{"{": 503} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			waitFor(t, url+"/healthz", want)
			if code, body := post(t, url, "text/plain", strings.NewReader(asText)); code != 200 || !strings.Contains(body, `"id":"a"`) {
				t.Errorf("%d %s", code, body)
			}
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		waitFor(t, url+"/healthz", 200)
	})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, url string, want int) {
	t.Helper()
	for range 6000 {
		if code, _ := get(t, url); code == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not become %d", url, want)
}

// When all workers are busy, who waits too long is told to come again.
func TestServiceIsBusy(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	s := lookup.NewServer(x, lookup.ServerOptions{Workers: 1, Wait: time.Millisecond})
	text := strings.Join(words(1, 200_000), " ")
	codes := make(chan int, 16)
	for range cap(codes) {
		go func() {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/lookup", strings.NewReader(text)))
			codes <- w.Code
		}()
	}
	seen := map[int]int{}
	for range cap(codes) {
		seen[<-codes]++
	}
	if seen[200] == 0 || seen[503] == 0 || seen[200]+seen[503] != cap(codes) {
		t.Errorf("status codes %v", seen)
	}
}

func TestPublicAddressIsRefused(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "example.org:80", "10.1.2.3:80"} {
		if _, err := lookup.Listen(context.Background(), address, false); !errors.Is(err, lookup.ErrPublic) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := lookup.Listen(context.Background(), address, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	l, err := lookup.Listen(context.Background(), "0.0.0.0:0", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzPage(f *testing.F) {
	f.Add([]byte("text"), "text/plain")
	f.Add([]byte("<p>x"), "text/html; charset=gbk")
	f.Add([]byte(`{"text":"x"}`), "application/json")
	f.Add([]byte{0xff, 0xfe, 0}, `text/html; charset="`)
	dir := f.TempDir()
	addNight(f, dir, "2026-11-01", config.PresetBalanced, map[string][]string{"a": words(1, 300)})
	x := open(f, dir, lookup.Options{Distance: -1})
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		doc, err := x.Page(body, contentType)
		if err != nil {
			return
		}
		if _, err := x.Find(context.Background(), doc); err != nil {
			t.Fatal(err)
		}
	})
}
