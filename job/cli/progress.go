package cli

import (
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

// progress shows a bar per stage on a terminal, else a log line every 30 s.
func progress(stderr io.Writer, log *slog.Logger) func(stage string, total int64, unit string) (func(int64), func()) {
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return bars(stderr)
	}
	return func(stage string, total int64, unit string) (func(int64), func()) {
		return logged(log, stage, total, unit)
	}
}

func bars(w io.Writer) func(stage string, total int64, unit string) (func(int64), func()) {
	return func(stage string, total int64, unit string) (func(int64), func()) {
		p := mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(200*time.Millisecond))
		count, speed, left := decor.CountersNoUnit("%d / %d"), decor.Name(""), decor.Name("")
		if unit == "bytes" {
			left = decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), "")
			count = decor.CountersKibiByte("% .1f / % .1f")
			speed = decor.AverageSpeed(decor.SizeB1024(0), "  % .1f")
		}
		bar := p.AddBar(total,
			mpb.PrependDecorators(decor.Name(stage, decor.WC{W: 12, C: decor.DindentRight}), count),
			mpb.AppendDecorators(decor.Percentage(decor.WC{W: 5}), speed, decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO), decor.Name("  "), left))
		return func(n int64) { bar.IncrInt64(n) }, func() {
			if unit == "tasks" {
				bar.SetCurrent(total)
			}
			bar.Abort(false) // what did not complete stays where it is: it would be waited for
			p.Wait()
		}
	}
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
