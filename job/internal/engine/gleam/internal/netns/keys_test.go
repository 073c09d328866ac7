//go:build linux

package netns

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority is an operator's CA.
type authority struct {
	*testing.T
	own *x509.Certificate
	key *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an operator"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	own, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{T: t, own: own, key: key}
}

var bothUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}

// issue writes a certificate that holds for so long, its key and the CA's
// certificate, and the file of the folder that names them.
func (a *authority) issue(folder string, holds time.Duration, usages ...x509.ExtKeyUsage) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "a host"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(holds), ExtKeyUsage: usages,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.own, key.Public(), a.key)
	if err != nil {
		a.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	var paths []string
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}, "ca.pem": {Type: "CERTIFICATE", Bytes: a.own.Raw},
	} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			a.Fatal(err)
		}
	}
	for _, name := range []string{"cert.pem", "key.pem", "ca.pem"} {
		paths = append(paths, filepath.Join(folder, name))
	}
	if err := os.WriteFile(filepath.Join(folder, certificateFile), []byte(strings.Join(paths, "\n")+"\n"), 0o600); err != nil {
		a.Fatal(err)
	}
}

// holder are the keys of a host with this token and a certificate of the CA's.
func (a *authority) holder(token []byte, usages ...x509.ExtKeyUsage) *keys {
	a.Helper()
	folder := a.TempDir()
	newToken(a.T, folder)
	a.issue(folder, time.Hour, bothUsages...)
	k := keysIn(a.T, folder)
	if usages != nil {
		a.issue(folder, time.Hour, usages...)
		k.shows(folder)
	}
	k.token = token
	return k
}

// shows has the keys show a certificate that readKeys would not take.
func (k *keys) shows(folder string) {
	own, err := tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
	if err != nil {
		panic(err)
	}
	k.tls = k.tls.Clone()
	k.tls.Certificates = []tls.Certificate{own}
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) wait(t *testing.T, words string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, words) {
			return
		}
		if time.Since(began) > 2*patience {
			t.Fatalf("%q is not in %s", words, text)
		}
	}
}

// With an operator's certificate both ends have to have one of the CA's that
// holds, and the token.
func TestCertificate(t *testing.T) {
	f, socksAt := ways(t)
	g := &proxied{Namespace: f, T: t, socks: socksAt}
	made := newToken(t, f.folder)
	ca, other := newAuthority(t), newAuthority(t)
	ca.issue(f.folder, time.Hour, bothUsages...)
	g.keys = keysIn(t, f.folder)
	log := new(lines)
	g.open(slog.NewTextHandler(log, nil), answers)
	welcome := func(k *keys) {
		t.Helper()
		conn, err := g.dialPeer(k, g.door)
		if err != nil {
			t.Fatal(err)
		}
		asks(t, conn)
	}
	welcome(g.keys)
	token := made.token
	welcome(ca.holder(token))
	welcome(ca.holder(token, x509.ExtKeyUsageAny))

	folder := t.TempDir()
	ca.issue(folder, -time.Hour, bothUsages...)
	late, trusting := ca.holder(token), other.holder(token)
	late.shows(folder)
	trusting.tls.VerifyConnection = nil
	for i, c := range []struct {
		name string
		keys *keys
		says string
	}{
		{"another CA", other.holder(token), ""},
		{"another CA that trusts the proxy", trusting, "signed by unknown authority"},
		{"a certificate that has expired", late, "certificate has expired or is not yet valid"},
		{"a certificate for clients alone", ca.holder(token, x509.ExtKeyUsageClientAuth), "incompatible key usage"},
		{"the token alone", made, ""},
		{"another token", ca.holder(make([]byte, 32)), "another token"},
	} {
		if conn, err := g.dialPeer(c.keys, g.door); err == nil {
			t.Errorf("%s is let in", c.name)
			_ = conn.Close()
		}
		g.counted(map[string]int64{passed: 3, unauthenticated: int64(i + 1)})
		log.wait(t, c.says)
	}
	if _, err := g.dialPeer(other.holder(token), g.door); err == nil || !strings.Contains(err.Error(), "signed by unknown authority") {
		t.Errorf("a proxy with a certificate of another CA is believed, or not told of: %v", err)
	}
}

// A proxy takes a certificate that was renewed, and keeps the old one if the new
// one is not good.
func TestRenewed(t *testing.T) {
	folder := t.TempDir()
	newToken(t, folder)
	ca := newAuthority(t)
	ca.issue(folder, time.Hour, bothUsages...)
	log := new(lines)
	r, err := newKeyStore(slog.New(slog.NewTextHandler(log, nil)), folder)
	if err != nil {
		t.Fatal(err)
	}
	first := r.get()
	ca.issue(folder, 24*time.Hour, bothUsages...)
	if r.get() != first {
		t.Error("it looks each time")
	}
	later := func() *keys {
		r.mu.Lock()
		r.looked = time.Now().Add(-2 * reloadInterval)
		r.mu.Unlock()
		return r.get()
	}
	second := later()
	if second == first || !second.until.After(first.until.Add(time.Hour)) {
		t.Errorf("it holds until %v, and until %v", first.until, second.until)
	}
	ca.issue(folder, -time.Hour, bothUsages...)
	if later() != second {
		t.Error("it takes one that has expired")
	}
	log.wait(t, filepath.Join(folder, "cert.pem")+": x509: certificate has expired")
}

func TestCheck(t *testing.T) {
	folder := t.TempDir()
	newToken(t, folder)
	if until, err := Check(folder); err != nil || !until.IsZero() {
		t.Errorf("without a certificate: %v, %v", until, err)
	}
	ca, other := newAuthority(t), newAuthority(t)
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range []struct {
		want  string
		spoil func() error
	}{
		{"", nil},
		{"has expired", func() error { ca.issue(folder, -time.Hour, bothUsages...); return nil }},
		{"incompatible key usage", func() error { ca.issue(folder, time.Hour, x509.ExtKeyUsageServerAuth); return nil }},
		{"incompatible key usage", func() error { ca.issue(folder, time.Hour, x509.ExtKeyUsageClientAuth); return nil }},
		{"chmod 600", func() error { return os.Chmod(at("key.pem"), 0o644) }},
		{"no such file", func() error { return os.Remove(at("key.pem")) }},
		{"no such file", func() error { return os.Remove(at("ca.pem")) }},
		{"no certificate in PEM", func() error { return os.WriteFile(at("ca.pem"), []byte("x"), 0o600) }},
		{"unknown authority", func() error {
			return os.WriteFile(at("ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.own.Raw}), 0o600)
		}},
		{"has 1 lines", func() error { return os.WriteFile(at(certificateFile), []byte(at("cert.pem")), 0o600) }},
		{"no such file", func() error { return os.Remove(at(tokenFile)) }},
	} {
		ca.issue(folder, time.Hour, bothUsages...)
		if c.spoil != nil {
			if err := c.spoil(); err != nil {
				t.Fatal(err)
			}
		}
		until, err := Check(folder)
		if c.want == "" && (err != nil || time.Until(until) < 50*time.Minute) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("want %q, got %v, %v", c.want, until, err)
		}
		if c.want != "" && c.want != "no such file" && err != nil && !strings.Contains(err.Error(), folder) {
			t.Errorf("%v names no file", err)
		}
	}
	if _, err := newKeyStore(slog.New(slog.DiscardHandler), folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a proxy opens without keys: %v", err)
	}
}
