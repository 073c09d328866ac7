package labels_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/labels"
)

func Example() {
	dir, err := os.MkdirTemp("", "labels-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "verdicts.csv")
	err = labels.Append(path,
		labels.Row{A: "draft", B: "published", Answer: labels.Yes, Who: "ada"},
		labels.Row{A: "draft", B: "published", Answer: labels.No, Who: "lin", Why: "another law"},
		labels.Row{A: "draft", B: "digest", Answer: labels.No, Who: "ada"})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := labels.Read(path)
	for _, p := range labels.Merge(rows) {
		fmt.Println(p.A, p.B, p.Answer, p.Disagree(), err)
	}
	// Output:
	// draft published unsure true <nil>
	// draft digest no false <nil>
}
