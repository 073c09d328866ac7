// Command manual writes neardup's man pages, one for each command, into a
// folder. scripts/release.sh calls it.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra/doc"

	"github.com/neardup/neardup/job/internal/cli"
	"github.com/neardup/neardup/job/internal/version"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: manual FOLDER 2026-11-22")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes the pages, which bear the date, into the folder.
func write(folder, date string) error {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return err
	}
	root := cli.Commands(os.Stdin, os.Stdout, os.Stderr)
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Title: "NEARDUP", Section: "1", Date: &day, Source: "neardup " + version.Version, Manual: "neardup"}, folder)
}
