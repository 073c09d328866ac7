// Command neardup finds the near-duplicate documents of a crawl dump.
package main

import (
	"os"

	"github.com/neardup/neardup/job/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
