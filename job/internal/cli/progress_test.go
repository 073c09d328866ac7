package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// A stage ends, whatever it told, and leaves nothing on a terminal.
func TestProgressEnds(t *testing.T) {
	for name, of := range map[string]func(io.Writer) *screen{
		"terminal": onTerminal,
		"log":      func(w io.Writer) *screen { return newScreen(w, message.English, false, false) },
		"json":     func(w io.Writer) *screen { return newScreen(w, message.English, true, false) },
	} {
		v := new(tty)
		s := of(v)
		for _, c := range []struct {
			total   int64
			advance int64
		}{{1, 0}, {100, 70}, {100, 130}, {0, 0}, {0, 7}} {
			pass, done := s.progress("stage")
			pass(c.total, "bytes")(c.advance)
			done()
			done()
		}
		if len(v.rows) > 0 || strings.TrimSpace(v.row) != "" {
			t.Errorf("%s: %q, %q", name, v.rows, v.row)
		}
	}
}

func onTerminal(w io.Writer) *screen {
	s := newScreen(w, message.English, false, false)
	s.columns = func() int { return 60 }
	return s
}

// tty keeps the rows that a terminal shows of what is written to it.
type tty struct {
	mu     sync.Mutex
	rows   []string
	row    string
	column int
}

func (v *tty) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range string(b) {
		switch c {
		case '\n':
			v.rows, v.row, v.column = append(v.rows, strings.TrimRight(v.row, " ")), "", 0
		case '\r':
			v.column = 0
		default:
			row := []rune(v.row)
			v.row = string(append(row[:v.column:v.column], append([]rune{c}, row[min(v.column+1, len(row)):]...)...))
			v.column++
		}
	}
	return len(b), nil
}

func (v *tty) shows() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.row
}

// A log line that comes while a stage is shown stays above it, and the stage's
// line goes.
func TestLogAboveProgress(t *testing.T) {
	v := new(tty)
	s := onTerminal(v)
	pass, done := s.progress("stage")
	pass(100, "rows")(50)
	await := func(text string) {
		for began := time.Now(); !strings.Contains(v.shows(), text); time.Sleep(time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("the terminal shows %q, not %q", v.shows(), text)
			}
		}
	}
	await("50 of 100 rows")
	s.log.Warn("first")
	await("stage")
	if row := v.shows(); len(row) > 60 {
		t.Errorf("%d columns: %q", len(row), row)
	}
	done()
	s.log.Warn("second")
	if len(v.rows) != 2 || !strings.Contains(v.rows[0], "first") || !strings.Contains(v.rows[1], "second") || strings.Contains(v.rows[1], "stage") {
		t.Errorf("the terminal shows %q", v.rows)
	}
}

func TestPace(t *testing.T) {
	for _, c := range []struct {
		unit      string
		at, total int64
		line, log string
	}{
		{"bytes", 20 << 20, 60 << 20, "s             [======              ]  33 %  20.0 MiB of 60.0 MiB  2.0 MiB/s  10s  20s left",
			"[stage s seconds 10 bytes 20971520 of 62914560 rate 2.0 MiB/s left 20s]"},
		{"bytes", 70 << 20, 60 << 20, "s             [====================] 100 %  60.0 MiB of 60.0 MiB  6.0 MiB/s  10s  finishing",
			"[stage s seconds 10 bytes 62914560 of 62914560 rate 6.0 MiB/s left finishing]"},
		{"bytes", 0, 60, "s             [                    ]   0 %  0 B of 60 B  10s", "[stage s seconds 10 bytes 0 of 60]"},
		{"tables", 999, 1000, "s             [=================== ]  99 %  999 of 1000 tables  100/s  10s  1s left",
			"[stage s seconds 10 tables 999 of 1000 rate 100/s left 1s]"},
		{"tables", 0, 0, "s             10s", "[stage s seconds 10 tables 0]"},
		{"features ranked", 1, 4, "s             [=====               ]  25 %  1 of 4 features ranked  0.1/s  10s  30s left",
			"[stage s seconds 10 features_ranked 1 of 4 rate 0.1/s left 30s]"},
		{"splits", 0, 1, "s             [                    ]   0 %  0 of 1 split  10s", "[stage s seconds 10 splits 0 of 1]"},
		{"features ranked", 0, 1, "s             [                    ]   0 %  0 of 1 feature ranked  10s", "[stage s seconds 10 features_ranked 0 of 1]"},
		{"rows", 1, 0, "s             1 row  0.1/s  10s", "[stage s seconds 10 rows 1 rate 0.1/s]"},
		{"rows", 70, 0, "s             70 rows  7/s  10s", "[stage s seconds 10 rows 70 rate 7/s]"},
	} {
		now := time.Now()
		m := &meter{stage: "s", began: now}
		m.pass(c.total, c.unit)(c.at)
		m.now.Load().began = now
		p := m.pace(now.Add(10 * time.Second))
		if got := p.line(200, message.English); got != c.line {
			t.Errorf("got  %s\nwant %s", got, c.line)
		}
		if got := fmt.Sprint(p.attributes()); got != c.log {
			t.Errorf("got  %s\nwant %s", got, c.log)
		}
	}
}

// A run's line says which of its stages is under way and what is left of the
// whole, on a terminal of 80 columns too; what a run did not do itself tells
// nothing of this machine.
func TestPaceOfRun(t *testing.T) {
	stages := job.StageNames(job.CommandRun, &config.Config{Features: config.Features{StripBoilerplate: true}, Library: config.Library{Path: "lib"}})
	now := time.Now()
	m := &meter{stage: "fingerprint", began: now, stages: stages, run: now.Add(-5 * time.Second)}
	m.pass(60<<30, "bytes")(20 << 30)
	m.now.Load().began = now
	p := m.pace(now.Add(100 * time.Second))
	at := slices.Index(stages, "fingerprint")
	if p.Number != at+1 || p.Stages != len(stages) || p.Left != 200 || p.RunLeft < 200 || p.RunLeft > 500 {
		t.Errorf("%+v", p)
	}
	for l, want := range map[message.Language]string{message.English: fmt.Sprintf("stage %d of %d fingerprint", p.Number, p.Stages), message.Chinese: fmt.Sprintf("第 %d/%d 步 fingerprint", p.Number, p.Stages)} {
		if line := p.line(80, l); !strings.HasPrefix(line, want) || show.Cells(line) > 77 || !strings.Contains(line, "[=") || !strings.Contains(line, seconds(p.RunLeft)) {
			t.Errorf("%d cells: %q", show.Cells(line), line)
		}
	}
	if line := p.line(50, message.English); show.Cells(line) > 47 || !strings.Contains(line, "33 %") {
		t.Errorf("%q", line)
	}
	if resumed := runLeft(stages, at, at, 100, 200); resumed <= runLeft(stages, 0, at, 100, 200) {
		t.Errorf("%.0f seconds where earlier stages were finished before", resumed)
	}
	if done := runLeft(stages, 0, len(stages)-1, 100, 0); done != 0 {
		t.Errorf("%.0f seconds of nothing", done)
	}
}

// Every stage has a share of the time.
func TestStageShares(t *testing.T) {
	for _, preset := range []string{config.PresetBalanced, config.PresetThorough} {
		for _, command := range []string{job.CommandRun, job.CommandMatch} {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Library.Path = "lib"; command == job.CommandMatch {
				cfg.Match.Containment, cfg.Match.Border = 0, 0 // fingerprints come without texts
				cfg.Match.Verify = config.VerifySketch
			}
			names := job.StageNames(command, &cfg)
			for _, name := range names {
				if sharesOf(names)[name] == 0 {
					t.Errorf("%s, %s: stage %s has none", command, preset, name)
				}
			}
		}
	}
}

// The log is in the language of who reads it on a terminal, and English in a file.
func TestLogInChinese(t *testing.T) {
	tell := func(s *screen) {
		s.log.With("library", "lib").Warn("another neardup has the library: waiting for it", "error", errors.New("file does not exist"), "documents", 7)
	}
	var file bytes.Buffer
	tell(newScreen(&file, message.Chinese, false, false))
	const english = `level=WARN msg="another neardup has the library: waiting for it" library=lib error="file does not exist" documents=7`
	if !strings.Contains(file.String(), english) {
		t.Errorf("in a file: %s", file.String())
	}
	for l, want := range map[message.Language]string{message.English: english, message.Chinese: "level=WARN msg=另一个 neardup 正在使用历史库：等待中 library=lib error=文件不存在 documents=7"} {
		var seen bytes.Buffer
		s := onTerminal(&seen)
		s.language = l
		tell(s)
		if got := seen.String(); !strings.Contains(strings.ReplaceAll(got, `"`, ""), strings.ReplaceAll(want, `"`, "")) {
			t.Errorf("%s: %s", l, got)
		}
	}
}

// With --json every line of stderr is an object that says its type.
func TestProgressAsJSON(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, message.English, true, false)
	s.log.Warn("something", "took", 1500*time.Millisecond)
	m := &meter{stage: "match", began: time.Now().Add(-time.Second)}
	m.pass(4, "tables")(1)
	s.tell(m.pace(time.Now()))
	var types []string
	for dec := json.NewDecoder(&out); dec.More(); {
		var line struct {
			Type  string  `json:"type"`
			Took  float64 `json:"took"`
			Stage string  `json:"stage"`
			Total int     `json:"total"`
		}
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		types = append(types, line.Type)
		if line.Type == "log" && line.Took != 1.5 || line.Type == "progress" && (line.Stage != "match" || line.Total != 4) {
			t.Errorf("%+v", line)
		}
	}
	if !slices.Equal(types, []string{"log", "progress"}) {
		t.Error(types)
	}
}

// How far the stage under way is stands in the run directory.
func TestStatusTellsTheTimeLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	dir, err := rundir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	if err := dir.Adopt(rundir.Manifest{Version: rundir.LayoutVersion, Command: job.CommandMatch, Config: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	(&screen{file: filepath.Join(path, rundir.Scratch, progressFile)}).write(pace{Stage: "match", Done: 5, Total: 10, Left: 30})
	status, err := readStatus(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := status.print(&out, message.English); err != nil || !strings.Contains(out.String(), "neardup match, running") || !strings.Contains(out.String(), "30s left") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// What the workers of a flow tell is summed up by step.
func TestFlowStatus(t *testing.T) {
	run := t.TempDir()
	workers := filepath.Join(run, "tmp", "gleam-00000000000000aa", "workers")
	if err := os.MkdirAll(workers, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"../spec":   `{"Steps":[{"Stage":"segment"},{"Stage":"partial"}]}`,
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
}
