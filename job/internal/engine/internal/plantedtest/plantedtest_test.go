package plantedtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine/internal/plantedtest"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/views"
)

// What is planted is the same every time, and has documents of every kind.
func TestPlanted(t *testing.T) {
	for name, make := range map[string]func() []data.View{
		"views": func() []data.View { return plantedtest.Views(1000, 128) },
		"hot":   plantedtest.Hot,
		"alike": func() []data.View { return plantedtest.Alike(1000) },
	} {
		x, y := make(), make()
		short := 0
		for i := range x {
			if !x[i].Equal(&y[i]) {
				t.Fatalf("%s: document %d is another the second time", name, i)
			}
			if len(x[i].Letters) > 0 {
				short++
			}
		}
		if len(x) < 1000 || (short > 10) == (name == "alike") {
			t.Errorf("%s: %d documents, %d of them short", name, len(x), short)
		}
	}
}

func ExampleWrite() {
	tmp, err := os.MkdirTemp("", "planted")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(tmp)
	dir, err := rundir.Open(filepath.Join(tmp, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	same := data.View{Lo: 7, Sketch: [data.SketchSize]byte{1}, Normal: true}
	documents, err := plantedtest.Write(dir, config.Default(), 2, []data.View{same, {Lo: 8, Normal: true}, same})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = documents.Each(context.Background(), 0, documents.Len(), 0, func(doc uint64, _ *views.Row) error {
		fmt.Println("document", doc, "emits keys")
		return nil
	})
	fmt.Println(errors.Join(err, dir.Close()))
	// Output:
	// document 0 emits keys
	// document 1 emits keys
	// <nil>
}
