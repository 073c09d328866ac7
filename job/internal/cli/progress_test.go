package cli

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
)

// A stage that ends, with or without having advanced, ends its bar.
func TestProgressEnds(t *testing.T) {
	for name, show := range map[string]func(io.Writer) func(string, int64, string) (func(int64), func()){
		"bars": func(w io.Writer) func(string, int64, string) (func(int64), func()) {
			return (&screen{w: w}).show
		},
		"log": func(w io.Writer) func(string, int64, string) (func(int64), func()) {
			return (&screen{w: w}).progress(slog.New(slog.NewTextHandler(w, nil)))
		},
	} {
		var out bytes.Buffer
		start := show(&out)
		for _, c := range []struct {
			total   int64
			unit    string
			advance int64
		}{{1, "tasks", 0}, {1, "tasks", 1}, {100, "bytes", 0}, {100, "bytes", 70}, {100, "bytes", 130}, {0, "bytes", 0}, {0, "bytes", 7}} {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				advance, done := start("stage", c.total, c.unit)
				advance(c.advance)
				done()
			}()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: %+v does not end", name, c)
			}
		}
		if name == "bars" && !strings.Contains(out.String(), "stage") {
			t.Errorf("bars show nothing: %q", out.String())
		}
	}
}

// tty keeps the rows that a terminal shows of what is written to it.
type tty struct {
	mu   sync.Mutex
	rows []string
	row  string
}

var upAndErase = regexp.MustCompile("^\x1b\\[(\\d+)A\x1b\\[J")

func (v *tty) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for s := string(b); s != ""; {
		if m := upAndErase.FindStringSubmatch(s); m != nil {
			up, err := strconv.Atoi(m[1])
			if err != nil {
				return 0, err
			}
			v.rows, v.row, s = v.rows[:max(0, len(v.rows)-up)], "", s[len(m[0]):]
			continue
		}
		if s[0] == '\n' {
			v.rows, v.row = append(v.rows, v.row), ""
		} else {
			v.row += s[:1]
		}
		s = s[1:]
	}
	return len(b), nil
}

func (v *tty) shows(text string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return strings.Contains(strings.Join(v.rows, "\n"), text)
}

// A log line that comes while a bar is shown stays above it, and one that
// comes afterwards below.
func TestLogAboveBar(t *testing.T) {
	v := new(tty)
	s := &screen{w: v}
	log := newLog(s, false)
	advance, done := s.show("stage", 100, "bytes")
	for began := time.Now(); !v.shows("stage"); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("no bar is shown")
		}
	}
	log.Warn("first")
	advance(50)
	done()
	log.Warn("second")
	if len(v.rows) != 3 || !strings.Contains(v.rows[0], "first") || !strings.Contains(v.rows[1], "stage") || !strings.Contains(v.rows[2], "second") {
		t.Errorf("the terminal shows %q", v.rows)
	}
}

func TestPace(t *testing.T) {
	for _, c := range []struct {
		unit      string
		at, total int64
		want      string
	}{
		{"bytes", 20 << 20, 60 << 20, "[stage s bytes 20971520 of 62914560 seconds 10 rate 2.0 MiB/s left 20s]"},
		{"bytes", 70 << 20, 60 << 20, "[stage s bytes 73400320 of 62914560 seconds 10 rate 7.0 MiB/s]"},
		{"bytes", 0, 60, "[stage s bytes 0 of 60 seconds 10]"},
		{"tasks", 1, 3, "[stage s tasks 1 of 3 seconds 10]"},
	} {
		if got := fmt.Sprint(pace("s", c.unit, c.at, c.total, 10*time.Second)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// What the workers of a flow tell is summed up by step, and the time that is
// left follows from the bytes.
func TestFlowStatus(t *testing.T) {
	run := t.TempDir()
	workers := filepath.Join(run, "tmp", "gleam-00000000000000aa", "workers")
	if err := os.MkdirAll(workers, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"segment-0": `{"Stage":"segment","Task":0,"Host":"a","In":10,"Out":40,"CPU":1500,"Done":true}`,
		"segment-1": `{"Stage":"segment","Task":1,"Host":"b","In":20,"Out":80,"CPU":500}`,
		"partial-0": `{"Stage":"partial","Task":0,"Host":"a","In":60}`,
	} {
		if err := os.WriteFile(filepath.Join(workers, name+".json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := readFlow(run)
	want := []flowStatus{{Step: "segment", Tasks: 2, Done: 1, Hosts: 2, In: 30, Out: 120, Seconds: 2}, {Step: "partial", Tasks: 1, Hosts: 1, In: 60}}
	if err != nil || !slices.Equal(steps, want) {
		t.Errorf("got %+v, %v, want %+v", steps, err, want)
	}
	now := time.Now()
	s := stageStatus{Stage: "fingerprint", Done: 1, Tasks: 2, Bytes: 100, ETA: 30, started: now.Add(-30 * time.Second)}
	s.readOn([]data.Split{{Size: 100, End: -1}, {Size: 900, End: -1}}, 500, now)
	if s.ETA != 30 {
		t.Errorf("half is read in 30 s: got %v s left, want 30", s.ETA)
	}
	s.readOn([]data.Split{{Size: 100, End: -1}, {Size: 900, End: -1}}, 0, now)
	if s.ETA != 270 {
		t.Errorf("a tenth is read in 30 s: got %v s left, want 270", s.ETA)
	}
}
