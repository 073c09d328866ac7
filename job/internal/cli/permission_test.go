//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

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
	for name, c := range map[string]struct {
		args   []string
		remedy string
	}{
		closed: {[]string{"run", filepath.Join(base, "in.jsonl"), "--out", filepath.Join(closed, "out")}, "name another folder with --out"},
		secret: {[]string{"run", secret, "--out", filepath.Join(base, "out")}, "let this user read it, or leave it out"},
	} {
		cmd := exec.Command(program, c.args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		if os.Geteuid() == 0 { // root may do anything: be nobody
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		text, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(text), "permission denied") || !strings.Contains(string(text), name) || !strings.Contains(string(text), c.remedy) {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}
