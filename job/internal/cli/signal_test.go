//go:build unix

package cli

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that hangs is left behind once it was given time.
func TestPatiently(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan struct{})
	defer close(held)
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := patiently(ctx, time.Millisecond, func(context.Context) error { <-held; return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := patiently(ctx, time.Minute, func(context.Context) error { return errStrict }); !errors.Is(err, errStrict) {
		t.Error(err)
	}
}

// Each command ends soon after a signal, wherever it is: with its input, in
// its work, or waiting for somebody who does not send.
func TestSignals(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	in, lib := filepath.Join(dir, "dump"), filepath.Join(dir, "lib")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 4, 2000)
	for _, night := range []string{"2026-11-01", "2026-11-02"} {
		cmd, stderr := start(t, "run", in, "--library", lib, "--out", filepath.Join(dir, night))
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
	}
	signals := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	n := 0
	for i, args := range [][]string{
		{"run", in, "--out", filepath.Join(dir, "a"), "--preset", "thorough"},
		{"run", in, "--library", lib, "--out", filepath.Join(dir, "2026-11-03")},
		{"match", filepath.Join(dir, "2026-11-01"), "--out", filepath.Join(dir, "m")},
		{"eval", in, "--count", "200"},
		{"plan", in},
		{"library", "verify", lib},
		{"library", "compact", lib},
	} {
		for _, wait := range []time.Duration{50, 200, 600} {
			cmd, stderr := start(t, args...)
			time.Sleep(wait * time.Millisecond)
			// One that had ended has done its work; one that had not begun is the system's to end.
			end(t, cmd, signals[n%len(signals)], stderr.String, exitInterrupted, exitDone, -1)
			n++
			if wait == 600 && i < 3 { // what it left can be gone on with
				cmd, stderr := start(t, args...)
				if err := cmd.Wait(); err != nil {
					t.Errorf("%v again: %v: %s", args, err, stderr)
				}
			}
		}
	}
}

// end sends a command a signal, and checks that it ends soon, with one of the codes.
func end(t *testing.T, cmd *exec.Cmd, sig syscall.Signal, said func() string, codes ...int) {
	t.Helper()
	began := time.Now()
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code is looked at
	if took, code := time.Since(began), cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) || took > grace+5*time.Second {
		t.Errorf("%v: %v ended after %v with exit code %d: %s", cmd.Args[1:], sig, took, code, said())
	}
}

// So does a run that waits for standard input that nobody writes: once it was given
// its time.
func TestSignalWhileNobodySends(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "run", "-", "--format", "jsonl", "--out", filepath.Join(dir, "stdin"))
	cmd.Env = append(os.Environ(), asProgram+"=1")
	silent, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // Wait closes it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if kept, _ := filepath.Glob(filepath.Join(dir, "stdin", "state", "*stdin*")); len(kept) > 0 { // it reads
			break
		}
	}
	end(t, cmd, syscall.SIGTERM, func() string { return "" }, exitInterrupted)
}

// service starts a look-up service, and returns its address and what it says.
func service(t *testing.T, lib string) (cmd *exec.Cmd, host string, said func() string) {
	t.Helper()
	return serviceThat(t, lib, nil)
}

// serviceThat is service with more in its environment and more flags.
func serviceThat(t testing.TB, lib string, env []string, flags ...string) (cmd *exec.Cmd, host string, said func() string) {
	t.Helper()
	cmd = exec.Command(os.Args[0], append([]string{"lookup", "--library", lib, "--serve", "127.0.0.1:0"}, flags...)...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // nothing is written to it here
	cmd.Stderr = log
	said = func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)
	for began := time.Now(); address.FindString(said()) == ""; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			_ = cmd.Process.Kill()
			t.Fatalf("no service: %s", said())
		}
	}
	return cmd, address.FindStringSubmatch(said())[1], said
}

// So does a service while a page is half sent.
func TestSignalToService(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the page")
	}
	t.Parallel()
	cmd, host, said := service(t, libraryFor(t, t.TempDir()))
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /lookup HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	end(t, cmd, syscall.SIGINT, said, exitDone)
}

// Files and folders have the rights that the umask leaves, and nothing needs a home.
func TestUmask(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 1, 50)
	cmd := exec.Command("sh", "-c", `umask 007; exec "$@"`, "sh", os.Args[0], "run", in, "--library", filepath.Join(dir, "lib"), "--out", filepath.Join(dir, "2026-11-01"), "--metrics", filepath.Join(dir, "a.prom"))
	cmd.Env = []string{"PATH=/usr/bin:/bin", asProgram + "=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir || strings.HasPrefix(path, in) {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm()
		if mode&0o007 != 0 || e.IsDir() && mode != 0o770 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if e.IsDir() {
			return nil
		}
		files++
		return nil
	})
	if err != nil || files < 10 {
		t.Errorf("%d files, %v", files, err)
	}
}
