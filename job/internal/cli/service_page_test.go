//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The clients of service.md do with a service what the page says.
func TestServicePage(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a client")
	}
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "service.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	served, host, _ := serviceThat(t, libraryFor(t, dir), nil, "--add")
	defer func() {
		_ = served.Process.Kill()
		_ = served.Wait() // it was killed
	}()
	for _, client := range []struct {
		language, file string
		run            []string
		says           []string // in this order
	}{
		{"sh", "client.sh", []string{"sh", "client.sh"}, []string{`"id":"https://example.org/a","added":true,"known":false`, `"id":"https://example.org/b","added":true,"known":true`, `"id":"https://example.org/a"`}},
		{"python", "client.py", []string{"python3", "client.py"}, []string{"https://example.org/python/0 new []", "https://example.org/python/1"}},
		{"go", "client.go", []string{"go", "run", "client.go"}, []string{"https://example.org/go/0 true false 0", "https://example.org/go/1 true true 1"}},
	} {
		t.Run(client.language, func(t *testing.T) {
			if _, err := exec.LookPath(client.run[0]); err != nil {
				t.Skipf("%s is not installed: the client is not run", client.run[0])
			}
			code := regexp.MustCompile("(?s)```" + client.language + "\n(.*?)```").FindSubmatch(page)
			if code == nil || !strings.Contains(string(code[1]), "127.0.0.1:8080") {
				t.Fatalf("service.md has no client in %s", client.language)
			}
			text := strings.ReplaceAll(string(code[1]), "127.0.0.1:8080", host)
			if err := os.WriteFile(filepath.Join(dir, client.file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(client.run[0], client.run[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GO111MODULE=off")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			rest := string(out)
			for _, want := range client.says {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("it does not say %q: %s", want, out)
				}
				rest = after
			}
		})
	}
}
