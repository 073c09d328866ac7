// Command generate derives the embedded segmentation model from the
// dictionaries of the gojieba version in go.mod.
package main

import (
	"fmt"
	"os"

	"github.com/yanyiwu/gojieba"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
	"github.com/neardup/neardup/simhash/jieba/internal/source"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: generate FILE")
	}
	m, err := source.Derive(gojieba.DICT_DIR)
	if err != nil {
		return err
	}
	file, err := model.Encode(m)
	if err != nil {
		return err
	}
	return os.WriteFile(os.Args[1], file, 0o644)
}
