package views_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/views"
)

// Example writes two splits and reads them as one run.
func Example() {
	dir, err := os.MkdirTemp("", "views")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	paths := []string{filepath.Join(dir, "part-00000"), filepath.Join(dir, "part-00001")}
	for i, path := range paths {
		w, err := views.Create(path, views.Form{Verified: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		for j := range 3 {
			row := views.Row{ID: uint64(10*i + j), Keep: math.NaN()}
			row.View = data.View{Lo: uint64(j), Length: 12, Letters: []byte("short text")}
			if err := w.Write(&row); err != nil {
				fmt.Println(err, w.Abort())
				return
			}
		}
		if err := w.Commit(); err != nil {
			fmt.Println(err)
			return
		}
	}

	f, err := views.Open(paths)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = f.Scan(2, 5, views.ID, func(doc uint64, r *views.Row) error {
		fmt.Println("document", doc, "of part", f.Part(doc), "has id", r.ID)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var v data.View
	reader := f.Reader()
	defer reader.Close()
	if err := reader.View(5, &v); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x %s\n", v.Lo, v.Letters)
	// Output:
	// document 2 of part 0 has id 2
	// document 3 of part 1 has id 10
	// document 4 of part 1 has id 11
	// 2 short text
}
