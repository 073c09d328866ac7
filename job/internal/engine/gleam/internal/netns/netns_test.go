//go:build linux

package netns

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/proxy"
)

// ways serves both ways at a new folder, without a namespace.
func ways(t *testing.T) (f *Namespace, socksAt string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "netns") // the path of a socket is a short one
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		for began := time.Now(); os.RemoveAll(folder) != nil; time.Sleep(time.Millisecond) { // a proxy may write into it
			if time.Since(began) > patience {
				t.Error("it cannot be removed")
				break
			}
		}
	})
	for _, name := range []string{inSocket, outSocket} {
		go func() {
			if err := relay(ctx, filepath.Join(folder, name), only(nil)); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go serve(ctx, l, wayOut(ctx, folder))
	for _, name := range []string{inSocket, outSocket} {
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			if time.Since(began) > 6*patience {
				t.Fatalf("nothing listens at %s", name)
			}
			info, err := os.Stat(filepath.Join(folder, name))
			if err != nil || info.Mode().Perm() != 0o600 {
				continue
			}
			if conn, err := net.Dial("unix", filepath.Join(folder, name)); err == nil {
				_ = conn.Close()
				break
			}
		}
	}
	return &Namespace{folder: folder}, l.Addr().String()
}

// echo is a server that sends back, once no more comes, what came.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				text, _ := io.ReadAll(conn)
				_, _ = conn.Write(text)
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// asks sends a megabyte and wants it back, which needs the end to be passed on.
func asks(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	text := make([]byte, 1<<20)
	if _, err := rand.Read(text); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if back, err := io.ReadAll(conn); err != nil || string(back) != string(text) {
		t.Errorf("%d of %d bytes came back: %v", len(back), len(text), err)
	}
}

func TestMain(m *testing.M) {
	tick = 20 * time.Millisecond
	os.Exit(m.Run())
}

func TestWays(t *testing.T) {
	f, socksAt := ways(t)
	server := echo(t)
	conn, err := f.Dial(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	asks(t, conn)
	d, err := proxy.SOCKS5("tcp", socksAt, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err = d.Dial("tcp", server); err != nil {
		t.Fatal(err)
	}
	asks(t, conn)
	if info, err := os.Stat(filepath.Join(f.folder, inSocket)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is for others too: %v, %v", info.Mode(), err)
	}
	for address, want := range map[string]string{
		"192.0.2.1:80": "is no server of the cluster", "localhost:80": "is no server of the cluster", "": "is no server of the cluster",
		"127.0.0.1:1": "refused", strings.Repeat("1", maxLine) + ":1": "",
	} {
		if _, err := f.Dial(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %v, want %q", address, err, want)
		}
	}
	if _, err := d.Dial("tcp", "192.0.2.1:80"); err == nil {
		t.Error("the SOCKS proxy connects where the relay does not")
	}
}

// Whatever is sent to relay, SOCKS proxy and TLS proxy, they still serve, and nothing is
// kept.
func TestRandomBytes(t *testing.T) {
	f := newProxied(t, answers)
	server := echo(t)
	before := files(t)
	n := 10_000
	if testing.Short() {
		n = 500
	}
	for i := range n {
		network, address := "unix", filepath.Join(f.folder, inSocket)
		switch i % 3 {
		case 1:
			network, address = "tcp", f.socks
		case 2:
			network, address = "tcp", f.own
		}
		conn, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 1+i%700)
		if _, err := rand.Read(text); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			copy(text, map[int]string{1: "\x05", 2: "\x16\x03\x01\x00"}[i%3]) // SOCKS, or the head of a TLS record
		}
		_, _ = conn.Write(text) // it may be closed already
		_ = conn.Close()
	}
	conn, err := f.Dial(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	asks(t, conn)
	if conn, err = f.dialPeer(f.keys, f.door); err != nil {
		t.Fatal(err)
	}
	asks(t, conn)
	for began := time.Now(); files(t) > before+2; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 2*patience {
			t.Fatalf("%d files are open, %d were before", files(t), before)
		}
	}
}

func files(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func TestFind(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	folder := filepath.Join(state, "neardup", "cluster")
	for _, up := range []bool{false, true} {
		if up {
			if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, addressFile), []byte("127.0.0.1:45326\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for master, want := range map[string]bool{"127.0.0.1:45326": up, "127.0.0.1:45327": false, folder: up} {
			f, address, err := Find(master)
			if (f != nil) != want || (err != nil) != (master == folder && !up) || err == nil && address == folder {
				t.Errorf("up %v, %s: got %v, %s, %v", up, master, f, address, err)
			}
		}
	}
}

// Clusters without a network namespace do not share their turns, nor do users.
func TestLockPath(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/home/one")
	for master, want := range map[string]string{
		"10.0.0.5:45326": "/home/one/neardup/queue/10.0.0.5:45326.lock",
		"../a:1":         "/home/one/neardup/queue/..%2Fa:1.lock",
	} {
		if got := LockPath(master); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Without HOME the default state folder is where cluster.sh, a shell, has it.
func TestHome(t *testing.T) {
	for _, set := range []string{"/somewhere", ""} {
		t.Setenv("HOME", set)
		want, err := exec.Command("bash", "-c", "[[ -n $HOME ]] || unset HOME; echo ~").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := home(); got == "" || got != strings.TrimSpace(string(want)) {
			t.Errorf("HOME=%q: got %q, want %q", set, got, want)
		}
	}
}
