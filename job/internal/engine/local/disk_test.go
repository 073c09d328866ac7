//go:build unix

package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
)

// A disk that takes no more than so many bytes of a file ends the match with
// its error. The limit is that of a process, so the test runs in its own.
func TestFullDiskEndsMatch(t *testing.T) {
	const inside = "NEARDUP_TEST_FULL_DISK"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDiskEndsMatch$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") && !strings.Contains(string(out), "--- SKIP") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	full := make(chan os.Signal, 1)
	signal.Notify(full, syscall.SIGXFSZ)
	defer signal.Stop(full)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Skip(err)
	}
	for _, verify := range []string{config.VerifyNone, config.VerifySketch} {
		dir, d, ways := faultyRun(t, verify)
		job := newJob(ways[1], dir)
		failed := 0
		for limit := uint64(0); ; limit = 2*limit + 100 {
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: was.Max}); err != nil {
				t.Skip(err)
			}
			err := New(2).Match(context.Background(), job, d, discard)
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
				t.Fatal(err)
			}
			if err == nil {
				break
			}
			failed++
			if !errors.Is(err, syscall.EFBIG) {
				t.Fatalf("files of %d bytes: %v", limit, err)
			}
			if left, err := os.ReadDir(dir.Path(rundir.Scratch)); err != nil || len(left) > 0 {
				t.Fatalf("files of %d bytes: left behind %v, %v", limit, left, err)
			}
		}
		if failed < 3 {
			t.Errorf("%s: %d limits failed", verify, failed)
		}
	}
}
