package cli

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/neardup/neardup/job"
)

// logEvery is how often progress is logged when stderr is no terminal.
const logEvery = 30 * time.Second

// screen is where progress and log lines go. While a bar is shown, lines
// are handed to it: it would draw over them.
type screen struct {
	w   io.Writer
	mu  sync.Mutex
	bar *mpb.Progress // on w now; nil: none
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bar != nil {
		if n, err := s.bar.Write(b); !errors.Is(err, mpb.ErrDone) {
			return n, err
		}
	}
	return s.w.Write(b)
}

// progress shows a bar per stage on a terminal, else a log line every 30 s.
func (s *screen) progress(log *slog.Logger) func(stage string, total int64, unit string) (func(int64), func()) {
	if f, ok := s.w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return s.show
	}
	return func(stage string, total int64, unit string) (func(int64), func()) {
		return logged(log, stage, total, unit)
	}
}

// show shows a bar.
func (s *screen) show(stage string, total int64, unit string) (func(int64), func()) {
	p := mpb.New(mpb.WithOutput(s.w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(200*time.Millisecond))
	count, speed, left := decor.CountersNoUnit("%d / %d"), decor.Name(""), decor.Name("")
	if unit == "bytes" {
		left = decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "")
		count = decor.CountersKibiByte("% .1f / % .1f")
		speed = decor.AverageSpeed(decor.SizeB1024(0), "  % .1f")
	}
	bar := p.AddBar(total,
		mpb.PrependDecorators(decor.Name(stage, decor.WC{W: 12, C: decor.DindentRight}), count),
		mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), speed, decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO), decor.Name("  "), left))
	s.swap(p)
	return func(n int64) { bar.IncrInt64(n) }, func() {
		if unit == "tasks" {
			bar.SetCurrent(total)
		}
		bar.Abort(false) // what did not complete stays where it is: it would be waited for
		p.Wait()
		s.swap(nil)
	}
}

func (s *screen) swap(bar *mpb.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar = bar
}

func logged(log *slog.Logger, stage string, total int64, unit string) (func(int64), func()) {
	var at atomic.Int64
	began := time.Now()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(logEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				log.Info("progress", pace(stage, unit, at.Load(), total, time.Since(began))...)
			}
		}
	}()
	var once sync.Once
	return func(n int64) { at.Add(n) }, func() {
		once.Do(func() { close(stop) })
		<-stopped
	}
}

// pace is what a log line says of a stage: how far it is, how fast, and how
// long it will take.
func pace(stage, unit string, at, total int64, elapsed time.Duration) []any {
	line := []any{"stage", stage, unit, at, "of", total, "seconds", int(elapsed.Seconds())}
	if unit != "bytes" || at <= 0 || elapsed <= 0 {
		return line
	}
	rate := float64(at) / elapsed.Seconds()
	line = append(line, "rate", job.Bytes(int64(rate))+"/s")
	if total > at {
		line = append(line, "left", (time.Duration(float64(total-at) / rate * float64(time.Second))).Round(time.Second))
	}
	return line
}
