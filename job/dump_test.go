package job_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
)

// Whoever learns from a dump tells of all its bytes, as they are read.
func TestDumpTellsHowFarItIs(t *testing.T) {
	dir, size := t.TempDir(), int64(0)
	for _, name := range []string{"a.jsonl", "b.jsonl"} {
		info, err := os.Stat(jsonl(t, filepath.Join(dir, name), sitesLines()...))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	for name, learn := range map[string]func(job.Dump) error{
		"stop words": func(d job.Dump) error { _, err := d.StopWords(context.Background(), 0.5, 1); return err },
		"templates": func(d job.Dump) error {
			_, err := d.Templates(context.Background())
			return err
		},
	} {
		var told string
		var calls, done atomic.Int64
		err := learn(job.Dump{Config: config.Default(), Inputs: []string{dir}, Workers: 2, Pass: func(total int64, unit string) func(int64) {
			told += fmt.Sprint(total, " ", unit)
			return func(n int64) {
				if n > 0 {
					calls.Add(1)
				}
				done.Add(n)
			}
		}})
		if err != nil || told != fmt.Sprint(size, " bytes") || done.Load() != size || calls.Load() < 2 {
			t.Errorf("%s: %s, %d of %d bytes, told %d times: %v", name, told, done.Load(), size, calls.Load(), err)
		}
	}
}
