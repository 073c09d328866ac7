//go:build linux

package gleam_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/engine/gleam"
)

// What the workers of a run tell, without asking the cluster.
func ExampleStatus() {
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	workers := filepath.Join(run, "tmp", "gleam-00000000000000aa", "workers")
	err = errors.Join(os.MkdirAll(workers, 0o755),
		os.WriteFile(filepath.Join(filepath.Dir(workers), "spec.json"), []byte(`{"Steps":[{"Stage":"segment"},{"Stage":"partial"}]}`), 0o644),
		os.WriteFile(filepath.Join(workers, "partial-1.json"), []byte(`{"Stage":"partial","Task":1,"Host":"b","In":4000}`), 0o644),
		os.WriteFile(filepath.Join(workers, "segment-0.json"), []byte(`{"Stage":"segment","Task":0,"Host":"a","In":1000,"Done":true}`), 0o644))
	if err != nil {
		fmt.Println(err)
	}
	all, err := gleam.Status(run)
	for _, p := range all {
		fmt.Println(p.Stage, p.Task, "on", p.Host, p.In, p.Done)
	}
	fmt.Println(err, os.RemoveAll(run))
	// Output:
	// segment 0 on a 1000 true
	// partial 1 on b 4000 false
	// <nil> <nil>
}

// The engine's program gives its processes their say first.
func ExampleMain() {
	args := []string{"run", "crawl", "--out", "night1"} // os.Args[1:]
	if code, ours := gleam.Main(args, job.SplitStages(), os.Stdin, os.Stderr); ours {
		os.Exit(code)
	}
	fmt.Println("the command line is the user's")
	// Output: the command line is the user's
}
