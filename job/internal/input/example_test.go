package input_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
)

// The documents of a folder; a line that is none is told apart.
func Example() {
	folder, err := os.MkdirTemp("", "input")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	lines := `{"url":"http://a.example/","text":"near"}
no JSON
{"url":"http://b.example/","text":"duplicate"}
`
	if err := os.WriteFile(filepath.Join(folder, "dump.jsonl"), []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}
	c := config.Default()
	splits, err := input.Expand([]string{folder}, c.Input, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(splits), "split of", input.Bytes(splits), "bytes")
	read := int64(0)
	err = input.EachDocument(context.Background(), splits[0], c.ReaderOptions(), func(n int64) { read += n },
		func(bad *data.BadRecord) { fmt.Println("skipped:", bad.Reason) },
		func(doc *data.Document) error {
			fmt.Printf("%s %s\n", doc.ID, doc.Text)
			return nil
		})
	fmt.Println(read, "bytes read", err)
	// Output:
	// 1 split of 97 bytes
	// http://a.example/ near
	// skipped: malformed
	// http://b.example/ duplicate
	// 97 bytes read <nil>
}
