// Command neardup finds the near-duplicate documents of a crawl dump.
package main

import (
	"os"
	"runtime/debug"

	_ "github.com/neardup/neardup/job/gojieba"
	"github.com/neardup/neardup/job/internal/cli"
)

func main() {
	// What Go's runtime ends by itself, as when there is no memory, would have
	// exit code 2, which is a mistake of usage here. So it ends by SIGABRT, 134 to
	// a shell.
	debug.SetTraceback("crash")
	withoutCore()
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
