package cli

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"net/http/httptest"

	"github.com/neardup/neardup/data/object/objecttest"
)

// A run whose input stands in an S3 store, and which is published there, has
// the bytes of one on files.
func TestRunInStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	server := objecttest.Start(t, "crawl")
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 3, 300)
	whole := compress(t, filepath.Join(in, "002.jsonl"))
	if err := os.WriteFile(filepath.Join(in, "002.jsonl.gz"), whole, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(in, "002.jsonl")); err != nil {
		t.Fatal(err)
	}
	sample := filepath.Join("..", "..", "..", "data", "sample", "crawl-00.warc.gz")
	text, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "crawl-00.warc.gz"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(in, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		server.Put("dump/"+f.Name(), text)
	}
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for _, args := range [][]string{
		{"run", in, "--set", "input.split_bytes=100000", "--out", here},
		{"run", "s3://crawl/dump", "--set", "input.split_bytes=100000", "--out", there, "--publish", "s3://crawl/published/night"},
		{"match", filepath.Join(server.Folder, "published", "night"), "--out", filepath.Join(dir, "again")},
	} {
		cmd, stderr := start(t, args...)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, stderr)
		}
	}
	published := filepath.Join(server.Folder, "published", "night")
	for _, table := range []string{"matches", "clusters"} {
		for _, other := range []string{there, published} {
			if out, err := exec.Command("diff", "-r", filepath.Join(here, table), filepath.Join(other, table)).CombinedOutput(); err != nil {
				t.Errorf("%s of %s: %s", table, other, out)
			}
		}
	}
	for _, table := range []string{"fingerprints", "clean"} { // they name their input
		if out, err := exec.Command("diff", "-r", filepath.Join(there, table), filepath.Join(published, table)).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", table, out)
		}
	}
	if _, err := os.Stat(filepath.Join(published, "_SUCCESS")); err != nil {
		t.Error(err)
	}
}

// faulty stands in front of a store. Of all requests it answers one of seven with 500
// and one with 503, cuts one off in its answer, and one that has a body before that is
// read; all take a while.
type faulty struct {
	store    *httputil.ReverseProxy
	requests atomic.Int64
	faults   atomic.Int64
	wait     atomic.Int64  // nanoseconds
	uploaded chan struct{} // receives once an object was put; nobody may listen
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	to, err := url.Parse(os.Getenv("NEARDUP_S3_ENDPOINT"))
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{uploaded: make(chan struct{}, 1)}
	f.store = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, // which is signed
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK {
				select {
				case f.uploaded <- struct{}{}:
				default:
				}
			}
			return nil
		},
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Setenv("NEARDUP_S3_ENDPOINT", server.URL)
	return f
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(f.wait.Load()))
	switch n := f.requests.Add(1); n % 7 {
	case 1:
		f.faults.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	case 3:
		f.faults.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	case 5:
		f.faults.Add(1)
		panic(http.ErrAbortHandler) // the connection is cut
	default:
		f.store.ServeHTTP(w, r)
	}
}

// A run to and from a store that is slow, fails and cuts connections is right; one
// that is killed while it uploads leaves no marker, and the same command completes it.
// A second run to the same place is refused.
func TestOutInStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	server := objecttest.Start(t, "crawl")
	dir := t.TempDir()
	in, here, work := filepath.Join(dir, "dump"), filepath.Join(dir, "here"), filepath.Join(dir, "work")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 3, 300)
	files, err := os.ReadDir(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(in, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		server.Put("dump/"+f.Name(), text)
	}
	run := func(args ...string) error {
		cmd, stderr := start(t, append([]string{"run"}, args...)...)
		err := cmd.Wait()
		if err != nil {
			t.Logf("%v: %v: %s", args, err, stderr)
		}
		return err
	}
	if err := run(in, "--out", here); err != nil {
		t.Fatal(err)
	}
	whole := func(prefix string) {
		t.Helper()
		for _, table := range []string{"matches", "clusters", "clean"} {
			if out, err := exec.Command("diff", "-r", filepath.Join(here, table), filepath.Join(server.Folder, prefix, table)).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", table, out)
			}
		}
		if _, err := os.Stat(filepath.Join(server.Folder, prefix, "_SUCCESS")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(work, "crawl", prefix)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is uploaded stays on the machine: %v", err)
		}
	}
	there := func(prefix string) []string {
		return []string{"s3://crawl/dump", "--set", "execution.work_dir=" + work, "--out", "s3://crawl/" + prefix}
	}

	f := newFaulty(t)
	if err := run(there("night1")...); err != nil {
		t.Fatal(err)
	}
	if f.faults.Load() < 5 {
		t.Errorf("%d faults: the test shows little", f.faults.Load())
	}
	whole("night1")
	if err := run(there("night1")...); exitOf(err) != 10 {
		t.Errorf("a second run to the same place: %v", err)
	}

	f.wait.Store(int64(20 * time.Millisecond))
	select { // of the first run
	case <-f.uploaded:
	default:
	}
	cmd, _ := start(t, append([]string{"run"}, there("night2")...)...)
	<-f.uploaded
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it is killed
	if _, err := os.Stat(filepath.Join(server.Folder, "night2", "_SUCCESS")); err == nil {
		t.Fatal("half a run has its marker")
	}
	if err := run(there("night2")...); err != nil {
		t.Fatal(err)
	}
	whole("night2")
	if err := run("s3://crawl/dump", "--out", "s3://crawl/night3", "--publish", "s3://crawl/night4"); exitOf(err) != 2 {
		t.Errorf("two places: %v", err)
	}
}

// exitOf is the exit code of a command, 0 without an error.
func exitOf(err error) int {
	exit := (*exec.ExitError)(nil)
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}
