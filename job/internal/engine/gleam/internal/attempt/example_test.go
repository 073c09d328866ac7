//go:build linux

package attempt_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// A worker is started with the arguments of its driver and those that gleam
// adds.
func ExampleParseProcess() {
	args := append(attempt.DriverArgs("/runs/night1/tmp/gleam-2a", 42), "-gleam.mapper", "partial", "-flow.stepId", "4", "-flow.taskId", "3")
	p, err := attempt.ParseProcess(args)
	fmt.Println(p.Dir, p.ID, p.Stage, p.Task, err)
	// Output: /runs/night1/tmp/gleam-2a 42 partial 3 <nil>
}

// What the supervisor is told when a worker fails.
func ExampleFailure() {
	var err error = &attempt.Failure{Stage: "fingerprint", Task: 1, Split: "crawl/a.warc.gz", Host: "host3", Message: "gzip: invalid header"}
	fmt.Println(err)
	// Output: fingerprint task 1 (crawl/a.warc.gz) on host3: gzip: invalid header
}
