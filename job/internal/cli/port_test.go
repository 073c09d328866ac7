package cli

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data/library"
)

func TestUsedPort(t *testing.T) {
	dir := t.TempDir()
	dump(t, dir, 1, 3)
	lib := filepath.Join(dir, "lib")
	if code, stderr := inProcess("run", filepath.Join(dir, "000.jsonl"), "--out", filepath.Join(dir, "2026-11-20"), "--library", lib); code != exitDone {
		t.Fatal(stderr)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, stderr := inProcess("lookup", "--library", lib, "--serve", l.Addr().String())
	if want := "--serve " + l.Addr().String() + ": "; code != exitFailed || !strings.Contains(stderr, want) || !strings.Contains(stderr, "name another port") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(lib, library.Index)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the index was made first: %v", err)
	}
}
