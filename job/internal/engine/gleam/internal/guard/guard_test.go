//go:build linux

package guard

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// TestClear kills a flow's processes and removes its files, and nobody
// else's. The flows' numbers are this process's own: Clear looks at the whole
// host, and other packages' tests start flows there at the same time.
func TestClear(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "execute"), []byte("read line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	start := func(folder string) *exec.Cmd {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"gleam", "execute", "--dir", folder, "--note", "1:0"}, Dir: dir}
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	hash, otherHash := fmt.Sprint("40", os.Getpid()), fmt.Sprint("41", os.Getpid())
	one, two := filepath.Join(dir, "agent-0", hash), filepath.Join(dir, "agent-1", hash)
	other := filepath.Join(dir, "agent-1", otherHash)
	a, b, stays := start(one), start(two), start(other)
	rows := filepath.Join(dir, "agent-1", "f"+hash+"-d3-s0-45331.dat")
	if err := os.WriteFile(rows, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	go func() { _ = a.Wait() }() // both are killed
	go func() { _ = b.Wait() }()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if found, err := processes(hash); err != nil || len(found) == 2 {
			break
		} else if time.Since(began) > 2*time.Minute {
			t.Fatalf("found %v", found)
		}
	}
	if err := Clear(hash); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{one, two, rows} {
		if !attempt.Gone(path) {
			t.Errorf("%s is left", path)
		}
	}
	if found, err := processes(otherHash); err != nil || len(found) != 1 || attempt.Gone(other) {
		t.Errorf("the other flow has %v, %v", found, err)
	}
	if err := stays.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = stays.Wait() // it was killed
}

// TestSweep removes what killed commands left, and nothing that anybody uses or that
// is not of a flow.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	pid := os.Getpid()
	make := func(name string, age time.Duration, files ...string) string {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.WriteFile(filepath.Join(folder, file), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(folder, then, then); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	old := 2 * Unused
	gone := []string{
		make(fmt.Sprint("42", pid), old, attempt.Shipped, attempt.Linked),
		make(fmt.Sprint("43", pid), old, attempt.Shipped, attempt.Linked+".77", mark),
		make(fmt.Sprint("44", pid), old),
	}
	held, living := make(fmt.Sprint("45", pid), old, attempt.Linked, mark), make(fmt.Sprint("46", pid), old, attempt.Linked)
	stays := []string{
		held, living,
		make(fmt.Sprint("47", pid), 0, attempt.Shipped),
		make(fmt.Sprint("48", pid), old, attempt.Linked, "rows"),
		make("notes", old, attempt.Linked),
	}
	f, err := os.Open(filepath.Join(held, mark))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "execute"), []byte("read line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(living, attempt.Shipped), []byte("read line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-old)
	if err := os.Chtimes(living, then, then); err != nil {
		t.Fatal(err)
	}
	start := func(folder string, args ...string) (end func()) {
		cmd := &exec.Cmd{Path: "/bin/sh", Args: args, Dir: dir}
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			if found, err := processes(filepath.Base(folder)); err != nil || len(found) == 1 {
				break
			} else if time.Since(began) > 2*time.Minute {
				t.Fatal("the process is not there")
			}
		}
		return func() {
			_ = in.Close()
			_ = cmd.Wait() // it was killed, or had no line to read
		}
	}
	executor := start(gone[0], "gleam", "execute", "--dir", gone[0], "--note", "1:0")
	launcher := start(living, "/bin/sh", filepath.Join(living, attempt.Shipped), attempt.Prefix+"x")
	if err := Sweep(dir, Unused); err != nil {
		t.Fatal(err)
	}
	if left, err := processes(filepath.Base(gone[0])); err != nil || len(left) > 0 {
		t.Errorf("its executor is left: %v, %v", left, err)
	}
	executor()
	for _, folder := range gone {
		if !attempt.Gone(folder) {
			t.Errorf("%s is left", folder)
		}
	}
	for _, folder := range stays {
		if attempt.Gone(folder) {
			t.Errorf("%s is gone", folder)
		}
	}
	launcher()
	if err := Sweep(dir, Unused); err != nil || !attempt.Gone(living) {
		t.Errorf("%v: the folder of a flow that has ended is left", err)
	}
}

func TestFolderOf(t *testing.T) {
	for line, want := range map[string]string{
		"/x/gleam execute --dir /a/77 --note 3:1":                                                    "/a/77",
		"/a/77/program -gleam.attempt.dir=/r -gleam.attempt.id=1 -gleam.mapper final -flow.taskId 1": "/a/77",
		"/bin/sh /a/77/neardup -gleam.attempt.dir=/r -gleam.attempt.id=1 -gleam.mapper final":        "/a/77",
		"/bin/sh /b/neardup run -gleam.attempt.dir=/r":                                               "",
		"/b/neardup -gleam.attempt.dir=/r -gleam.guard=/a/77":                                        "",
		"/x/gleam agent --dir /a/77":                                                                 "",
		"vim execute":                                                                                "",
		"/b/neardup run --engine gleam":                                                              "",
	} {
		var args [][]byte
		for _, a := range strings.Fields(line) {
			args = append(args, []byte(a))
		}
		if got := folderOf(args); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// TestClearWhileItFills clears a folder that what a killed launcher began, a link
// or a copy, still writes into.
func TestClearWhileItFills(t *testing.T) {
	if testing.Short() {
		t.Skip("four processors are busy for a second")
	}
	hash := fmt.Sprint("42", os.Getpid())
	folder := filepath.Join(t.TempDir(), hash)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var left sync.WaitGroup
	for writer := range 4 {
		left.Go(func() {
			for began, n := time.Now(), 0; time.Since(began) < time.Second; n++ {
				_ = os.WriteFile(filepath.Join(folder, fmt.Sprintf("program.%d-%d", writer, n)), nil, 0o644) // the folder goes
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if err := Clear(hash, folder); err != nil {
		t.Error(err)
	}
	if !attempt.Gone(folder) {
		t.Errorf("%s is left", folder)
	}
	left.Wait()
}
