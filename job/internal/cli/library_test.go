package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
)

// night starts a run of a night in folder dir, whose library is dir/lib.
func night(t *testing.T, dir, in, name string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "run", in, "--library", "lib", "--out", "runs/"+name, "--workers", "1")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stderr
}

// libraryRows lists what a library holds.
func libraryRows(t *testing.T, dir string) (rows []string) {
	t.Helper()
	l, err := library.Open(context.Background(), dir, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if wrong, err := l.Verify(context.Background()); err != nil || len(wrong) > 0 {
		t.Fatalf("%v %v", wrong, err)
	}
	err = l.Rows(context.Background(), library.StreamOptions{}, func(r *data.LibraryRow) error {
		rows = append(rows, fmt.Sprintf("%s %s %x %s %s %x", r.Night, r.DocID, r.Lo, r.FirstSeen, r.Cluster, r.Sketch))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// However often and whenever nights are killed, the same commands end with the
// library and the results of undisturbed ones.
func TestKilledNights(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes, to kill them")
	}
	t.Parallel()
	base := t.TempDir()
	names := []string{"2026-11-01", "2026-11-02", "2026-11-03"}
	for i, name := range names {
		in := filepath.Join(base, name)
		if err := os.Mkdir(in, 0o755); err != nil {
			t.Fatal(err)
		}
		dump(t, in, 2+i, 150) // each night has what the one before had, and more
	}
	undisturbed := filepath.Join(base, "undisturbed")
	killed := filepath.Join(base, "killed")
	for _, dir := range []string{undisturbed, killed} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		cmd, stderr := night(t, undisturbed, filepath.Join(base, name), name)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	// How far a night has come is how many of its tasks have a record.
	records := func(dir, name string) int {
		done, _ := os.ReadDir(filepath.Join(dir, "runs", name, "tasks")) // it may not be there yet
		return len(done)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for _, name := range names {
		for attempt := 0; ; attempt++ {
			// It is killed where a drawn task has its record, at first not the last
			// ones, so that the kill comes in time; or a moment later. The fifth time
			// it is left to itself.
			at, all := records(killed, name), records(undisturbed, name)
			switch attempt {
			case 0:
				at = rng.IntN(all / 2)
			case 4:
				at = all + 1
			default:
				at += rng.IntN(all + 2 - at)
			}
			later := time.Duration(rng.IntN(20)) * time.Millisecond
			cmd, stderr := night(t, killed, filepath.Join(base, name), name)
			ended := make(chan struct{})
			killer := make(chan struct{})
			go func() {
				defer close(killer)
				for records(killed, name) < at {
					select {
					case <-ended:
						return
					case <-time.After(time.Millisecond):
					}
				}
				time.Sleep(later)
				_ = cmd.Process.Kill()
			}()
			err := cmd.Wait()
			close(ended)
			<-killer
			if err == nil {
				break
			}
			if cmd.ProcessState.ExitCode() >= 0 {
				t.Fatalf("exit code %d: %s", cmd.ProcessState.ExitCode(), stderr)
			}
			kills++
		}
	}
	for _, name := range names {
		if got, want := results(t, filepath.Join(killed, "runs", name)), results(t, filepath.Join(undisturbed, "runs", name)); got != want {
			t.Errorf("night %s after kills:\n%s\nundisturbed:\n%s", name, got, want)
		}
	}
	if got, want := libraryRows(t, filepath.Join(killed, "lib")), libraryRows(t, filepath.Join(undisturbed, "lib")); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the library has %d rows after kills, %d undisturbed:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	if t.Logf("%d kills came in time", kills); kills == 0 {
		t.Error("no kill came in time: the test shows nothing")
	}

	// What is left of a killed night is no part of the library.
	l, err := library.Lock(context.Background(), filepath.Join(killed, "lib"), library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files, err := os.ReadDir(filepath.Join(killed, "lib", "documents"))
	if err != nil || len(files) != len(names) {
		t.Errorf("%d files of documents, %v", len(files), err)
	}
}

// TestCopiedWhileANightRuns copies a library, file by file, again and again while a
// night changes it, and restores each copy as the documentation says: repair, then
// the night again. Each ends with what the undisturbed library has. Six are restored,
// with NEARDUP_EXHAUSTIVE all.
func TestCopiedWhileANightRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a night for each copy")
	}
	t.Parallel()
	dir := t.TempDir()
	names := []string{"2026-11-01", "2026-11-02"}
	for i, name := range names {
		in := filepath.Join(dir, name)
		if err := os.Mkdir(in, 0o755); err != nil {
			t.Fatal(err)
		}
		dump(t, in, 2+i, 150)
	}
	finish := func(cmd *exec.Cmd, stderr *bytes.Buffer) {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	finish(night(t, dir, names[0], names[0]))
	lib := filepath.Join(dir, "lib")
	cmd, stderr := night(t, dir, names[1], names[1])
	ended := make(chan struct{})
	go func() { finish(cmd, stderr); close(ended) }()
	var copies []string
	for last := false; !last; {
		select {
		case <-ended:
			last = true
		default:
		}
		to := filepath.Join(t.TempDir(), "lib")
		copyRunning(t, lib, to)
		if n := len(copies); n > 0 && slices.Equal(tree(t, copies[n-1]), tree(t, to)) {
			copies[n-1] = to // as the last
			continue
		}
		copies = append(copies, to)
	}
	want := libraryRows(t, lib)
	made := len(copies)
	if most := 6; made > most && os.Getenv("NEARDUP_EXHAUSTIVE") == "" { // from the first to the last
		some := make([]string, most)
		for i := range some {
			some[i] = copies[i*(made-1)/(most-1)]
		}
		copies = some
	}
	for i, lib := range copies {
		done, err := library.Recover(t.Context(), lib, library.Options{})
		if err != nil {
			t.Errorf("copy %d of %v: %v", i, tree(t, lib), err)
			continue
		}
		there := t.TempDir()
		if err := os.Rename(lib, filepath.Join(there, "lib")); err != nil {
			t.Fatal(err)
		}
		finish(night(t, there, filepath.Join(dir, names[1]), names[1]))
		if got := libraryRows(t, filepath.Join(there, "lib")); !slices.Equal(got, want) {
			t.Errorf("copy %d, %+v: %d rows, want %d", i, done, len(got), len(want))
		}
	}
	t.Logf("of %d copies %d were restored", made, len(copies))
}

// copyRunning copies a folder whose files come and go.
func copyRunning(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		if err == nil && e.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tree lists the files of a folder.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
