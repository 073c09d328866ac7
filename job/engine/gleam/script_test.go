package gleam

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script runs scripts/cluster.sh with a state folder and what else the
// environment is to hold.
func script(t *testing.T, state string, environ []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "scripts", "cluster.sh"), append(args, "--state", state)...)
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestScript starts and stops a cluster on this machine as the scripts do.
func TestScript(t *testing.T) {
	needCluster(t)
	if !long() {
		t.Skip("NEARDUP_CLUSTER_LONG is not set")
	}
	state, port := t.TempDir(), fmt.Sprint(freePort(t))
	cycle(t, state, nil, []string{"--agents", "3", "--slots", "4", "--port", port}, "127.0.0.1:"+port)
}

// TestScriptOverSSH does the same on three hosts, over ssh with keys of its
// own.
func TestScriptOverSSH(t *testing.T) {
	h := makeHosts(t, 3)
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		t.Skip("there is no sshd")
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	for _, name := range []string{"key", "host"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	// The hosts' home folders are their own; the rest of the disk is shared.
	for i := range h.n {
		home := filepath.Join(dir, fmt.Sprintf("home-%d", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			t.Fatal(err)
		}
		conf := write(fmt.Sprintf("sshd-%d", i), strings.Join([]string{
			"HostKey " + filepath.Join(dir, "host"), "AuthorizedKeysFile " + write("authorized", string(public), 0o600),
			"LogLevel ERROR", "StrictModes no", "PidFile none", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", ""}, "\n"), 0o600)
		p := h.places()[i]
		line := append(p.under, "sh", "-c", `mkdir -p /run/sshd && mount --bind "$1" ~ && exec "$2" -D -e -f "$3"`, "sh", home, sshd, conf)
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // it was killed
		})
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("there is no ssh")
	}
	write("bin/ssh", fmt.Sprintf("#!/bin/sh\nexec %s -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes \"$@\"\n", ssh, key), 0o755)
	environ := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	var lines []string
	for i := range h.n {
		lines = append(lines, "root@"+h.address(i))
	}
	file := write("hosts.txt", "# the hosts\n"+strings.Join(lines, "\n")+" # the last one\n", 0o600)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if out, err := exec.Command(filepath.Join(bin, "ssh"), lines[h.n-1], "true").CombinedOutput(); err == nil {
			break
		} else if time.Since(began) > 10*time.Second {
			t.Fatalf("%v: %s", err, out)
		}
	}
	port := fmt.Sprint(freePort(t))
	cycle(t, t.TempDir(), environ, []string{"--hosts", file, "--address", h.net + ".1", "--slots", "4", "--port", port}, h.net+".1:"+port)
	for i := range h.n {
		if found := processes(filepath.Join(dir, fmt.Sprintf("home-%d", i))); len(found) > 0 {
			for pid, args := range found {
				if !strings.Contains(strings.Join(args, " "), "sshd") {
					t.Errorf("process %d: %q", pid, args)
				}
			}
		}
	}
}

// cycle brings a cluster up, twice, runs on it, restarts it and takes it down.
func cycle(t *testing.T, state string, environ, options []string, master string) {
	t.Cleanup(func() {
		if _, err := script(t, state, environ, "down"); err != nil {
			t.Log(err)
		}
	})
	up := append([]string{"up"}, options...)
	for range 2 { // what runs stays
		if out, err := script(t, state, environ, up...); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
			t.Fatalf("up: %v: %s", err, out)
		}
	}
	run := func() {
		v := variant{64, 3, faultDocuments, 4, 2}
		dir := openRun(t)
		documents := numberedFolder(t, dir, v.bits, prints(v.n, v.bits))
		if _, err := findPairs(t, New(Options{Master: master, Stall: 20 * time.Second}), dir, v.config(), documents); err != nil {
			t.Error(err)
		}
	}
	run()
	if out, err := script(t, state, environ, "restart"); err != nil || !strings.Contains(out, "knows 3 of 3 agents") {
		t.Fatalf("restart: %v: %s", err, out)
	}
	run()
	if out, err := script(t, state, environ, "down"); err != nil {
		t.Fatalf("down: %v: %s", err, out)
	}
	if out, err := script(t, state, environ, "status"); err == nil {
		t.Errorf("status after down: %s", out)
	}
	if out, err := script(t, state, nil, up[0], "--address", "8.8.8.8"); err == nil || !strings.Contains(out, "not a private address") {
		t.Errorf("a public address: %v: %s", err, out)
	}
}
