//go:build linux

package attempt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The launcher links or copies the program beside itself, also when several start
// at once, and becomes it; where it cannot, it notes a failure.
func TestLauncher(t *testing.T) {
	run := filepath.Join(t.TempDir(), "it's a \"run\"")
	dir := Dir(filepath.Join(run, "tmp", "gleam-1"))
	folder := filepath.Join(t.TempDir(), "agent 1", "77")
	program := filepath.Join(run, "tmp", "program")
	for _, f := range []string{dir.Path(failures), folder} {
		if err := os.MkdirAll(f, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{program: "#!/bin/sh\necho \"$0 $1 $GOGC\"\n", filepath.Join(folder, Shipped): string(dir.launcher(program))} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // it is started
			t.Fatal(err)
		}
	}
	another := t.TempDir()                                                                                   // file system: nothing can be linked
	if err := os.WriteFile(filepath.Join(another, "ln"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil { //nolint:gosec // it is started
		t.Fatal(err)
	}
	for i, path := range []string{another + ":" + os.Getenv("PATH"), os.Getenv("PATH"), os.Getenv("PATH")} {
		if i == 2 { // a link to it would not start
			if err := os.Chmod(program, 0o644); err != nil { //nolint:gosec // as it may be in a run directory
				t.Fatal(err)
			}
		}
		if err := os.RemoveAll(filepath.Join(folder, "program")); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				start := exec.Command(filepath.Join(folder, Shipped), "-gleam.x")
				start.Env = append(os.Environ(), "PATH="+path)
				out, err := start.CombinedOutput()
				if want := filepath.Join(folder, "program") + " -gleam.x off\n"; err != nil || string(out) != want {
					t.Errorf("got %q, %v, want %q", out, err, want)
				}
			})
		}
		wg.Wait()
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 2 {
		t.Errorf("%v, %v: want the launcher and the program", files, err)
	}

	for _, path := range []string{program, filepath.Join(folder, "program")} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(filepath.Join(folder, Shipped)).CombinedOutput(); err == nil {
		t.Errorf("it started without a program: %s", out)
	}
	f := dir.Noted()
	if f == nil || f.Stage != "start" || f.Host == "" || !strings.Contains(f.Message, "agent 1 cannot copy the program") || !strings.Contains(f.Message, "No such file") {
		t.Errorf("noted: %+v", f)
	}
}
