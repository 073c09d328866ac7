package cli

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func TestUsedPort(t *testing.T) {
	dir := t.TempDir()
	dump(t, dir, 1, 3)
	lib := filepath.Join(dir, "lib")
	var said bytes.Buffer
	if code := Main([]string{"run", filepath.Join(dir, "000.jsonl"), "--out", filepath.Join(dir, "2026-11-20"), "--library", lib}, nil, &said, &said); code != exitDone {
		t.Fatal(said.String())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said.Reset()
	code := Main([]string{"lookup", "--library", lib, "--serve", l.Addr().String()}, nil, &said, &said)
	if want := "--serve " + l.Addr().String() + ": "; code != exitFailed || !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "name another port") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}
