package learn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/learn"
)

func Example() {
	dir, err := os.MkdirTemp("", "learn")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	dump := filepath.Join(dir, "dump.jsonl")
	if err := os.WriteFile(dump, []byte(`{"id":"a","text":"the cat sat"}`+"\n"+`{"id":"b","text":"the dog ran"}`+"\n"), 0o600); err != nil {
		panic(err)
	}
	d := learn.Dump{Config: config.Default(), Inputs: []string{dump}, Workers: 1}
	words, err := d.Lexicon(context.Background(), learn.LexiconOptions{MaxShare: 0.9, MinDocuments: 2, IDFDocuments: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println(words.Documents, words.Trained)
	// Output: 2 [the]
}
