package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object/objecttest"
	"github.com/neardup/neardup/data/parquet"
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

// A run to and from a store that is slow, fails and cuts connections is right. One that
// is killed while it reads or uploads, or whose store is gone, leaves no marker and says
// why; the same command completes it. A second run to the same place is refused.
func TestOutInStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()
	server := objecttest.StartBeside(t, "crawl")
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
	run := func(args ...string) (said string, err error) {
		cmd, stderr := startWith(t, server.Environ(), append([]string{"run"}, args...)...)
		err = cmd.Wait()
		return stderr.String(), err
	}
	if said, err := run(in, "--out", here); err != nil {
		t.Fatal(err, said)
	}
	there := func(prefix string) []string {
		return []string{"s3://crawl/dump", "--set", "execution.work_dir=" + work, "--out", "s3://crawl/" + prefix}
	}
	finished := func(prefix string) bool {
		_, err := os.Stat(filepath.Join(server.Folder, prefix, "_SUCCESS"))
		return err == nil
	}
	completed := func(t *testing.T, prefix string) {
		t.Helper()
		if said, err := run(there(prefix)...); err != nil {
			t.Fatal(err, said)
		}
		for _, table := range []string{"matches", "clusters", "clean"} {
			if out, err := exec.Command("diff", "-r", filepath.Join(here, table), filepath.Join(server.Folder, prefix, table)).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", table, out)
			}
		}
		if !finished(prefix) {
			t.Error("it has no marker")
		}
		if _, err := os.Stat(filepath.Join(work, "crawl", prefix)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is uploaded stays on the machine: %v", err)
		}
	}

	some := func(n int64, r *http.Request) objecttest.Fault {
		switch n % 9 {
		case 1:
			return objecttest.Failed
		case 3:
			return objecttest.Unavailable
		case 5:
			return objecttest.Refused
		case 7:
			if r.Method == http.MethodPut {
				return objecttest.CutUpload
			}
			return objecttest.CutAnswer
		}
		return objecttest.None
	}
	var choose atomic.Value // of the proxy
	choose.Store(some)
	answered := make(chan string, 100) // methods of requests for objects; nobody may listen
	proxy := &objecttest.Proxy{
		Choose: func(n int64, r *http.Request) objecttest.Fault {
			return choose.Load().(func(int64, *http.Request) objecttest.Fault)(n, r)
		},
		Answered: func(r *http.Request) {
			if r.URL.Query().Has("list-type") {
				return
			}
			select {
			case answered <- r.Method:
			default:
			}
		},
	}
	server.Behind(proxy)

	t.Run("faults", func(t *testing.T) {
		completed(t, "night1")
		if n := proxy.Faults.Load(); n < 9 {
			t.Errorf("%d faults: the test shows little", n)
		}
		if said, err := run(there("night1")...); exitOf(err) != 10 {
			t.Errorf("a second run to the same place: %v: %s", err, said)
		}
	})

	for _, method := range []string{http.MethodGet, http.MethodPut} {
		t.Run("killed after a "+method, func(t *testing.T) {
			prefix := "killed-" + method
			proxy.Wait.Store(int64(20 * time.Millisecond))
			defer proxy.Wait.Store(0)
			for len(answered) > 0 { // of runs before
				<-answered
			}
			cmd, _ := startWith(t, server.Environ(), append([]string{"run"}, there(prefix)...)...)
			for <-answered != method {
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it is killed
			if finished(prefix) {
				t.Fatal("half a run has its marker")
			}
			completed(t, prefix)
		})
	}

	for _, method := range []string{http.MethodGet, http.MethodPut} {
		t.Run("no more answer to a "+method, func(t *testing.T) {
			prefix := "gone-" + method
			var asked atomic.Int64
			choose.Store(func(_ int64, r *http.Request) objecttest.Fault {
				if r.Method == method && asked.Add(1) > 2 {
					return objecttest.Unavailable
				}
				return objecttest.None
			})
			said, err := run(there(prefix)...)
			if exitOf(err) != exitFailed || !strings.Contains(said, "neardup: ") || !strings.Contains(said, "s3://crawl/") || !strings.Contains(said, "see that it runs") {
				t.Errorf("%v: %s", err, said)
			}
			if finished(prefix) {
				t.Fatal("half a run has its marker")
			}
			choose.Store(some)
			completed(t, prefix)
		})
	}

	if said, err := run("s3://crawl/dump", "--out", "s3://crawl/night3", "--publish", "s3://crawl/night4"); exitOf(err) != exitUsage {
		t.Errorf("two places: %v: %s", err, said)
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

// Many small objects, lines or tables, are read as many small files are, with few more
// requests than there are objects to read, and the same found, also where answers are cut
// off.
func TestManySmallObjects(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes")
	}
	const objects = 300
	server := objecttest.Start(t, "crawl")
	var asked, read atomic.Int64 // of objects: what they are, and for their bytes
	cut := func(n int64, r *http.Request) objecttest.Fault {
		if n%9 == 7 && r.Method == http.MethodGet && !r.URL.Query().Has("list-type") {
			return objecttest.CutAnswer
		}
		return objecttest.None
	}
	proxy := &objecttest.Proxy{Choose: cut, Answered: func(r *http.Request) {
		switch {
		case r.Method == http.MethodHead:
			asked.Add(1)
		case !r.URL.Query().Has("list-type"):
			read.Add(1)
		}
	}}
	server.Behind(proxy)
	dir := t.TempDir()
	lines := filepath.Join(dir, "lines")
	if err := os.Mkdir(lines, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, lines, objects, 2)
	// run runs over a folder and over its objects, which find the same.
	run := func(t *testing.T, name string) (there string) {
		t.Helper()
		in := filepath.Join(dir, name)
		files, err := os.ReadDir(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(in, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			server.Put(name+"/"+f.Name(), text)
		}
		asked.Store(0)
		read.Store(0)
		here, there := in+"-here", in+"-there"
		for _, args := range [][]string{{"run", in, "--out", here}, {"run", "s3://crawl/" + name, "--out", there}} {
			cmd, stderr := start(t, args...)
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v: %v: %s", args, err, stderr)
			}
		}
		for _, table := range []string{"matches", "clusters", "removed", "clean"} {
			if out, err := exec.Command("diff", "-r", filepath.Join(here, table), filepath.Join(there, table)).CombinedOutput(); err != nil {
				t.Errorf("%s: %s", table, out)
			}
		}
		if proxy.Faults.Load() == 0 {
			t.Error("no answer was cut off")
		}
		t.Logf("asked what the objects are %d times, for their bytes %d times", asked.Load(), read.Load())
		return there
	}
	var all []page
	for i := range objects {
		text, err := os.ReadFile(filepath.Join(lines, fmt.Sprintf("%03d.jsonl", i)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parsed(t, text)...)
	}
	for format, c := range map[string]struct {
		write func(path string, of []page) error
		reads int64 // of each object, by the stages and for its schema
	}{
		"jsonl":   {jsonlFile, 3},
		"csv":     {csvFile, 4},
		"parquet": {parquetFile, 5},
		"arrow":   {arrowFile, 6},
	} {
		t.Run(format, func(t *testing.T) {
			if err := os.Mkdir(filepath.Join(dir, format), 0o755); err != nil {
				t.Fatal(err)
			}
			for i := range objects {
				if err := c.write(filepath.Join(dir, format, fmt.Sprintf("%03d.%s", i, format)), all[2*i:2*i+2]); err != nil {
					t.Fatal(err)
				}
			}
			parts, err := filepath.Glob(filepath.Join(run(t, format), "fingerprints", "*"))
			if err != nil || len(parts) < 60 || len(parts) > 130 {
				t.Errorf("%d parts, %v", len(parts), err)
			}
			// The beginnings of a hundred tell what they are, and each split is asked for
			// a few times.
			if asked.Load() > objects/2 || read.Load() > (c.reads*objects+400)*9/8 {
				t.Errorf("%d objects: asked what they are %d times, for their bytes %d times", objects, asked.Load(), read.Load())
			}
		})
	}

	// In one larger object, too.
	var larger []page
	for i := range 1 << 14 {
		p := all[i%len(all)]
		p.ID = fmt.Sprint(i)
		larger = append(larger, p)
	}
	for format, write := range map[string]func(path string, of []page) error{"jsonl": jsonlFile, "csv": csvFile, "parquet": parquetFile, "arrow": arrowFile} {
		t.Run("larger "+format, func(t *testing.T) {
			in := filepath.Join(dir, "larger-"+format)
			path := filepath.Join(in, "a."+format)
			if err := errors.Join(os.Mkdir(in, 0o755), write(path, larger)); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() < 2<<20 {
				t.Fatalf("%d bytes, %v: that is small", info.Size(), err)
			}
			run(t, filepath.Base(in))
			if read.Load() > 80 {
				t.Errorf("asked for bytes %d times", read.Load())
			}
		})
	}
}

// page is what dump writes as a line.
type page struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func parsed(t *testing.T, lines []byte) (pages []page) {
	t.Helper()
	for line := range bytes.Lines(lines) {
		var p page
		if err := json.Unmarshal(line, &p); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, p)
	}
	return pages
}

func jsonlFile(path string, pages []page) error {
	var b bytes.Buffer
	for _, p := range pages {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

func csvFile(path string, pages []page) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{"id", "title", "text"}}
	for _, p := range pages {
		rows = append(rows, []string{p.ID, p.Title, p.Text})
	}
	return errors.Join(w.WriteAll(rows), os.WriteFile(path, b.Bytes(), 0o600))
}

// record is the pages as one of Arrow.
func record(pages []page) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "title", Type: arrow.BinaryTypes.String}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil))
	for _, p := range pages {
		for i, value := range []string{p.ID, p.Title, p.Text} {
			b.Field(i).(*array.StringBuilder).Append(value)
		}
	}
	return b.NewRecord()
}

func arrowFile(path string, pages []page) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	of := record(pages)
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(of.Schema()))
	if err == nil {
		err = errors.Join(w.Write(of), w.Close())
	}
	return errors.Join(err, f.Close())
}

func parquetFile(path string, pages []page) error {
	w, err := parquet.Create(path, &data.Texts, parquet.Options{})
	if err != nil {
		return err
	}
	for _, p := range pages {
		if err := w.Write(&data.TextRow{DocID: []byte(p.ID), Title: []byte(p.Title), Text: []byte(p.Text)}); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}
