// Command generate writes the sample dump and its truth into a folder:
//
//	go run ./data/sample/generate -out data/sample
//
// All text is composed from the words and sentence patterns of this package.
// The same program writes the same bytes each time; it reads nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
)

func main() {
	out := flag.String("out", "", "folder that the files are written into")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: generate -out FOLDER")
		os.Exit(2)
	}
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes the files into folder, each of them complete or not at all.
func run(folder string) error {
	files, err := generate()
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := data.WriteFileAtomic(filepath.Join(folder, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}
