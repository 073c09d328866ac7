//go:build linux

package netns

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Files in the state folder of a cluster of several hosts.
const (
	tokenFile       = "token"       // 64 hexadecimal digits, the same on all hosts
	certificateFile = "certificate" // three lines, paths on this host: certificate, key, CA, all PEM
)

var errAnotherToken = errors.New("another token")

// keys are the credentials of a host, and what it demands of the other end. Two
// checks stand one behind the other: the TLS certificate, and a proof that the end
// knows the cluster's token. After the handshake:
//
//	forwarder ── door, proof ──► proxy     (ask, asked)
//	forwarder ◄────── proof ──── proxy     (open)
type keys struct {
	tls   *tls.Config
	token []byte
	until time.Time // when the operator's certificate expires; zero: derived from the token
}

// readKeys reads the token in the folder and, if the operator provided one, the
// certificate. Without a certificate both ends use the Ed25519 key (RFC 8032) whose
// seed is the token, in a self-signed certificate. Each accepts only that public
// key, and TLS proves that the other end holds the private one.
func readKeys(folder string) (*keys, error) {
	token, err := readToken(filepath.Join(folder, tokenFile))
	if err != nil {
		return nil, err
	}
	k := &keys{token: token}
	text, err := os.ReadFile(filepath.Join(folder, certificateFile))
	switch paths := strings.Split(strings.TrimSpace(string(text)), "\n"); {
	case errors.Is(err, os.ErrNotExist):
		err = k.make()
	case err == nil && len(paths) == 3:
		err = k.load(paths[0], paths[1], paths[2])
	case err == nil:
		err = fmt.Errorf("%s has %d lines, want certificate, key and CA", filepath.Join(folder, certificateFile), len(paths))
	}
	return k, err
}

func readToken(path string) ([]byte, error) {
	if err := private(path, 0o077); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	token, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(token) != ed25519.SeedSize {
		return nil, fmt.Errorf("%s does not hold %d hexadecimal digits: remove it, scripts/cluster.sh makes another", path, 2*ed25519.SeedSize)
	}
	return token, nil
}

// private returns an error if the file's mode has any bit of rights.
func private(path string, rights os.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&rights != 0 {
		err = fmt.Errorf("%s is not its user's alone: chmod 600 it", path)
	}
	return err
}

// make derives key and certificate from the token.
func (k *keys) make() error {
	key := ed25519.NewKeyFromSeed(k.token)
	known, _ := key.Public().(ed25519.PublicKey) // it is
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, err := x509.CreateCertificate(nil, template, template, known, key)
	if err != nil {
		return err
	}
	k.set(tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key}, func(chain []*x509.Certificate) error {
		if theirs, ok := chain[0].PublicKey.(ed25519.PublicKey); !ok || subtle.ConstantTimeCompare(theirs, known) != 1 {
			return errAnotherToken
		}
		return nil
	})
	return nil
}

// load reads the operator's certificate. It and the other end's must be valid now,
// lead up to the CA, and allow use as server and as client, since a host is both.
// Host names are not checked: the token decides who belongs to the cluster.
func (k *keys) load(certificate, key, ca string) error {
	if err := private(key, 0o007); err != nil {
		return err
	}
	own, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", certificate, key, err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate in PEM", ca)
	}
	verify := func(chain []*x509.Certificate) error { return verifyChain(chain, roots) }
	var chain []*x509.Certificate
	for _, der := range own.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fmt.Errorf("certificate %s: %w", certificate, err)
		}
		chain = append(chain, c)
	}
	if err := verify(chain); err != nil {
		return fmt.Errorf("certificate %s: %w", certificate, err)
	}
	k.until = chain[0].NotAfter
	k.set(own, verify)
	return nil
}

func verifyChain(chain []*x509.Certificate, roots *x509.CertPool) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			return err
		}
	}
	return nil
}

// set makes the TLS configuration: TLS 1.3, both ends present a certificate, and
// verify decides on the other end's.
func (k *keys) set(own tls.Certificate, verify func([]*x509.Certificate) error) {
	k.tls = &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{own},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, //nolint:gosec // VerifyConnection does
		SessionTicketsDisabled: true,
		VerifyConnection:       func(s tls.ConnectionState) error { return verify(s.PeerCertificates) },
	}
}

// Labels of the keying material for the two ends' proofs: the end that asks, and
// the one that opens. They differ, so that neither can return the other's proof.
const (
	asking  = "EXPORTER-neardup-asking"
	opening = "EXPORTER-neardup-opening"
)

// proof shows that this end knows the token: an HMAC, keyed by the token, of keying
// material that TLS exports (RFC 8446, section 7.5). Only the two ends of this very
// connection know that material, so a proof cannot be replayed on another one.
func (k *keys) proof(conn *tls.Conn, end string) (string, error) {
	state := conn.ConnectionState()
	material, err := state.ExportKeyingMaterial(end, nil, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, k.token)
	mac.Write(material)
	return hex.EncodeToString(mac.Sum(nil)), nil
}

// proven returns errAnotherToken unless said is the proof of the end with that
// label.
func (k *keys) proven(conn *tls.Conn, end, said string) error {
	want, err := k.proof(conn, end)
	if err == nil && !hmac.Equal([]byte(said), []byte(want)) {
		err = errAnotherToken
	}
	return err
}

// ask requests a door from the proxy at the other end, and returns once the proxy
// has proved that it knows the token and the door is open.
func (k *keys) ask(ctx context.Context, conn *tls.Conn, door string) error {
	if err := conn.HandshakeContext(ctx); err != nil {
		return err
	}
	proof, err := k.proof(conn, asking)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(conn, door+" "+proof+"\n"); err != nil {
		return err
	}
	said, err := readLine(conn)
	if err != nil {
		return err
	}
	return k.proven(conn, opening, said)
}

// asked is the proxy's side of ask: it returns the requested door once the other
// end has proved that it knows the token.
func (k *keys) asked(conn *tls.Conn) (door string, err error) {
	if err := conn.Handshake(); err != nil {
		return "", err
	}
	line, err := readLine(conn)
	if err != nil {
		return "", err
	}
	door, said, _ := strings.Cut(line, " ")
	return door, k.proven(conn, asking, said)
}

// open tells the end that asked that the door is open, with the proxy's proof.
func (k *keys) open(conn *tls.Conn) error {
	proof, err := k.proof(conn, opening)
	if err == nil {
		_, err = io.WriteString(conn, proof+"\n")
	}
	return err
}

// reloadInterval is how long keys are used before they are read again.
const reloadInterval = 10 * time.Second

// keyStore holds the keys of a state folder and picks up a renewed certificate. It
// is safe for concurrent use.
type keyStore struct {
	folder string
	log    *slog.Logger

	mu     sync.Mutex
	keys   *keys
	looked time.Time
}

func newKeyStore(log *slog.Logger, folder string) (*keyStore, error) {
	k, err := readKeys(folder)
	return &keyStore{folder: folder, log: log, keys: k, looked: time.Now()}, err
}

// get returns the current keys. If new ones cannot be read, it logs that and keeps
// the old ones.
func (r *keyStore) get() *keys {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) > reloadInterval {
		r.looked = time.Now()
		if k, err := readKeys(r.folder); err != nil {
			r.log.Error("keys are not reloaded", "error", err)
		} else {
			r.keys = k
		}
	}
	return r.keys
}

// Check reads the folder's token and certificate as a proxy does, and returns when
// the certificate expires. The time is zero if there is no certificate and the
// keys are derived from the token.
func Check(folder string) (until time.Time, err error) {
	k, err := readKeys(folder)
	if err != nil {
		return time.Time{}, err
	}
	return k.until, nil
}
