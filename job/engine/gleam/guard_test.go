package gleam

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestClearFlow kills a flow's processes and removes its files, and nobody
// else's.
func TestClearFlow(t *testing.T) {
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
	const hash = "4012345678"
	one, two := filepath.Join(dir, "agent-0", hash), filepath.Join(dir, "agent-1", hash)
	other := filepath.Join(dir, "agent-1", "77")
	a, b, stays := start(one), start(two), start(other)
	rows := filepath.Join(dir, "agent-1", "f"+hash+"-d3-s0-45331.dat")
	if err := os.WriteFile(rows, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	go func() { _ = a.Wait() }() // both are killed
	go func() { _ = b.Wait() }()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if found, err := flowProcesses(hash); err != nil || len(found) == 2 {
			break
		} else if time.Since(began) > patience {
			t.Fatalf("found %v", found)
		}
	}
	if err := clearFlow(hash); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{one, two, rows} {
		if !gone(path) {
			t.Errorf("%s is left", path)
		}
	}
	if found, err := flowProcesses("77"); err != nil || len(found) != 1 || gone(other) {
		t.Errorf("the other flow has %v, %v", found, err)
	}
	if err := stays.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = stays.Wait() // it was killed
}
