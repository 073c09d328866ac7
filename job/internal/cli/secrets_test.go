package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSecretsAreNotSeen has a night fail, its alarm's command and its alarm's
// address fail, and looks for their secrets and for the environment's in all that
// is left behind: files, logs, and, while the alarm's command runs, the arguments
// of all processes.
func TestSecretsAreNotSeen(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for an address that does not answer")
	}
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("arguments of processes are looked for in /proc")
	}
	secret := func(name string) string { return "zq" + name + "7f3a9c" } // never whole in this text
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings := filepath.Join(t.TempDir(), "settings.yaml") // whose the secrets are
	ready, went := filepath.Join(dir, "ready"), filepath.Join(dir, "went")
	command := fmt.Sprintf("TOKEN=%s; touch %s; until test -e %s; do sleep 0.01; done; nosuchprogram %s; exit 3", secret("token"), ready, went, secret("word"))
	text := fmt.Sprintf("monitor:\n  alarm_command: %q\n  alarm_url: http://127.0.0.1:1/hooks/%s?key=%s\n", command, secret("path"), secret("query"))
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	write("in.jsonl", `{"id":"a","text":"The harbour was closed on Monday after a storm damaged the northern pier."}`+"\n")
	cmd := exec.Command(os.Args[0], "run", "in.jsonl", "--out", "2026-11-20", "--library", "lib", "--metrics", "night.prom", "--config", settings, "--set", "monitor.min_documents=5", "--verbose")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "AWS_SECRET_ACCESS_KEY="+secret("aws"), "NEARDUP_REDIS_PASSWORD="+secret("redis"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended without an alarm: %v: %s", err, &said)
		case <-time.After(time.Millisecond):
		}
	}
	seen := map[string][]byte{}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		if text, err := os.ReadFile(path); err == nil { // else it has ended
			seen[path] = text
		}
	}
	write("went", "")
	if err := <-ended; err != nil {
		t.Fatalf("an alarm changes nothing: %v: %s", err, &said)
	}
	seen["what it said"] = said.Bytes()
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			seen[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"token", "word", "path", "query", "aws", "redis"} {
		for where, text := range seen {
			if bytes.Contains(text, []byte(secret(name))) {
				t.Errorf("the secret %q is in %s", name, where)
			}
		}
	}
	for _, want := range []string{"alarm command: exit status 3", "127.0.0.1:1"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, &said)
		}
	}
}

// The address of an alarm is not taken from the command line, but from a file that
// it names, or from the environment.
func TestSecretSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(file, []byte("https://hooks.example/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSettings(streams{}, "balanced")
	if err := s.give(given{"monitor.alarm_url", "https://hooks.example/x", "--set"}); err == nil || !strings.Contains(err.Error(), "@FILE") || strings.Contains(err.Error(), "hooks.example") {
		t.Errorf("%v", err)
	}
	if err := s.give(given{"monitor.alarm_url", "@" + file, "--set"}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NEARDUP_ALARM_COMMAND", "cat >x")
	t.Setenv("NEARDUP_ALARM_URL", "https://other.example/")
	if c, err := s.config(); err != nil || c.Monitor.AlarmURL != "https://hooks.example/x" || c.Monitor.AlarmCommand != "cat >x" {
		t.Errorf("%+v, %v", c.Monitor, err)
	}
}
