package monitor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/monitor"
	"github.com/neardup/neardup/job/internal/summary"
)

func Example() {
	dir, err := os.MkdirTemp("", "monitor")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "neardup.prom")
	s := &job.Summary{Command: job.CommandRun, Documents: 12, Skipped: map[string]int64{"no_text": 3}}
	if err := monitor.Tell(context.Background(), config.Monitor{Metrics: path}, monitor.Outcome{Summary: s}); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "neardup_documents") || strings.Contains(line, "skipped") || strings.Contains(line, "EOF") {
			fmt.Print(line)
		}
	}
	// Output:
	// # HELP neardup_documents Documents fingerprinted.
	// # TYPE neardup_documents counter
	// neardup_documents_total 12.0
	// # HELP neardup_skipped_records Records skipped, by reason.
	// # TYPE neardup_skipped_records counter
	// neardup_skipped_records_total{reason="no_text"} 3.0
	// # EOF
}

// night is a run with a library that has gone well.
func night() *job.Summary {
	return &job.Summary{
		Command: job.CommandRun, Documents: 1000, Done: true, Seconds: 3600, PeakMemory: 1 << 30, Restarts: 1, Warnings: 2,
		LeftOut:       []engine.LeftOut{{Agent: "10.0.0.7:45327", Host: "node7", Stage: "match", Reason: "does not answer"}},
		Began:         time.Date(2026, 11, 20, 3, 10, 0, 0, time.UTC),
		Skipped:       map[string]int64{"not_page": 7, "odd \"reason\"\n": 1},
		LengthClasses: map[string]int64{"normal": 990, "short": 10},
		Stages:        []summary.StageTime{{Stage: "fingerprint", Seconds: 12.5}, {Stage: "match", Seconds: 3}},
		Files:         []summary.Output{{Name: "matches", Bytes: 123}},
		Library:       &summary.Library{Nights: 3, Documents: 3000, New: 400, Repeated: 250, Returned: 350},
	}
}

// TestMetrics reads the file as OpenMetrics and as node exporter does.
func TestMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "neardup.prom")
	if err := os.WriteFile(path, []byte("the night before"), 0o644); err != nil {
		t.Fatal(err)
	}
	failed := &job.Summary{Command: job.CommandRun}
	for _, o := range []monitor.Outcome{{Summary: night()}, {Summary: failed, ExitCode: 4, Error: "rows not conserved"}} {
		if err := monitor.Tell(t.Context(), config.Monitor{Metrics: path, MaxNew: 1, MaxRestarts: -1}, o); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		openMetrics(t, string(text))
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float64{"neardup_run_exit_code": float64(o.ExitCode), "neardup_documents_total": float64(o.Documents), "neardup_run_duration_seconds": o.Seconds, "neardup_agents_left_out": float64(len(o.LeftOut))} {
			f := families[name]
			if f == nil {
				t.Fatalf("no %s in %s", name, text)
			}
			if m := f.Metric[0]; m.GetGauge().GetValue()+m.GetUntyped().GetValue() != want {
				t.Errorf("%s is %v, want %v", name, m, want)
			}
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("there are %v, %v", left, err)
	}
}

// openMetrics fails the test if the text is no OpenMetrics: each family has
// HELP and TYPE before its samples and stands together, a counter's samples end
// in _total, nothing stands behind EOF.
func openMetrics(t *testing.T, text string) {
	t.Helper()
	sample := regexp.MustCompile(`^(neardup_[a-z_]+)(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? -?[0-9.e+]+$`)
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok {
		t.Fatalf("no EOF: %s", text)
	}
	var family, kind string
	var seen []string
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			family, _, _ = strings.Cut(rest, " ")
			if kind = ""; slices.Contains(seen, family) {
				t.Errorf("%s stands twice", family)
			}
			seen = append(seen, family)
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "+family+" "); ok {
			kind = rest
			continue
		}
		want := family
		if kind == "counter" {
			want += "_total"
		}
		if m := sample.FindStringSubmatch(line); m == nil || m[1] != want || kind != "counter" && kind != "gauge" {
			t.Errorf("%q of %s, a %s", line, family, kind)
		}
	}
	if len(seen) < 10 {
		t.Errorf("%d families", len(seen))
	}
}

// TestBounds has one figure beyond each bound.
func TestBounds(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is a shell's")
	}
	usual := config.Monitor{MaxNew: 1, MaxRestarts: -1}
	for want, change := range map[string]func(*config.Monitor){
		"[]": func(*config.Monitor) {},
		"[0.400 of the documents are new, less than monitor.min_new (0.5)]": func(c *config.Monitor) { c.MinNew = .5 },
		"[0.400 of the documents are new, more than monitor.max_new (0.3)]": func(c *config.Monitor) { c.MaxNew = .3 },
		"[1000 documents, fewer than monitor.min_documents (1001)]":         func(c *config.Monitor) { c.MinDocuments = 1001 },
		"[1000 documents, more than monitor.max_documents (999)]":           func(c *config.Monitor) { c.MaxDocuments = 999 },
		"[it took 1h0m0s, longer than monitor.max_duration (59m0s)]":        func(c *config.Monitor) { c.MaxDuration = 59 * time.Minute },
		"[1 flow was tried again, more than monitor.max_restarts (0)]":      func(c *config.Monitor) { c.MaxRestarts = 0 },
		"[]\n": func(c *config.Monitor) { c.MaxRestarts, c.MaxDuration, c.MinNew, c.MaxNew = 1, time.Hour, .4, .4 },
	} {
		file := filepath.Join(t.TempDir(), "a file")
		c := usual
		c.AlarmCommand = "cat >'" + file + "'"
		change(&c)
		if err := monitor.Tell(t.Context(), c, monitor.Outcome{Summary: night()}); err != nil {
			t.Fatal(err)
		}
		got := "[]"
		if text, err := os.ReadFile(file); err == nil {
			var said struct {
				Documents int64    `json:"documents"`
				ExitCode  *int     `json:"exit_code"`
				Alarms    []string `json:"alarms"`
			}
			if err := json.Unmarshal(text, &said); err != nil || said.Documents != 1000 || said.ExitCode == nil || *said.ExitCode != 0 {
				t.Errorf("%s: %v", text, err)
			}
			got = fmt.Sprint(said.Alarms)
		}
		if got != strings.TrimSpace(want) {
			t.Errorf("alarms %s, want %s", got, want)
		}
	}
}

// TestAddress has an address that does not answer well at first.
func TestAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits")
	}
	t.Parallel() // it waits
	asked, good := 0, 3
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var said monitor.Outcome
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &said)
		}
		if err != nil || r.Method != http.MethodPost || said.ExitCode != 1 || said.Error != "failed" {
			t.Errorf("%s %s: %v", r.Method, text, err)
		}
		if asked < good {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer server.Close()
	o := monitor.Outcome{Summary: night(), ExitCode: 1, Error: "failed"}
	c := config.Monitor{AlarmURL: server.URL, MaxNew: 1, MaxRestarts: -1}
	if err := monitor.Tell(t.Context(), c, o); err != nil || asked != 3 {
		t.Errorf("%v, asked %d times", err, asked)
	}
	asked, good = 0, 10
	if err := monitor.Tell(t.Context(), c, o); err == nil || !strings.Contains(err.Error(), "502 Bad Gateway, after 3 tries") || asked != 3 {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// TestInterrupted has an alarm command and an address that never end, and no
// time.
func TestInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits")
	}
	t.Parallel() // it waits
	held := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
	defer server.Close()
	defer close(held)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	err := monitor.Tell(ctx, config.Monitor{AlarmCommand: "sleep 60", AlarmURL: server.URL, MaxNew: 1}, monitor.Outcome{Summary: night(), ExitCode: 130})
	if took := time.Since(began); err == nil || took > 10*time.Second {
		t.Errorf("%v after %v", err, took)
	}
}
