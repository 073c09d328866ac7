package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// How often it is said how far a stage is: a terminal's line is redrawn, JSON
// lines follow each other, and log lines become rarer up to the last of these.
const (
	redrawEvery = 200 * time.Millisecond
	jsonEvery   = 2 * time.Second
	firstLog    = 2 * time.Second
	logEvery    = 30 * time.Second
)

// screen is what stderr shows: the log, and how far the stage under way is. On
// a terminal that is one line, which stays below the log and goes when the stage
// ends; else lines of the log, or with --json objects.
type screen struct {
	w    io.Writer
	json bool
	log  *slog.Logger

	language message.Language
	columns  func() int // of the terminal; nil: it is none
	file     string     // that has the pace of the stage, as JSON; "": none

	stages []string // of the run; nil: what it tells of is none
	begun  time.Time
	from   int // the first stage that was not finished before

	mu   sync.Mutex
	line string // shown now
}

// ofStages has the screen tell which of a run's stages is under way, and how long
// the run will take.
func (s *screen) ofStages(names []string) { s.stages, s.begun, s.from = names, time.Now(), -1 }

// stageShares are about how much of a run's time each stage takes, of 1,000, by a
// stage that only such runs have: measured on 34,000 pages of Chinese and English,
// 94 MB. Only the proportions count, and only for the stages still to come.
var stageShares = []struct {
	with string
	of   map[string]float64
}{
	{"texts", map[string]float64{"learn": 11, "templates": 1, "fingerprint": 320, "exact": 1, "history": 13, "match": 102, "texts": 87, "verify": 67, "cluster": 340, "ids": 1, "write": 47, "publish": 10}},
	{"read", map[string]float64{"read": 92, "exact": 31, "match": 711, "cluster": 87, "ids": 15, "write": 64}},
	{"fingerprint", map[string]float64{"learn": 53, "templates": 7, "fingerprint": 677, "exact": 5, "history": 27, "match": 66, "verify": 2, "cluster": 14, "ids": 1, "write": 110, "publish": 40}},
}

func sharesOf(stages []string) map[string]float64 {
	for _, s := range stageShares {
		if slices.Contains(stages, s.with) {
			return s.of
		}
	}
	return nil
}

// runLeft is about how many seconds the whole run still takes. It began with the
// stage from, so many seconds ago, and its stage at has so many left: what is done
// says how fast this machine is. It is 0 where too little is done to say.
func runLeft(stages []string, from, at int, gone, left float64) float64 {
	done, ahead, shares := 0.0, 0.0, sharesOf(stages)
	for i, name := range stages {
		switch {
		case i > at:
			ahead += shares[name]
		case i >= from:
			done += shares[name]
		}
	}
	if done == 0 || gone+left == 0 {
		return 0
	}
	return left + ahead*(gone+left)/done
}

func newScreen(w io.Writer, l message.Language, asJSON, verbose bool) *screen {
	s := &screen{w: w, json: asJSON, language: l}
	if f, ok := w.(*os.File); ok && !asJSON && term.IsTerminal(int(f.Fd())) {
		s.columns = func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil || columns <= 0 {
				return helpWidth
			}
			return columns
		}
	}
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if verbose {
		o.Level = slog.LevelDebug
	}
	s.log = slog.New(spoken{slog.NewTextHandler(s, o), s})
	if asJSON {
		o.ReplaceAttr = typed
		s.log = slog.New(slog.NewJSONHandler(s, o)).With("type", "log")
	}
	return s
}

// spoken is the log in the language of who reads it on a terminal. In a file and in
// JSON its sentences are English, whoever runs the program, so that what searches
// a log has one wording to look for. Names of values are the same everywhere.
type spoken struct {
	slog.Handler
	screen *screen
}

func (h spoken) Handle(ctx context.Context, r slog.Record) error {
	l := h.screen.language
	if h.screen.columns == nil || l == message.English {
		return h.Handler.Handle(ctx, r)
	}
	said := slog.NewRecord(r.Time, r.Level, l.Error(errors.New(r.Message)), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			a.Value = slog.StringValue(l.Error(err))
		}
		said.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, said)
}

func (h spoken) WithAttrs(attrs []slog.Attr) slog.Handler {
	return spoken{h.Handler.WithAttrs(attrs), h.screen}
}

func (h spoken) WithGroup(name string) slog.Handler {
	return spoken{h.Handler.WithGroup(name), h.screen}
}

// typed has objects of the log tell durations in seconds, as all others do.
func typed(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.Float64Value(a.Value.Duration().Seconds())
	}
	return a
}

// Write writes a line of the log above that of the stage.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line := s.line
	s.draw("")
	n, err := s.w.Write(b)
	s.draw(line)
	return n, err
}

// draw shows a line in the place of the one that is shown.
func (s *screen) draw(line string) {
	const interrupt = 2 // cells that a terminal shows of Ctrl-C
	if s.line != "" {
		fmt.Fprintf(s.w, "\r%*s\r", show.Cells(s.line)+interrupt, "")
	}
	if line != "" {
		_, _ = io.WriteString(s.w, line)
	}
	s.line = line
}

// passes begins a pass of a stage over so many units.
type passes = func(total int64, unit string) (advance func(int64))

// progress tells how far a stage is, from now on until done. A stage goes over
// its work in one pass or several: pass begins one of so many units, and returns
// what is told when some are done.
func (s *screen) progress(stage string) (pass passes, done func()) {
	if s.from < 0 {
		s.from = slices.Index(s.stages, stage)
	}
	m := &meter{stage: stage, began: time.Now(), stages: s.stages, from: s.from, run: s.begun}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		wait := firstLog
		switch {
		case s.columns != nil:
			wait = redrawEvery
		case s.json:
			wait = jsonEvery
		}
		tell, write := m.began.Add(wait), m.began.Add(jsonEvery)
		for {
			var now time.Time
			select {
			case <-stop:
				s.erase()
				return
			case now = <-tick.C:
			}
			if !now.Before(tell) {
				if s.tell(m.pace(now)); s.columns == nil && !s.json {
					wait = min(2*wait, logEvery)
				}
				tell = now.Add(wait)
			}
			if s.file != "" && !now.Before(write) {
				s.write(m.pace(now))
				write = now.Add(jsonEvery)
			}
		}
	}()
	var once sync.Once
	return m.pass, func() {
		once.Do(func() { close(stop) })
		<-stopped
	}
}

// erase removes what tells of a stage.
func (s *screen) erase() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw("")
	if s.file != "" {
		_ = os.Remove(s.file)
	}
}

// write writes the pace for neardup status, which does without it if need be.
func (s *screen) write(p pace) {
	if text, err := json.Marshal(p); err == nil && os.MkdirAll(filepath.Dir(s.file), 0o777) == nil {
		_ = os.WriteFile(s.file, append(text, '\n'), 0o666)
	}
}

func (s *screen) tell(p pace) {
	switch {
	case s.columns != nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.draw(p.line(s.columns(), s.language))
	case s.json:
		if text, err := json.Marshal(p); err == nil {
			_, _ = s.Write(append(text, '\n'))
		}
	default:
		s.log.Info("progress", p.attributes()...)
	}
}

// meter is a stage under way, and its pass.
type meter struct {
	stage  string
	began  time.Time
	stages []string // of the run that it is of; nil: of none
	from   int      // the first that the run did, from then on
	run    time.Time
	now    atomic.Pointer[counter]
}

type counter struct {
	unit  string
	pass  int
	total int64
	done  atomic.Int64
	began time.Time
}

func (m *meter) pass(total int64, unit string) func(int64) {
	c := &counter{unit: unit, pass: 1, total: total, began: time.Now()}
	if last := m.now.Load(); last != nil { // passes follow each other
		c.pass = last.pass + 1
	}
	m.now.Store(c)
	return func(n int64) { c.done.Add(n) }
}

// pace is how far a stage is at a moment. What is not known is 0.
type pace struct {
	Type    string  `json:"type"` // progress
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`        // since it began
	Pass    int     `json:"pass,omitempty"` // of the stage over its work; what follows is of it
	Unit    string  `json:"unit,omitempty"`
	Done    int64   `json:"done,omitempty"`
	Total   int64   `json:"total,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // units a second
	Left    float64 `json:"left,omitempty"` // seconds, a second at least

	Number  int     `json:"number,omitempty"`   // of the stage, from 1
	Stages  int     `json:"stages,omitempty"`   // of the run
	RunLeft float64 `json:"run_left,omitempty"` // seconds, of the whole run, about
}

func (m *meter) pace(now time.Time) pace {
	p := pace{Type: "progress", Stage: m.stage, Seconds: now.Sub(m.began).Seconds()}
	at := slices.Index(m.stages, m.stage)
	if at >= 0 {
		p.Number, p.Stages = at+1, len(m.stages)
	}
	c := m.now.Load()
	if c == nil {
		return p
	}
	p.Pass, p.Unit, p.Total = c.pass, c.unit, c.total
	p.Done = c.done.Load()
	if p.Total > 0 {
		p.Done = min(p.Done, p.Total) // a file may grow as it is read
	}
	if took := now.Sub(c.began).Seconds(); took > 0 {
		p.Rate = float64(p.Done) / took
	}
	if p.Rate > 0 && p.Done < p.Total {
		p.Left = max(float64(p.Total-p.Done)/p.Rate, 1)
	}
	if at >= 0 && (p.Left > 0 || p.all()) {
		p.RunLeft = runLeft(m.stages, m.from, at, now.Sub(m.run).Seconds(), p.Left)
	}
	return p
}

// all reports whether all units are done; the stage is not: what was read last
// is still worked on.
func (p pace) all() bool { return p.Total > 0 && p.Done == p.Total }

func (p pace) left(l message.Language) string {
	if p.all() {
		return l.Text("finishing")
	}
	if p.Left == 0 {
		return ""
	}
	return l.Text("%s left", seconds(p.Left))
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}

// amount writes so many units, or of them a second.
func (p pace) amount(n float64) string {
	switch {
	case p.Unit == "bytes":
		return show.Bytes(int64(n))
	case n < 10 && n != float64(int64(n)):
		return fmt.Sprintf("%.1f", n)
	}
	return fmt.Sprintf("%.0f", n)
}

// unitOf is what stands behind so many units; an amount of bytes has its own.
func (p pace) unitOf(n int64) string {
	if p.Unit == "bytes" {
		return ""
	}
	thing, what, _ := strings.Cut(p.Unit, " ")
	return strings.TrimRight(" "+show.Noun(n, strings.TrimSuffix(thing, "s"))+" "+what, " ")
}

// line is the pace as a line of a terminal of so many columns. A bar stands
// where there is room for one; the rate, the time gone and the amount go first.
func (p pace) line(columns int, l message.Language) string {
	stage := fmt.Sprintf("%-12s", p.Stage)
	if p.Number > 0 {
		stage = l.Text("stage %d of %d", p.Number, p.Stages) + " " + fmt.Sprintf("%-11s", p.Stage)
	}
	type part struct {
		text string
		rank int // 0 stays
	}
	var parts []part
	switch {
	case p.Total > 0:
		parts = append(parts, part{fmt.Sprintf("%3d %%", 100*p.Done/p.Total), 0}, part{l.Text("%s of %s", p.amount(float64(p.Done)), p.amount(float64(p.Total))+p.unitOf(p.Total)), 1})
	case p.Done > 0:
		parts = append(parts, part{p.amount(float64(p.Done)) + p.unitOf(p.Done), 0})
	}
	if p.Rate > 0 {
		parts = append(parts, part{p.amount(p.Rate) + "/s", 3})
	}
	parts = append(parts, part{seconds(p.Seconds), 2})
	if left := p.left(l); left != "" {
		parts = append(parts, part{left, 0})
	}
	if p.RunLeft > 0 {
		parts = append(parts, part{l.Text("run %s", seconds(p.RunLeft)), 0})
	}
	columns = max(columns-3, 1) // a terminal shows Ctrl-C behind it
	const widest, narrowest, frame = 20, 5, len("  [] ")
	var text string
	for rank := 4; rank > 0; rank-- {
		var shown []string
		for _, of := range parts {
			if of.rank < rank {
				shown = append(shown, of.text)
			}
		}
		text = strings.Join(shown, "  ")
		room := columns - show.Cells(stage) - show.Cells(text)
		if p.Total == 0 && room >= 2 || room >= frame+narrowest {
			break
		}
	}
	if bar := min(columns-show.Cells(stage)-show.Cells(text)-frame, widest); p.Total > 0 && bar >= narrowest {
		full := int(int64(bar) * p.Done / p.Total)
		text = fmt.Sprintf("[%s%s] %s", strings.Repeat("=", full), strings.Repeat(" ", bar-full), text)
	}
	return show.Cut(stage+"  "+text, columns)
}

// attributes is the pace as a line of the log.
func (p pace) attributes() []any {
	all := []any{"stage", p.Stage, "seconds", int(p.Seconds)}
	if p.Number > 0 {
		all = []any{"stage", p.Stage, "number", p.Number, "stages", p.Stages, "seconds", int(p.Seconds)}
	}
	if p.Unit != "" {
		all = append(all, strings.ReplaceAll(p.Unit, " ", "_"), p.Done)
	}
	if p.Total > 0 {
		all = append(all, "of", p.Total)
	}
	if p.Rate > 0 {
		all = append(all, "rate", p.amount(p.Rate)+"/s")
	}
	if left := p.left(message.English); left != "" {
		all = append(all, "left", strings.TrimSuffix(left, " left"))
	}
	if p.RunLeft > 0 {
		all = append(all, "run_left", seconds(p.RunLeft))
	}
	return all
}
