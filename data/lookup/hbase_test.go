package lookup_test

import (
	"context"
	"encoding/json"

	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
		if err := errors.Join(theHBase.kill(), theHBase.script("down"), os.RemoveAll(theHBase.state)); err != nil {
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
	if s.state, s.err = os.MkdirTemp("", "neardup-hbase"); s.err != nil {
		return
	}
	for try := range 5 { // other packages' tests have servers there too
		s.address = fmt.Sprint("127.0.0.1:", 20000+(os.Getpid()+try*701)%2500*4)
		if s.err = s.script("up"); s.err == nil || !strings.Contains(s.err.Error(), "something listens at port") {
			return
		}
	}
}

// script runs scripts/hbase.sh for our server.
func (s *hbaseServer) script(args ...string) error {
	_, port, _ := strings.Cut(s.address, ":")
	var said strings.Builder
	cmd := exec.Command("../../scripts/hbase.sh", append(args, "--state", s.state, "--port", port)...)
	cmd.Stderr = &said
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC") // it does not run for long
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hbase.sh %s: %w: %s", args[0], err, said.String())
	}
	return nil
}

// kill ends the server as it stands: what it would write as it ends, for half a
// minute, is removed anyway.
func (s *hbaseServer) kill() error {
	var pid int
	text, err := os.ReadFile(filepath.Join(s.state, "server.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // it did not start
	}
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	if err != nil {
		return err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
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
	store, err := hbase.Open(context.Background(), schema, s.address, table)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestHBase(t *testing.T) {
	t.Parallel()
	s := withHBase(t)
	conformance(t, false, func(t *testing.T, schema lookup.Schema) lookup.Store {
		return s.open(t, schema, s.newTable(t))
	})
}

// onePage is a document that has one key.
func onePage(row int64, lo uint64) lookup.Entry {
	return lookup.Entry{Row: row, ID: fmt.Appendf(nil, "page %d", row), Lo: lo, Normal: true, Keys: []lookup.Key{{Table: 1, Value: uint32(lo >> 8 & (1<<20 - 1))}}}
}

// known fails the test unless the store knows the document, and nothing else
// that is near.
func known(t *testing.T, s lookup.Store, e lookup.Entry) {
	t.Helper()
	hits, err := s.Near(context.Background(), &lookup.Query{Keys: e.Keys, Lo: e.Lo})
	if err != nil || len(hits) != 1 || string(hits[0].ID) != string(e.ID) {
		t.Fatalf("%s: %+v, %v", e.ID, hits, err)
	}
}

// A store is there again when it is opened again; one of another schema is
// emptied, to the last row; a store that cannot look at everything says so.
func TestHBaseOpenAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := withHBase(t)
	table := server.newTable(t)
	s := server.open(t, testSchema(64), table)
	e := onePage(3, 5<<8)
	if err := put(ctx, s, "p", []lookup.Entry{e}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Near(ctx, &lookup.Query{All: true}); !errors.Is(err, lookup.ErrScan) {
		t.Errorf("a scan was answered: %v", err)
	}
	closing(t, s)
	s = server.open(t, testSchema(64), table)
	known(t, s, e)
	closing(t, s)
	s = server.open(t, testSchema(128), table)
	defer closing(t, s)
	if parts, err := s.Parts(ctx); err != nil || len(parts) != 0 {
		t.Errorf("parts of another schema: %q, %v", parts, err)
	}
	var left struct{ Row []any }
	if err := json.Unmarshal([]byte(server.ask(t, http.MethodGet, "/"+table+"/*?limit=10", "")), &left); err != nil || len(left.Row) != 1 {
		t.Errorf("%d rows are left, %v; want the one that says what there is", len(left.Row), err)
	}
}

// A table that is something else is left alone.
func TestHBaseForeignTable(t *testing.T) {
	t.Parallel()
	server := withHBase(t)
	table := server.newTable(t)
	server.ask(t, http.MethodPut, "/"+table+"/schema", `{"name":"`+table+`","ColumnSchema":[{"name":"cf"}]}`)
	if _, err := hbase.Open(context.Background(), testSchema(64), server.address, table); err == nil || !strings.Contains(err.Error(), "name another table") {
		t.Error(err)
	}
}

// An index whose rows have other keys is refused.
func TestHBaseOfAnEarlierBuild(t *testing.T) {
	t.Parallel()
	server := withHBase(t)
	table := server.newTable(t)
	server.ask(t, http.MethodPut, "/"+table+"/schema", `{"name":"`+table+`","ColumnSchema":[{"name":"d"}]}`)
	server.ask(t, http.MethodPut, "/"+table+"/rows", `{"Row":[{"key":"bWV0YQ==","Cell":[{"column":"ZDp2","$":"e30="}]}]}`)
	if _, err := hbase.Open(context.Background(), testSchema(64), server.address, table); err == nil || !strings.Contains(err.Error(), "name another table") {
		t.Error(err)
	}
}

// regions is how many regions a table has.
func (s *hbaseServer) regions(t *testing.T, table string) int {
	var have struct{ Region []any }
	if err := json.Unmarshal([]byte(s.ask(t, http.MethodGet, "/"+table+"/regions", "")), &have); err != nil {
		t.Fatal(err)
	}
	return len(have.Region)
}

// While a region is divided, which HBase does as it grows, look-ups and puts
// go on.
func TestHBaseSplit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := withHBase(t)
	table := server.newTable(t)
	// The smallest limits that HBase allows.
	server.ask(t, http.MethodPut, "/"+table+"/schema", `{"name":"`+table+`","MAX_FILESIZE":"2097152","MEMSTORE_FLUSHSIZE":"1048576",
		"SPLIT_POLICY":"org.apache.hadoop.hbase.regionserver.ConstantSizeRegionSplitPolicy","ColumnSchema":[{"name":"d"}]}`)
	s := server.open(t, testSchema(64), table)
	defer closing(t, s)
	before := onePage(0, 1)
	if err := put(ctx, s, "before", []lookup.Entry{before}); err != nil {
		t.Fatal(err)
	}
	var last lookup.Entry
	began := time.Now()
	for i := range 60 {
		var entries []lookup.Entry
		for row := range 500 {
			last = onePage(int64(row), uint64(1+i*500+row)<<8)
			last.Letters = []byte(strings.Repeat("x", 1000))
			entries = append(entries, last)
		}
		if err := put(ctx, s, fmt.Sprint("part ", i), entries); err != nil {
			t.Fatal(err)
		}
		known(t, s, before)
		known(t, s, last)
		if n := server.regions(t, table); n > 1 {
			t.Logf("%d regions after %d documents, %v", n, (i+1)*500, time.Since(began))
			return
		}
	}
	t.Error("the region was not divided: the test shows nothing")
}

// A gateway that dies is an error that says where; one that comes again is
// found by the store that is open, and so is a server that was started again. It runs
// before the others, which share the server.
func TestHBaseRestart(t *testing.T) {
	ctx := context.Background()
	server := withHBase(t)
	if server.state == "" {
		t.Skip("NEARDUP_HBASE names a server that is not to be stopped")
	}
	s := server.open(t, testSchema(64), server.newTable(t))
	defer closing(t, s)
	e := onePage(1, 77<<8)
	if err := put(ctx, s, "p", []lookup.Entry{e}); err != nil {
		t.Fatal(err)
	}
	if err := server.script("down", "--gateway"); err != nil {
		t.Fatal(err)
	}
	_, err := s.Near(ctx, &lookup.Query{Keys: e.Keys, Lo: e.Lo})
	if err == nil || !strings.Contains(err.Error(), "hbase at "+server.address) || !strings.Contains(err.Error(), "is HBase's REST gateway running there?") {
		t.Fatalf("without a gateway: %v", err)
	}
	for _, what := range [][]string{{"up"}, {"down"}, {"up"}} {
		began := time.Now()
		if err := server.script(what...); err != nil {
			t.Fatal(err)
		}
		if what[0] == "up" {
			known(t, s, e)
		}
		t.Logf("%s: %v", what, time.Since(began))
	}
	if err := put(ctx, s, "q", []lookup.Entry{onePage(2, 78<<8)}); err != nil {
		t.Fatal(err)
	}
	known(t, s, onePage(2, 78<<8))
}

// A table that is there already is left as it is.
func TestHBaseTableTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server := withHBase(t)
	if server.state == "" {
		t.Skip("NEARDUP_HBASE names a server that another script has started")
	}
	table := server.newTable(t)
	divided := func() {
		t.Helper()
		if err := server.script("table", table, "--regions", "3"); err != nil {
			t.Fatal(err)
		}
	}
	divided()
	s := server.open(t, testSchema(64), table)
	defer closing(t, s)
	e := onePage(1, 77<<8)
	if err := put(ctx, s, "p", []lookup.Entry{e}); err != nil {
		t.Fatal(err)
	}
	divided()
	known(t, s, e)
}
