package cli

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that ends in the middle, and one that is damaged, fail their task
// with file and offset; the other files' tasks are kept, and mending the file
// is enough.
func TestReadErrorInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 3, 800)
	whole := compress(t, filepath.Join(in, "002.jsonl"))
	if err := os.Remove(filepath.Join(in, "002.jsonl")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(in, "002.jsonl.gz")
	flipped := bytes.Clone(whole)
	flipped[len(whole)/2] ^= 0xff
	out := filepath.Join(dir, "out")
	for name, content := range map[string][]byte{"cut": whole[:len(whole)/2], "damaged": flipped} {
		// The size is part of the input's identity: pad what was cut.
		padded := append(bytes.Clone(content), make([]byte, len(whole)-len(content))...)
		if err := os.WriteFile(path, padded, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, stderr := start(t, "run", in, "--out", out)
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != ExitFailed {
			t.Fatalf("%s: exit code %d: %s", name, cmd.ProcessState.ExitCode(), stderr)
		}
		if !strings.Contains(stderr.String(), "002.jsonl.gz at offset ") {
			t.Errorf("%s: %s does not name file and offset", name, stderr)
		}
		if parts, _ := filepath.Glob(filepath.Join(out, "fingerprints", "*2.parquet")); len(parts) > 0 {
			t.Errorf("%s: half a part under its final name: %v", name, parts)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := start(t, "run", in, "--out", out)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("with the file mended: %v: %s", err, stderr)
	}
}

func compress(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A folder that may not be written, or a file that may not be read, is said,
// with exit code 1.
func TestNoPermission(t *testing.T) {
	base, err := os.MkdirTemp("", "neardup-permission-*") // t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	program := filepath.Join(base, "neardup")
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{program: binary, filepath.Join(base, "in.jsonl"): []byte(`{"id":"a","text":"b"}` + "\n")} {
		if err := os.WriteFile(path, content, 0o755); err != nil { //nolint:gosec // another user runs it
			t.Fatal(err)
		}
	}
	closed := filepath.Join(base, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(base, "secret.jsonl")
	if err := os.WriteFile(secret, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(base, 0o777); err != nil { //nolint:gosec // another user writes in it
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		closed: {"run", filepath.Join(base, "in.jsonl"), "--out", filepath.Join(closed, "out")},
		secret: {"run", secret, "--out", filepath.Join(base, "out")},
	} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if os.Geteuid() == 0 { // root may do anything: be nobody
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		text, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != ExitFailed || !strings.Contains(string(text), "permission denied") || !strings.Contains(string(text), name) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}
