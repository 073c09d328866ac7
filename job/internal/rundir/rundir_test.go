package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
)

func open(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestOpenRefusesStrangers(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no run") {
		t.Fatalf("got %v, want a refusal", err)
	}
}

func TestLockIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, errInUse) {
		t.Fatalf("got %v, want errInUse", err)
	}
	if used, err := InUse(dir); !used || err != nil {
		t.Fatalf("in use: %t, %v", used, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if used, err := InUse(dir); used || err != nil {
		t.Fatalf("in use after Close: %t, %v", used, err)
	}
}

func TestOpenSweeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	left, err := data.CreateAtomic(d.Path(State, "x")) // never committed
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Path(Scratch, "spilled"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.lock.Unlock(); err != nil { // as a kill does
		t.Fatal(err)
	}
	open(t, dir)
	for _, folder := range []string{State, Scratch} {
		if entries, err := os.ReadDir(filepath.Join(dir, folder)); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", folder, entries, err)
		}
	}
	if err := left.Abort(); err != nil {
		t.Fatal(err)
	}
}

// TestOpenWhileWorkersWrite opens the run of a killed process, whose workers
// write into its scratch folder for a while.
func TestOpenWhileWorkersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for worker := range 4 {
		folder := filepath.Join(path, Scratch, "attempt", fmt.Sprint(worker))
		workers.Go(func() {
			for began, n := time.Now(), 0; time.Since(began) < time.Second/2; n++ {
				_ = os.MkdirAll(folder, 0o755) // it is being removed
				_ = os.WriteFile(filepath.Join(folder, fmt.Sprint(n)), nil, 0o644)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	d := open(t, path)
	workers.Wait()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

func TestTidy(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "run"))
	own, err := data.CreateAtomic(d.Path(State, "own"))
	if err != nil {
		t.Fatal(err)
	}
	keep, err := d.Temporaries()
	if err != nil || len(keep) != 1 {
		t.Fatalf("found %v, %v", keep, err)
	}
	killed, err := data.CreateAtomic(d.Path(State, "a worker's"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Tidy(keep); err != nil {
		t.Error(err)
	}
	if err := own.Commit(); err != nil {
		t.Errorf("its own: %v", err)
	}
	if err := killed.Commit(); err == nil {
		t.Error("a killed worker's file is still there")
	}
}

func TestAdopt(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "run"))
	m := Manifest{Version: LayoutVersion, ConfigHash: "a", Command: "run", Config: []byte(`{"match":{"distance":3}}`),
		Splits: []data.Split{{Path: "x.jsonl", Size: 7, End: -1}}}
	if err := d.Adopt(m); err != nil {
		t.Fatal(err)
	}
	if err := d.Adopt(m); err != nil {
		t.Fatalf("the same manifest again: %v", err)
	}
	d2 := open(t, filepath.Join(t.TempDir(), "run"))
	m2 := m
	m2.Folder = "/srv/crawl"
	if err := d2.Adopt(m2); err != nil {
		t.Fatal(err)
	}
	for path, folder := range map[string]string{"./x.jsonl": "/srv/crawl", "/srv/crawl/x.jsonl": "/tmp", "../crawl/x.jsonl": "/srv/other"} {
		m2.Folder, m2.Splits = folder, []data.Split{{Path: path, Size: 7, End: -1}}
		if err := d2.Adopt(m2); err != nil {
			t.Errorf("%s in %s is the same file: %v", path, folder, err)
		}
	}
	m2.Folder, m2.Splits = "/srv/other", []data.Split{{Path: "x.jsonl", Size: 7, End: -1}}
	if err := d2.Adopt(m2); !errors.Is(err, ErrOther) {
		t.Errorf("the same name in another folder: %v", err)
	}
	for want, change := range map[string]func(*Manifest){
		"match.distance is 3 there, 5 here": func(m *Manifest) { m.ConfigHash, m.Config = "b", []byte(`{"match":{"distance":5}}`) },
		"a file that the settings name":     func(m *Manifest) { m.ConfigHash = "b" },
		"`neardup run`":                     func(m *Manifest) { m.Command = "match" },
		"split 0 was x.jsonl (7 bytes), now x.jsonl (8 bytes)": func(m *Manifest) {
			m.Splits = []data.Split{{Path: "x.jsonl", Size: 8, End: -1}}
		},
		"the number of its splits was 1, now 0": func(m *Manifest) { m.Splits = nil },
		"layout version":                        func(m *Manifest) { m.Version++ },
	} {
		other := m
		change(&other)
		if err := d.Adopt(other); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want ErrOther with %q", err, want)
		}
	}
}

func TestRecords(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "run"))
	lost := TaskRecord{Stage: "s", RowsIn: 5, RowsOut: 3, Skipped: map[string]int64{"malformed": 1}}
	if err := d.PutRecord(&lost); !errors.Is(err, ErrNotConserved) {
		t.Fatalf("got %v, want ErrNotConserved", err)
	}
	r := TaskRecord{Stage: "s", Task: 2, RowsIn: 4, RowsOut: 3, Skipped: map[string]int64{"malformed": 1}, Outputs: []string{"out"}}
	if err := d.PutRecord(&r); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v: the output is missing", err)
	}
	if err := os.WriteFile(d.Path("out"), []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.PutRecord(&r); err != nil {
		t.Fatal(err)
	}
	if got, done, err := d.Record("s", 2); !done || err != nil || got.RowsOut != 3 {
		t.Fatalf("got %+v, %t, %v", got, done, err)
	}
	if _, done, err := d.Record("s", 3); done || err != nil {
		t.Fatalf("a task without a record: done %t, %v", done, err)
	}
	if err := os.WriteFile(d.RecordPath("s", 4), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Record("s", 4); err == nil || !strings.Contains(err.Error(), "delete the file") {
		t.Fatalf("got %v, want the remedy for a damaged record", err)
	}
	// Tasks of which nobody knows the settings are nobody's.
	if err := d.Adopt(Manifest{Version: LayoutVersion}); !errors.Is(err, ErrOther) || !strings.Contains(err.Error(), "name a new folder") {
		t.Fatalf("got %v, want ErrOther for tasks without a manifest", err)
	}
	for _, name := range []string{ManifestFile, SummaryFile} {
		for _, text := range []string{"{", "{\n  \"command\": \"run\",\n  \"checksum\": \"0\"\n}\n"} {
			if err := os.WriteFile(d.Path(name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := ReadJSON(d.Path(name), new(Manifest)); !errors.Is(err, errLost) || strings.Contains(err.Error(), "delete") {
				t.Fatalf("got %v: a run does not make %s again", err, name)
			}
		}
	}
	if err := d.Reset(); err != nil {
		t.Fatal(err)
	}
	if err := d.Adopt(Manifest{Version: LayoutVersion}); err != nil {
		t.Fatal(err)
	}
}

func TestPartsOfOddPaths(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "run [1]*"))
	path, err := d.Part(Matches, 3, ".parquet")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Parts(d.Path(), Matches); err != nil || len(got) != 1 || got[0] != path {
		t.Fatalf("got %v, %v; want %s", got, err, path)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := Open(filepath.Join(dir, "night1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.PutRecord(&TaskRecord{Stage: "fingerprint", RowsIn: 2, RowsOut: 2}))
	rec, done, err := d.Record("fingerprint", 0)
	fmt.Println(rec.RowsOut, done, err)
	fmt.Println(d.Close(), os.RemoveAll(dir))
	// Output:
	// <nil>
	// 2 true <nil>
	// <nil> <nil>
}

// A bit that is not as it was written is an error, wherever it is; a text of an
// earlier program has no checksum.
func TestChecksum(t *testing.T) {
	type object struct {
		Name  string           `json:"name"`
		Rows  int64            `json:"rows"`
		Parts map[string]int64 `json:"parts,omitempty"`
	}
	path := filepath.Join(t.TempDir(), "x.json")
	want := object{"a \"name\",\n  \"checksum\": \"", 12, map[string]int64{"checksum": 3}}
	if err := WriteJSON(path, want); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(whole) {
		text := slices.Clone(whole)
		text[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var got object
		if err := ReadJSON(path, &got); err == nil && !reflect.DeepEqual(got, want) || err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("bit %d: %+v, %v", bit, got, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"name":"old","rows":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var got object
	if err := ReadJSON(path, &got); err != nil || got.Name != "old" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := WriteJSON(path, []int{1}); err == nil {
		t.Error("a list was written without a checksum")
	}
}

// BenchmarkRecord writes the record of a task of one output, which it reads
// again for that.
func BenchmarkRecord(b *testing.B) {
	d, err := Open(filepath.Join(b.TempDir(), "run"))
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	const size = 64 << 20
	if err := os.WriteFile(d.Path("out"), make([]byte, size), 0o600); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		if _, err := d.sums([]string{"out"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}
