package jieba

import (
	"errors"
	"runtime"
	"testing"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

func BenchmarkLoad(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var d *Dictionary
	for b.Loop() {
		var err error
		if d, err = load(embedded); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-resident")
	runtime.KeepAlive(d)
}

func TestLoadDamaged(t *testing.T) {
	for _, i := range []int{0, 8, 12, 16, 20, 40, len(embedded) / 2, len(embedded) - 1} {
		file := append([]byte(nil), embedded...)
		file[i] ^= 0x10
		if _, err := load(file); !errors.Is(err, model.ErrDamaged) {
			t.Errorf("byte %d changed: error %v", i, err)
		}
	}
	for _, n := range []int{0, 7, 19, 20, 1000, len(embedded) - 1} {
		if _, err := load(embedded[:n]); !errors.Is(err, model.ErrDamaged) {
			t.Errorf("first %d bytes: error %v", n, err)
		}
	}
}
