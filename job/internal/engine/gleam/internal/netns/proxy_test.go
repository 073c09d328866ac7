//go:build linux

package netns

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newToken writes a token into a folder and returns the keys of who knows it.
func newToken(t *testing.T, folder string) *keys {
	t.Helper()
	token := make([]byte, 32)
	if _, err := rand.Read(token); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, tokenFile), []byte(hex.EncodeToString(token)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return keysIn(t, folder)
}

func keysIn(t *testing.T, folder string) *keys {
	t.Helper()
	k, err := readKeys(folder)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// proxied is a proxy without a namespace: the server behind it has its second door
// alone, the other one's address is the proxy's.
type proxied struct {
	*Namespace
	*testing.T
	keys      *keys
	own, door string
	socks     string
}

func newProxied(t *testing.T, serve func(net.Conn)) *proxied {
	t.Helper()
	f, socksAt := ways(t)
	g := &proxied{Namespace: f, T: t, keys: newToken(t, f.folder), socks: socksAt}
	g.open(slog.DiscardHandler, serve)
	return g
}

// open opens the proxy.
func (g *proxied) open(log slog.Handler, serve func(net.Conn)) {
	t := g.T
	t.Helper()
	var l net.Listener
	for range 100 { // two free ports
		proxy, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g.own = proxy.Addr().String()
		if err := proxy.Close(); err != nil {
			t.Fatal(err)
		}
		if at, err := doors(g.own, g.own); err == nil {
			if l, err = net.Listen("tcp", at[1]); err == nil {
				g.door = at[1]
				break
			}
		}
	}
	if l == nil {
		t.Fatal("no free ports")
	}
	if err := os.WriteFile(filepath.Join(g.folder, serversFile), []byte(g.own+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	t.Cleanup(func() {
		cancel()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := openProxy(ctx, slog.New(log), g.folder, g.own); err != nil {
		t.Fatal(err)
	}
}

func (g *proxied) dialPeer(keys *keys, door string) (net.Conn, error) {
	return dialPeer(g.Context(), g.folder, keys, make(chan struct{}, 1), g.own, door)
}

// counted waits until the proxy has written what it counted.
func (g *proxied) counted(want map[string]int64) {
	g.Helper()
	g.until(fmt.Sprint(want), func(got map[string]int64) bool {
		for reason, n := range want {
			if got[reason] != n {
				return false
			}
		}
		return true
	})
}

// until waits until the proxy's figures are as they should be.
func (g *proxied) until(want string, right func(got map[string]int64) bool) {
	g.Helper()
	var text []byte
	for began := time.Now(); time.Since(began) < 2*patience; time.Sleep(10 * time.Millisecond) {
		text, _ = os.ReadFile(filepath.Join(g.folder, figuresFile)) // it has what it had, or all
		got := map[string]int64{}
		for line := range strings.Lines(string(text)) {
			var reason string
			var n int64
			if _, err := fmt.Sscanf(line, "neardup_proxy_refused_connections_total{reason=%q} %d", &reason, &n); err == nil {
				got[reason] = n
			} else if _, err := fmt.Sscanf(line, "neardup_proxy_passed_connections_total %d", &n); err == nil {
				got[passed] = n
			}
		}
		if strings.HasSuffix(string(text), "# EOF\n") && right(got) {
			return
		}
	}
	g.Errorf("want %s in %s", want, text)
}

// answers sends back, once no more comes, what came.
func answers(conn net.Conn) {
	text, err := io.ReadAll(conn)
	if err == nil {
		_, _ = conn.Write(text)
	}
	_ = conn.Close()
}

// Who knows the token is let in, and nobody else; each is counted.
func TestTLSProxy(t *testing.T) {
	g := newProxied(t, answers)
	for range 3 {
		conn, err := g.dialPeer(g.keys, g.door)
		if err != nil {
			t.Fatal(err)
		}
		asks(t, conn)
	}
	other := newToken(t, t.TempDir())
	bare, old := g.keys.tls.Clone(), g.keys.tls.Clone()
	bare.Certificates = nil
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	trusting := other.tls.Clone()
	trusting.VerifyConnection = nil
	for name, k := range map[string]*keys{
		"another token": other, "another token that trusts the proxy": {tls: trusting, token: other.token},
		"no certificate": {tls: bare, token: g.keys.token}, "TLS 1.2": {tls: old, token: g.keys.token},
		"the key and another token": {tls: g.keys.tls, token: other.token},
	} {
		if conn, err := g.dialPeer(k, g.door); err == nil {
			t.Errorf("%s is let in", name)
			_ = conn.Close()
		}
	}
	for _, door := range []string{"127.0.0.1:1", "192.0.2.1:80", "localhost:80", ""} {
		if conn, err := g.dialPeer(g.keys, door); err == nil {
			t.Errorf("the proxy leads to %q", door)
			_ = conn.Close()
		}
	}
	for _, text := range []string{"\x02\x00\x00\x00\xff\xff", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\xff\xff\xff\xff\x01\x02", ""} {
		conn, err := net.Dial("tcp", g.own)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Error(err)
		}
		_ = conn.(*net.TCPConn).CloseWrite()            // it may be closed already
		if back, _ := io.ReadAll(conn); len(back) > 7 { // an alert of TLS
			t.Errorf("%q: it says %q", text, back)
		}
		_ = conn.Close()
	}
	g.counted(map[string]int64{passed: 3, unauthenticated: 5 + 3, wrongServer: 4, timedOut: 1, overloaded: 0, unreachable: 0})
}

// A proxy that has another token is not believed: nothing is sent to it.
func TestImpostor(t *testing.T) {
	g := newProxied(t, answers)
	if err := os.Remove(filepath.Join(g.folder, tokenFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.dialPeer(newToken(t, g.folder), g.door); err == nil || !strings.Contains(err.Error(), "another token") {
		t.Errorf("got %v", err)
	}
}

// What breaks on one side breaks on the other: an end in good order would be
// taken for the end of the rows.
func TestBroken(t *testing.T) {
	seen := make(chan error, 1)
	g := newProxied(t, func(conn net.Conn) {
		first := make([]byte, 5)
		_, err := io.ReadFull(conn, first)
		if string(first) == "serve" {
			_, _ = io.WriteString(conn, "half")
			time.Sleep(100 * time.Millisecond)
			abort(conn)
			return
		}
		_, rerr := io.Copy(io.Discard, conn)
		seen <- errors.Join(err, rerr)
		_ = conn.Close()
	})
	conn, err := g.dialPeer(g.keys, g.door)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "serve"); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(conn); err == nil {
		t.Errorf("the server broke off, and the client read %q in good order", text)
	}
	_ = conn.Close()
	if conn, err = g.dialPeer(g.keys, g.door); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "half a row"); err != nil {
		t.Error(err)
	}
	abort(conn)
	if err := <-seen; err == nil {
		t.Error("the client broke off, and the server read on in good order")
	}
}

// Any number that say nothing keep out nobody who knows the token.
func TestCrowd(t *testing.T) {
	g := newProxied(t, answers)
	before := files(t)
	var held []net.Conn
	for range maxPending + 10 {
		conn, err := net.Dial("tcp", g.own)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	conn, err := g.dialPeer(g.keys, g.door)
	if err != nil {
		t.Fatal(err)
	}
	asks(t, conn)
	for _, conn := range held {
		_ = conn.Close()
	}
	// On a busy machine the first are silent for too long before the last are there.
	g.until("one passed, 1,034 refused, ten or more of them since too many were pending", func(got map[string]int64) bool {
		return got[passed] == 1 && got[overloaded] >= 10 && got[overloaded]+got[timedOut] == maxPending+10
	})
	if now := files(t); now > before+2 {
		t.Errorf("%d files are open, %d were before", now, before)
	}
}

func TestKeys(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, tokenFile)
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{strings.Repeat("0a", 32), 0o640, "chmod 600"},
		{strings.Repeat("0a", 32), 0o604, "chmod 600"},
		{strings.Repeat("0a", 31), 0o600, "64 hexadecimal digits"},
		{"", 0o600, "64 hexadecimal digits"},
		{strings.Repeat("x", 64), 0o600, "64 hexadecimal digits"},
	} {
		if err := errors.Join(os.WriteFile(path, []byte(c.text), 0o600), os.Chmod(path, c.mode)); err != nil {
			t.Fatal(err)
		}
		if _, err := readKeys(folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, mode %o: got %v", c.text, c.mode, err)
		}
	}
	for server, want := range map[string]bool{"10.0.0.5:45326": true, "host:45326": false, "[::1]:45326": false, "10.0.0.5:60000": false, "10.0.0.5": false} {
		if _, err := doors(server, "10.0.0.5:45326"); (err == nil) != want {
			t.Errorf("%s: got %v", server, err)
		}
	}
	for master, want := range map[string]string{"10.0.0.5:45326": "[10.0.0.5:45326 10.0.0.5:55326 10.0.0.5:45327]", "10.0.0.6:45326": "[10.0.0.5:45326 10.0.0.5:55326]"} {
		if got, err := doors("10.0.0.5:45326", master); err != nil || fmt.Sprint(got) != want {
			t.Errorf("got %v, %v, want %s", got, err, want)
		}
	}
}
