package lookup_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// The page answers to a text as to an id, and shows what it is given as text.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	a, b := words(1, 300), words(2, 300)
	const id = "http://a.example/<b>\u202e"
	addNight(t, dir, "2026-11-01", config.PresetBalanced, map[string][]string{id: a, "c": words(3, 300)})
	addNight(t, dir, "2026-11-02", config.PresetBalanced, map[string][]string{id: b})
	x, err := lookup.Open(context.Background(), filepath.Join(dir, "lib"), lookup.Options{Distance: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	service := strings.TrimSuffix(serve(t, x, lookup.ServerOptions{MaxBody: 64 << 10}), "/lookup")
	ask := func(r *http.Request) (int, string, http.Header) {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body), resp.Header
	}
	request := func(method, path, kind string, body io.Reader) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), method, service+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		return r
	}
	form := func(fields ...string) (int, string, http.Header) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		for i := 0; i < len(fields); i += 2 {
			if err := w.WriteField(fields[i], fields[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return ask(request(http.MethodPost, "/", w.FormDataContentType(), &body))
	}
	const shown = "http://a.example/&lt;b&gt;⟨U&#43;202E⟩"
	for _, c := range []struct {
		name   string
		fields []string
		code   int
		says   string
	}{
		{"text", []string{"text", strings.Join(a, " "), "id", ""}, 200, shown},
		{"HTML", []string{"text", "<html><body><article><p>" + strings.Join(a, " ") + "</p></article></body></html>"}, 200, shown},
		{"unknown text", []string{"text", strings.Join(words(9, 300), " ")}, 200, "Not known"},
		{"id", []string{"text", "", "id", " " + id + "\n"}, 200, "night 2026-11-02"},
		{"URL as text", []string{"text", id}, 200, "night 2026-11-02"},
		{"id that is no URL", []string{"id", "c"}, 200, "night 2026-11-01"},
		{"unknown id", []string{"id", "<script>"}, 404, "pages are not fetched"},
		{"both", []string{"text", "words", "id", id}, 422, "empty one of the fields"},
		{"nothing", []string{"text", " \n"}, 422, "paste a text"},
		{"script", []string{"text", "</textarea><script>alert(1)</script>"}, 0, "&lt;/textarea&gt;&lt;script&gt;"},
		{"huge", []string{"text", strings.Repeat("x", 65<<10)}, 413, "more than 65536 bytes"},
	} {
		code, body, header := form(c.fields...)
		if c.code != 0 && code != c.code || code >= 500 || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d, no %q in %s", c.name, code, c.says, body)
		}
		if strings.Contains(body, "<script") || strings.Contains(body, "src=") || strings.Contains(body, "\u202e</bdi>") {
			t.Errorf("%s: it is not escaped, or loads something: %s", c.name, body)
		}
		if header.Get("Content-Security-Policy") == "" || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", c.name, header)
		}
	}
	for _, c := range []struct {
		method, path, kind, body string
		code                     int
		says                     string
	}{
		{http.MethodGet, "/", "", "", 200, "Looked up in 3 documents of 2 nights"},
		{http.MethodGet, "/nothing", "", "", 404, "not found"},
		{http.MethodPost, "/", "application/x-www-form-urlencoded", "text=x", 415, "multipart/form-data"},
		{http.MethodPost, "/", "multipart/form-data; boundary=x", "--x\r\n", 422, "paste a text"},
		{http.MethodGet, "/lookup?id=" + url.QueryEscape(id), "", "", 200, `"night":"2026-11-02"`},
		{http.MethodGet, "/lookup?id=nope", "", "", 404, "no document"},
		{http.MethodGet, "/lookup", "", "", 400, "GET /lookup?id=ID"},
	} {
		if code, body, _ := ask(request(c.method, c.path, c.kind, strings.NewReader(c.body))); code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d, %s", c.method, c.path, code, body)
		}
	}
}

// A document is looked up by its id in a library that is read without a lock:
// what is wrong with it is told and logged, and only what a change may be to
// blame for is to be asked again.
func TestUnreadLibrary(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	var log bytes.Buffer
	x := open(t, dir, lookup.Options{Distance: -1, Log: slog.New(slog.NewTextHandler(&log, nil))})
	h := lookup.NewServer(x, lookup.ServerOptions{}).Handler()
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/lookup?id=a", nil))
		return w
	}
	files, err := filepath.Glob(filepath.Join(dir, "lib", "documents", "*", "*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	path := files[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := ask(); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "library is damaged") || !strings.Contains(log.String(), "library is damaged") {
		t.Errorf("%d %s, log %s", w.Code, w.Body, &log)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// A manifest that is damaged changes no answer: the health of the service
	// says that it cannot be followed.
	manifest := filepath.Join(dir, "lib", library.ManifestFile)
	sound, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := ask(); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if _, err := x.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "library is damaged") {
		t.Error(err)
	}
	if err := os.WriteFile(manifest, sound, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func()
		err    error
		code   int
	}{
		"nothing": {func() {}, io.ErrUnexpectedEOF, http.StatusInternalServerError},
		"another night": {func() {
			addNight(t, dir, "2026-11-02", config.PresetClassic, map[string][]string{"b": words(2, 300)})
		}, os.ErrNotExist, http.StatusServiceUnavailable},
	} {
		if code := x.UnreadAfter(c.change, c.err); code != c.code {
			t.Errorf("%s: %d", name, code)
		}
	}
}

// The text of a form counts once among the bytes that requests may hold.
func TestFormIsCountedOnce(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	const memory = 48 << 10
	h := lookup.NewServer(open(t, dir, lookup.Options{Distance: -1}), lookup.ServerOptions{Memory: memory}).Handler()
	for size, code := range map[int]int{memory * 2 / 3: http.StatusOK, 2 * memory: http.StatusServiceUnavailable} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		if err := errors.Join(form.WriteField("text", strings.Repeat("words ", size/6)), form.Close()); err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != code {
			t.Errorf("%d bytes: %d", size, w.Code)
		}
	}
}
