package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/exactdup"
	"github.com/neardup/neardup/job/internal/state/views"
)

// The join leaves out a document that no verdict can tell from an earlier one.
func Example() {
	folder, err := os.MkdirTemp("", "corpus")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	run, err := rundir.Open(filepath.Join(folder, "run"))
	if err != nil {
		fmt.Println(err)
		return
	}
	path := corpus.ViewPath(run, 0)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	out, err := views.Create(path, views.Form{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []string{"a", "b", "c"}
	for i, fingerprint := range []uint64{7, 9, 7} {
		row := views.Row{ID: uint64(i)}
		row.View.Lo, row.View.Normal = fingerprint, true
		err = errors.Join(err, out.Write(&row))
	}
	if err := errors.Join(err, out.Commit()); err != nil {
		fmt.Println(err)
		return
	}

	documents, err := corpus.Open(run, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := corpus.Deduper{Documents: documents, Workers: 1, Memory: 1 << 20, IDs: func(_ context.Context, _ int, yield func([]byte) error) (err error) {
		for _, id := range ids {
			err = errors.Join(err, yield([]byte(id)))
		}
		return err
	}}
	err = x.Find(context.Background(), func(d exactdup.Document) error {
		fmt.Println(ids[d.Doc], "is as", ids[d.Of])
		return nil
	})
	fmt.Println(documents.Len(), documents.Excluded(2), err, run.Close())
	// Output:
	// c is as a
	// 3 true <nil> <nil>
}
