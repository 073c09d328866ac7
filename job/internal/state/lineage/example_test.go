package lineage_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job/internal/state/lineage"
)

func Example() {
	dir, err := os.MkdirTemp("", "lineage")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, lineage.File)
	if err := lineage.Write(path, map[uint64]lineage.Lineage{7: {Component: "2026-11-01/a"}}); err != nil {
		fmt.Println(err)
		return
	}
	clusters, err := lineage.Read(path)
	fmt.Println(clusters[7].Component, err)
	// Output: 2026-11-01/a <nil>
}
