package cli

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A stage that ends, with or without having advanced, ends its bar.
func TestProgressEnds(t *testing.T) {
	for name, show := range map[string]func(io.Writer) func(string, int64, string) (func(int64), func()){
		"bars": bars,
		"log": func(w io.Writer) func(string, int64, string) (func(int64), func()) {
			return progress(w, slog.New(slog.NewTextHandler(w, nil)))
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
