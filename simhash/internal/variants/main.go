// Command variants writes the table of traditional characters and their
// simplified forms from OpenCC's TSCharacters.txt (Apache-2.0), as it is
// packaged in opencc-python-reimplemented 0.1.7:
//
//	go run ./internal/variants path/to/TSCharacters.txt > traditional.go
//
// It keeps the first, most usual form of each character, follows chains to
// their end so that the folding is idempotent, and leaves out what folds to
// itself. It never fetches anything.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/neardup/neardup/simhash/internal/variants/table"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "variants:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: variants TSCharacters.txt")
	}
	source, err := table.Generate(os.Args[1])
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(source)
	return err
}
