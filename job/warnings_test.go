package job

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCounted counts warnings, those too that nobody is shown.
func TestCounted(t *testing.T) {
	for _, shown := range []slog.Level{slog.LevelInfo, slog.LevelError} {
		var out bytes.Buffer
		var warnings atomic.Int64
		log := slog.New(counted{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: shown}), &warnings})
		log.Info("begins")
		log.Warn("clocks differ")
		log.With("run", 1).WithGroup("flow").Warn("attempt failed, trying again", "attempt", 1)
		log.Error("ends")
		if n := warnings.Load(); n != 3 {
			t.Errorf("%d warnings", n)
		}
		if want, got := map[slog.Level]int{slog.LevelInfo: 4, slog.LevelError: 1}[shown], strings.Count(out.String(), "\n"); got != want {
			t.Errorf("%d lines are shown, want %d: %s", got, want, &out)
		}
	}
}
