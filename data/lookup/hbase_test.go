package lookup_test

import (
	"context"

	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
)

// hbaseServer is an HBase with its gateway, which the tests share.
type hbaseServer struct {
	once    sync.Once
	tables  atomic.Int64
	address string
	state   string // folder of ours; "": it is not ours
	err     error
}

var theHBase hbaseServer

func TestMain(m *testing.M) {
	code := m.Run()
	if theHBase.state != "" {
		if err := errors.Join(theHBase.script("down"), os.RemoveAll(theHBase.state)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// start starts a server, or takes the one that NEARDUP_HBASE names,
// http://HOST:PORT.
func (s *hbaseServer) start() {
	if running, ok := strings.CutPrefix(os.Getenv("NEARDUP_HBASE"), "http://"); ok {
		s.address = strings.TrimSuffix(running, "/")
		return
	}
	if s.state, s.err = os.MkdirTemp("", "neardup-hbase"); s.err == nil {
		s.address = fmt.Sprint("127.0.0.1:", 20000+os.Getpid()%2500*4)
		s.err = s.script("up")
	}
}

// script runs scripts/hbase.sh for our server.
func (s *hbaseServer) script(args ...string) error {
	_, port, _ := strings.Cut(s.address, ":")
	var said strings.Builder
	cmd := exec.Command("../../scripts/hbase.sh", append(args, "--state", s.state, "--port", port)...)
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hbase.sh %s: %w: %s", args[0], err, said.String())
	}
	return nil
}

// withHBase returns the shared server; the test is skipped where none can be.
func withHBase(t *testing.T) *hbaseServer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an HBase")
	}
	if os.Getenv("NEARDUP_HBASE") == "" {
		for program, from := range map[string]string{"java": "openjdk-17-jre-headless", "mvn": "maven"} {
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed: apt-get install %s", program, from)
			}
		}
	}
	theHBase.once.Do(theHBase.start)
	if theHBase.err != nil {
		t.Fatal(theHBase.err)
	}
	return &theHBase
}

// newTable names a table that is not there, and removes it after the test.
func (s *hbaseServer) newTable(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("neardup-test-%d-%d", os.Getpid(), s.tables.Add(1))
	t.Cleanup(func() { s.ask(t, http.MethodDelete, "/"+name+"/schema", "") })
	return name
}

// ask sends a request to the gateway, past the store.
func (s *hbaseServer) ask(t *testing.T, method, path, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var text strings.Builder
	if err := answer.Write(&text); err != nil || answer.StatusCode > 299 {
		t.Fatalf("%s %s: %s %v", method, path, text.String(), err)
	}
	_, after, _ := strings.Cut(text.String(), "\r\n\r\n")
	return after
}

func (s *hbaseServer) open(t *testing.T, schema lookup.Schema, table string) lookup.Store {
	t.Helper()
	store, err := hbase.Open(context.Background(), schema, hbase.Options{Address: s.address, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestHBase(t *testing.T) {
	s := withHBase(t)
	conformance(t, false, func(t *testing.T, schema lookup.Schema) lookup.Store {
		return s.open(t, schema, s.newTable(t))
	})
}
