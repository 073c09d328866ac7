package summary_test

import (
	"os"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/summary"
)

func Example() {
	s := summary.Summary{Out: "night1", Documents: 3, Matched: 2, Kept: 2, Dropped: 1, Found: summary.Found{Clusters: 1, Clustered: 2},
		Largest: []summary.Cluster{{Example: "https://example.org/1", Size: 2}}}
	if err := s.Print(os.Stdout, message.English); err != nil {
		panic(err)
	}
	// Output:
	// documents    3
	// matched      2 (66.7 %)
	// clusters     1 with 2 documents
	// clean dump   2 documents kept, 1 left out
	// largest             2  https://example.org/1
	// time         0s
	// files        0 B in night1
}
