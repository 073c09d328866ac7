package job

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// counted is a log handler that counts warnings and errors, including those
// that the handler below it does not show.
type counted struct {
	slog.Handler
	warnings *atomic.Int64
}

func (c counted) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || c.Handler.Enabled(ctx, level)
}

func (c counted) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		c.warnings.Add(1)
	}
	if !c.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

func (c counted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return counted{c.Handler.WithAttrs(attrs), c.warnings}
}

func (c counted) WithGroup(name string) slog.Handler {
	return counted{c.Handler.WithGroup(name), c.warnings}
}
