package sample_test

import (
	"fmt"
	"io/fs"

	"github.com/neardup/neardup/data/sample"
)

func Example() {
	files, err := fs.Glob(sample.Files(), "*")
	if err != nil {
		fmt.Println(err)
		return
	}
	pages, err := sample.Truth()
	if err != nil {
		fmt.Println(err)
		return
	}
	documents, mirrors := 0, 0
	for _, p := range pages {
		if p.Skip == "" {
			documents++
		}
		if p.Kind == "mirror" {
			mirrors++
		}
	}
	fmt.Println(files)
	fmt.Println(len(pages), "records,", documents, "documents,", mirrors, "mirrors")
	// Output:
	// [crawl-00.warc.gz crawl-01.warc.gz pages-00.jsonl.gz pages-01.jsonl]
	// 432 records, 421 documents, 24 mirrors
}
