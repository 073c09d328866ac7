//go:build linux

package gleam

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/history"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/rundir"
)

// TestLibraryCommand ends the real command while a night is joined with the
// library, by signals and by SIGKILL: nothing is left running, the library is
// what it was, and the same command again ends with the bytes and the library of
// a run on this machine, the night in it once.
func TestLibraryCommand(t *testing.T) {
	needCluster(t)
	if testing.Short() {
		t.Skip("it builds the command")
	}
	t.Parallel()
	binary := buildCommand(t)
	sample, err := filepath.Abs(filepath.Join(root, "data", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lib, here, there := filepath.Join(dir, "lib"), filepath.Join(dir, "local"), filepath.Join(dir, "cluster")
	arguments := func(night, out string) []string {
		return []string{sample, "--out", out, "--library", lib, "--night", night}
	}
	local := func(night, out string) {
		if text, err := exec.Command(binary, append([]string{"run"}, arguments(night, out)...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	local("2026-11-19", filepath.Join(dir, "before"))
	if err := os.CopyFS(filepath.Join(dir, "kept"), os.DirFS(lib)); err != nil {
		t.Fatal(err)
	}
	before := libraryRows(t, lib)
	local("2026-11-20", here)
	want := libraryRows(t, lib)
	if len(want) <= len(before) {
		t.Fatalf("%d documents, %d before: the test shows nothing", len(want), len(before))
	}
	// The cluster's run begins with the library as it was, at the same path: that is a part of the settings.
	if err := os.Rename(lib, filepath.Join(dir, "local-lib")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "kept"), lib); err != nil {
		t.Fatal(err)
	}

	c := startCluster(t, 3, 4)
	start := func() (*exec.Cmd, *bytes.Buffer) {
		return submit(t, binary, append([]string{"--master", c.master}, arguments("2026-11-20", there)...)...)
	}
	blows := []syscall.Signal{syscall.SIGTERM}
	if long() {
		blows = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGKILL}
	}
	for _, sig := range blows {
		if err := os.RemoveAll(filepath.Join(there, rundir.State, history.PartsFolder)); err != nil { // what an earlier process had joined
			t.Fatal(err)
		}
		cmd, said, _ := strike(t, start, there, stageHistory, signal(sig))
		switch sig {
		case syscall.SIGKILL: // it cannot remove its own files; the next run does
			for began := time.Now(); c.remains("") != ""; time.Sleep(time.Second / 10) {
				if time.Since(began) > patience {
					t.Fatalf("left behind: %s", c.remains(""))
				}
			}
		default:
			if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "the same command goes on") {
				t.Errorf("%v: exit code %d: %s", sig, code, said)
			}
			c.left(there)
		}
		if got := libraryRows(t, lib); !slices.Equal(got, before) {
			t.Fatalf("%v: the library has %d documents, %d before", sig, len(got), len(before))
		}
	}
	cmd, said := start()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	c.left(there)
	if got := libraryRows(t, lib); !slices.Equal(got, want) {
		t.Errorf("the library has %d documents, want %d", len(got), len(want))
	}
	for _, folder := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed, rundir.Drift, rundir.Growth, rundir.Clean, rundir.Quarantine} {
		if out, err := exec.Command("diff", "-r", filepath.Join(here, folder), filepath.Join(there, folder)).CombinedOutput(); err != nil {
			t.Errorf("%s differs: %s", folder, out)
		}
	}
}

// libraryRows lists what a library holds.
func libraryRows(t *testing.T, dir string) (rows []string) {
	t.Helper()
	l, err := library.Open(context.Background(), dir, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Rows(context.Background(), library.StreamOptions{}, func(r *data.LibraryRow) error {
		rows = append(rows, fmt.Sprintf("%s %s %x%016x %s %s %s", r.Night, r.DocID, r.Hi, r.Lo, r.FirstSeen, r.Cluster, r.LengthClass))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
