package object_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/object/objecttest"
	"github.com/neardup/neardup/data/source"
)

// A path without s3:// is a file.
func Example() {
	path := filepath.Join(os.TempDir(), "neardup-example.txt")
	if err := os.WriteFile(path, []byte("a page\n"), 0o600); err != nil {
		fmt.Println(err)
	}
	info, err := object.Stat(path)
	fmt.Println(object.Is(path), info.Size, err)
	fmt.Println(object.Is("s3://crawl/2026-11-20/a.warc.gz"), os.Remove(path))
	// Output:
	// false 7 <nil>
	// true <nil>
}

// TestStore reads, lists and publishes with a real server.
func TestStore(t *testing.T) {
	server := objecttest.Start(t, "crawl")
	object.SetPatience(time.Second)
	defer object.SetPatience(time.Minute)
	var fault, left atomic.Int64 // of answers, and of how many
	proxy := &objecttest.Proxy{Choose: func(_ int64, r *http.Request) objecttest.Fault {
		f := objecttest.Fault(fault.Load())
		if f == objecttest.SilentUpload && r.ContentLength <= 0 || left.Add(-1) < 0 {
			return objecttest.None
		}
		return f
	}}
	server.Behind(proxy)
	big := make([]byte, 3<<20+17)
	for i := range big {
		big[i] = byte(rand.Uint32())
	}
	for name, content := range map[string][]byte{
		"night/a.jsonl": []byte("one"), "night/b.jsonl": []byte("two"), "night/deep/c.jsonl": big, "night/_SUCCESS": nil, "night/.hidden/x": nil,
		"nightly/d.jsonl": nil, "e é+%20 .jsonl": []byte("odd"),
	} {
		server.Put(name, content)
	}

	for arg, want := range map[string][]string{
		"s3://crawl/night":            {"night/a.jsonl", "night/b.jsonl", "night/deep/c.jsonl"},
		"s3://crawl/night/":           {"night/a.jsonl", "night/b.jsonl", "night/deep/c.jsonl"},
		"s3://crawl/night/*.jsonl":    {"night/a.jsonl", "night/b.jsonl"},
		"s3://crawl/n*/[ad].jsonl":    {"night/a.jsonl", "nightly/d.jsonl"},
		"s3://crawl/night/a.jsonl":    {"night/a.jsonl"},
		"s3://crawl/night/_SUCCESS":   {"night/_SUCCESS"},
		"s3://crawl/e é+%20 .jsonl":   {"e é+%20 .jsonl"},
		"s3://crawl/nothing":          nil,
		"s3://crawl/night/a.json":     nil,
		"s3://crawl/nothing/*.jsonl":  nil,
		"s3://crawl/night/a.jsonl/**": nil,
	} {
		found, err := object.Find(context.Background(), arg)
		var got []string
		for _, o := range found {
			got = append(got, strings.TrimPrefix(o.Path, "s3://crawl/"))
			if info, err := object.Stat(o.Path); err != nil || info.Size != o.Size || info.ETag != o.ETag {
				t.Errorf("%s: listed as %+v, it is %+v, %v", o.Path, o, info, err)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %q, %v, want %q", arg, got, err, want)
		}
	}
	for _, arg := range []string{"s3://", "s3:///key"} {
		if _, err := object.Find(context.Background(), arg); !errors.Is(err, object.ErrPath) {
			t.Errorf("%s: %v", arg, err)
		}
	}

	t.Run("read", func(t *testing.T) {
		f, err := object.Open("s3://crawl/night/deep/c.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, big) {
			t.Errorf("got %d bytes of %d, %v", len(got), len(big), err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			off, n := r.Int64N(int64(len(big))), r.IntN(100_000)
			b := make([]byte, n)
			m, err := f.ReadAt(b, off)
			want := big[off:min(off+int64(n), int64(len(big)))]
			if !bytes.Equal(b[:m], want) || (m < n) != errors.Is(err, io.EOF) {
				t.Errorf("%d bytes at %d: got %d, %v", n, off, m, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		// They are read byte by byte.
		for name, text := range map[string][]byte{"small": bytes.Repeat([]byte("neardup "), 20), "larger": big[:1<<20+1]} {
			if name == "larger" && testing.Short() {
				continue
			}
			server.Put(name, text)
			if f, err = object.Open("s3://crawl/" + name); err != nil {
				t.Fatal(err)
			}
			if err := iotest.TestReader(f, text); err != nil {
				t.Error(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})

	// What is read on in a few places takes few requests, however small the pieces are, and
	// a small object takes one: as tables are read, from their end and column by column.
	t.Run("read in places", func(t *testing.T) {
		huge := bytes.Repeat(big, 8)
		server.Put("huge", huge)
		fault.Store(int64(objecttest.CutAnswer))
		for i, faults := range []int64{0, 3, 0, 3} {
			for name, text := range map[string][]byte{"huge": huge, "night/a.jsonl": []byte("one")} {
				info, err := object.Stat("s3://crawl/" + name)
				if err != nil {
					t.Fatal(err)
				}
				size := int64(len(text))
				if i > 1 { // its size alone is known
					info = object.FileInfo{Path: info.Path, Size: size}
				}
				f, err := info.Open()
				if err != nil {
					t.Fatal(err)
				}
				left.Store(faults)
				before := proxy.Requests()
				at := []int64{max(0, size-8), max(0, size-1000), 0, size / 3, 2 * size / 3}
				ends := []int64{size, size, size / 3, 2 * size / 3, size}
				r := rand.New(rand.NewPCG(uint64(size), 3))
				for open := len(at); open > 0; {
					i := r.IntN(len(at))
					if i > 1 && (at[0] < ends[0] || at[1] < ends[1]) || at[i] == ends[i] {
						continue
					}
					n := min(int64(1+r.IntN(300_000)), ends[i]-at[i])
					b := make([]byte, n)
					if m, err := f.ReadAt(b, at[i]); err != nil || int64(m) != n || !bytes.Equal(b, text[at[i]:at[i]+n]) {
						t.Fatalf("%s: %d bytes at %d: %d of them, %v", name, n, at[i], m, err)
					}
					at[i] += n
					if n > 1000 && r.IntN(4) == 0 { // a little again, as after the header of a page
						at[i] -= 1000
					}
					if at[i] == ends[i] {
						open--
					}
				}
				left.Store(0)
				want := int64(12)
				if name != "huge" {
					want = 1
				}
				if n := proxy.Requests() - before; n > want+2*faults {
					t.Errorf("%s: %d requests", name, n)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
				if _, err := f.ReadAt(make([]byte, 1), 0); name == "huge" && err == nil {
					t.Error("it was read from when it was closed")
				}
			}
		}
	})

	// An answer that is cut off, or does not go on, is asked for again from there, and
	// an object of which no answer is whole is named.
	for name, f := range map[string]objecttest.Fault{"cut off": objecttest.CutAnswer, "silent": objecttest.Silent} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && f == objecttest.Silent {
				t.Skip("it waits for each of the answers")
			}
			read := func(path string, faults int64) ([]byte, error) {
				f, err := object.Open(path)
				if err != nil {
					t.Fatal(err)
				}
				left.Store(faults)
				text, err := io.ReadAll(f)
				left.Store(0)
				return text, errors.Join(err, f.Close())
			}
			fault.Store(int64(f))
			if got, err := read("s3://crawl/night/deep/c.jsonl", 2); err != nil || !bytes.Equal(got, big) || proxy.Faults.Load() == 0 {
				t.Errorf("got %d bytes of %d, %v, %d faults", len(got), len(big), err, proxy.Faults.Load())
			}
			if got, err := read("s3://crawl/night/a.jsonl", 1000); err == nil || !strings.Contains(err.Error(), "s3://crawl/night/a.jsonl at offset 2: ") {
				t.Errorf("read %q, %v", got, err)
			}
		})
	}

	// Pieces are read by one request each, several at a time, and read from memory.
	t.Run("hold", func(t *testing.T) {
		f, err := object.Open("s3://crawl/night/deep/c.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var pieces [][2]int64
		for i := range int64(50) {
			pieces = append(pieces, [2]int64{i * 60_000, i*60_000 + 40_000})
		}
		fault.Store(int64(objecttest.CutAnswer))
		left.Store(4)
		before := proxy.Requests()
		if err := object.Hold(f, pieces...); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10_000)
		for _, p := range pieces {
			for at := p[0]; at < p[1]; at += int64(len(b)) {
				_, seeked := f.Seek(at, io.SeekStart)
				if n, err := io.ReadFull(f, b); errors.Join(seeked, err) != nil || !bytes.Equal(b[:n], big[at:at+int64(n)]) {
					t.Fatalf("%d bytes at %d, %v", n, at, err)
				}
				if n, err := f.ReadAt(b, at); err != nil || !bytes.Equal(b[:n], big[at:at+int64(n)]) {
					t.Fatalf("%d bytes at %d, %v", n, at, err)
				}
			}
		}
		if n := proxy.Requests() - before; n < 50 || n > 60 {
			t.Errorf("%d requests for 50 pieces", n)
		}
		left.Store(0)
		if n, err := f.ReadAt(b, 35_000); err != nil || !bytes.Equal(b[:n], big[35_000:35_000+n]) {
			t.Errorf("over the end of a piece: %d bytes, %v", n, err)
		}
		server.Put("night/deep/c.jsonl", append(bytes.Clone(big[1:]), 0))
		if err := object.Hold(f, [2]int64{0, 10}); err == nil || !strings.Contains(err.Error(), "replaced while it was read") {
			t.Errorf("of an object that was replaced: %v", err)
		}
		if n, err := f.ReadAt(b[:1], 5); err == nil {
			t.Errorf("of an object that was replaced %d bytes %v are read", n, b[:1])
		}
		server.Put("night/deep/c.jsonl", big)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})

	// An object that is opened once is read again, and at the same time, from what is held.
	t.Run("once", func(t *testing.T) {
		split := data.Split{Path: "s3://crawl/night/deep/c.jsonl", Size: int64(len(big)), End: -1}
		var o data.ReaderOptions
		before := proxy.Requests()
		once, err := object.OpenOnce(split, &o)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, err := object.OpenInput(split, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := object.Hold(f, [2]int64{0, split.Size}); err != nil {
				t.Fatal(err)
			}
			other, err := object.OpenInput(split, o) // while f is read
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []data.InputFile{f, other} {
				if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, big) {
					t.Errorf("%d bytes of %d, %v", len(got), len(big), err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if n := proxy.Requests() - before; n != 1 {
			t.Errorf("%d requests", n)
		}
		if err := once.Close(); err != nil {
			t.Error(err)
		}

		here := filepath.Join(t.TempDir(), "here")
		if err := os.WriteFile(here, big, 0o600); err != nil {
			t.Fatal(err)
		}
		o = data.ReaderOptions{}
		once, err = object.OpenOnce(data.Split{Path: here}, &o)
		if err != nil || o.Open != nil || once.Close() != nil {
			t.Errorf("of a file: %v", err)
		}
	})

	// A sample of an object is that of the same file, for about one request a piece.
	t.Run("windows", func(t *testing.T) {
		var lines bytes.Buffer
		for i := range 100_000 {
			fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":\"%s\"}\n", i, strings.Repeat("word ", i%50))
		}
		path := filepath.Join(t.TempDir(), "lines.jsonl")
		if err := os.WriteFile(path, lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		server.Put("lines.jsonl", lines.Bytes())
		sample := func(path string) (sampled []string) {
			split := data.Split{Path: path, Format: source.FormatJSONL, Size: int64(lines.Len()), End: -1}
			var o data.ReaderOptions
			windows, held, err := source.Windows(split, 4<<20, .5, &o)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range windows {
				in, err := source.Open(w, o)
				if err != nil {
					t.Fatal(err)
				}
				for doc := new(data.Document); in.Read(doc) == nil; {
					sampled = append(sampled, string(doc.ID)+string(doc.Text))
				}
				if err := in.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := held.Close(); err != nil {
				t.Error(err)
			}
			return sampled
		}
		want := sample(path)
		before := proxy.Requests()
		if got := sample("s3://crawl/lines.jsonl"); len(want) < 10_000 || !slices.Equal(got, want) {
			t.Errorf("%d documents are sampled, %d of the file", len(got), len(want))
		}
		if n := proxy.Requests() - before; n > 20 {
			t.Errorf("%d requests for 16 pieces", n)
		}
	})

	// Small objects are read ahead in their order, each by one request, which is made
	// again if its answer is cut off. What is wrong with one is said when it is opened.
	t.Run("ahead", func(t *testing.T) {
		var objects []data.SplitFile
		for i := range 100 {
			text := bytes.Repeat([]byte{byte(i)}, i*10)
			server.Put(fmt.Sprintf("little/%d", i), text)
			objects = append(objects, data.SplitFile{Path: fmt.Sprintf("s3://crawl/little/%d", i), Size: int64(len(text))})
		}
		fault.Store(int64(objecttest.CutAnswer))
		left.Store(3)
		before := proxy.Requests()
		split := data.Split{Path: objects[0].Path, Files: objects}
		a := object.ReadAhead(split, new(data.ReaderOptions))
		for i, o := range objects {
			f, err := a.Open(o.Path)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(f); err != nil || len(text) != i*10 || i > 0 && (text[0] != byte(i)) {
				t.Errorf("%s: %d bytes, %v", o.Path, len(text), err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := a.Open("s3://crawl/little/100"); err == nil {
			t.Error("opened an object behind the last")
		}
		if n := proxy.Requests() - before; n < 100 || n > 110 {
			t.Errorf("%d requests for 100 objects", n)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		left.Store(0)

		server.Put("little/1", []byte("much more than it had"))
		server.Remove("little/2")
		a = object.ReadAhead(split, new(data.ReaderOptions))
		if _, err := a.Open(objects[0].Path); err != nil {
			t.Error(err)
		}
		f, err := a.Open(objects[1].Path)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(f); err != nil || len(text) != 11 {
			t.Errorf("of an object that has grown %d bytes, %v", len(text), err)
		}
		if _, err := a.Open(objects[2].Path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), objects[2].Path) {
			t.Errorf("of an object that is gone: %v", err)
		}
		if _, err := a.Open(objects[9].Path); err == nil || !strings.Contains(err.Error(), objects[9].Path) {
			t.Errorf("another than the next one: %v", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := (*object.Ahead)(nil).Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("missing", func(t *testing.T) {
		for _, path := range []string{"s3://crawl/no", "s3://nobucket/no"} {
			if _, err := object.Open(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", path, err)
			}
		}
	})

	// A file that was laid into the server's folder has no ETag, and a time that
	// the server tells to the second only.
	t.Run("without an ETag", func(t *testing.T) {
		path := filepath.Join(server.Folder, "laid.jsonl")
		lay := func(text string, at time.Time) {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, at, at)); err != nil {
				t.Fatal(err)
			}
		}
		at := time.Date(2026, 11, 20, 3, 10, 0, 123456789, time.UTC)
		lay("the first text"+strings.Repeat(", and so on", 100_000), at)
		f, err := object.Open("s3://crawl/laid.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 14)
		if _, err := f.ReadAt(text, 0); err != nil || string(text) != "the first text" {
			t.Errorf("%q, %v", text, err)
		}
		lay("another's text", at.Add(time.Minute))
		if text, err := io.ReadAll(f); err == nil || !strings.Contains(err.Error(), "replaced while it was read") {
			t.Errorf("%q, %v", text, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("replaced while it is read", func(t *testing.T) {
		f, err := object.Open("s3://crawl/night/a.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		blind, err := object.FileInfo{Path: "s3://crawl/night/a.jsonl", Size: 3}.Open()
		if err != nil {
			t.Fatal(err)
		}
		server.Put("night/a.jsonl", []byte("ONE and more"))
		if text, err := io.ReadAll(blind); err == nil || !strings.Contains(err.Error(), "replaced while it was read") {
			t.Errorf("of another size than is known: read %q, %v", text, err)
		}
		if err := blind.Close(); err != nil {
			t.Error(err)
		}
		if text, err := io.ReadAll(f); err == nil || !strings.Contains(err.Error(), "replaced while it was read") {
			t.Errorf("read %q, %v", text, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})

	t.Run("publish", func(t *testing.T) {
		run := t.TempDir()
		write := func(names ...string) {
			for _, name := range names {
				path := filepath.Join(run, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		names := func() []string {
			found, err := object.Find(context.Background(), "s3://crawl/out")
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range found {
				names = append(names, strings.TrimPrefix(o.Path, "s3://crawl/out/"))
			}
			return names
		}
		folders := []string{"matches", "quarantine"}
		write("summary.json", "matches/part-0", "matches/part-1", "quarantine/part-0", "_SUCCESS")
		if err := object.Publish(context.Background(), run, []string{"summary.json", "matches/part-0", "matches/part-1", "quarantine/part-0"}, folders, "_SUCCESS", "s3://crawl/out/"); err != nil {
			t.Fatal(err)
		}
		if got, want := names(), []string{"matches/part-0", "matches/part-1", "quarantine/part-0", "summary.json"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := object.Stat("s3://crawl/out/_SUCCESS"); err != nil {
			t.Error(err)
		}

		// Again with less: nothing of the old stays, and a failure in between
		// leaves no marker.
		if err := object.Publish(context.Background(), run, []string{"summary.json", "matches/part-9"}, folders, "_SUCCESS", "s3://crawl/out"); err == nil {
			t.Error("a missing file was published")
		}
		if _, err := object.Stat("s3://crawl/out/_SUCCESS"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("half a run has its marker: %v", err)
		}
		if err := object.Publish(context.Background(), run, []string{"matches/part-0"}, folders, "_SUCCESS", "s3://crawl/out"); err != nil {
			t.Fatal(err)
		}
		if got, want := names(), []string{"matches/part-0", "summary.json"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})

	// An upload that does not go on is begun again.
	t.Run("silent upload", func(t *testing.T) {
		if testing.Short() {
			t.Skip("it waits for each of the answers")
		}
		run := t.TempDir()
		large := bytes.Repeat([]byte("neardup!"), 15<<17) // more than what the system holds for a connection
		if err := errors.Join(os.WriteFile(filepath.Join(run, "part-8"), large, 0o644), os.WriteFile(filepath.Join(run, "_SUCCESS"), nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		fault.Store(int64(objecttest.SilentUpload))
		left.Store(2)
		before := proxy.Faults.Load()
		if err := object.Publish(context.Background(), run, []string{"part-8"}, nil, "_SUCCESS", "s3://crawl/silent"); err != nil || proxy.Faults.Load() != before+2 {
			t.Errorf("%v, after %d faults", err, proxy.Faults.Load()-before)
		}
		left.Store(0)
		if there, err := os.ReadFile(filepath.Join(server.Folder, "silent", "part-8")); err != nil || !bytes.Equal(there, large) {
			t.Errorf("%d bytes were uploaded, %v", len(there), err)
		}
	})
}

// Credentials are those of the environment, else of the profile in the shared file.
func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = a\naws_secret_access_key = b\n[night]\naws_access_key_id = c\naws_secret_access_key = d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for _, c := range []struct{ key, secret, profile, want string }{
		{"", "", "", "a b"}, {"", "", "night", "c d"}, {"x", "y", "night", "x y"}, {"", "", "none", " "},
	} {
		for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": c.key, "AWS_SECRET_ACCESS_KEY": c.secret, "AWS_SESSION_TOKEN": "", "AWS_ACCESS_KEY": "", "AWS_SECRET_KEY": "", "AWS_PROFILE": c.profile} {
			t.Setenv(name, value)
		}
		v, err := credentials.NewChainCredentials(object.Providers()).GetWithContext(nil)
		if got := v.AccessKeyID + " " + v.SecretAccessKey; err != nil || got != c.want {
			t.Errorf("profile %q: got %q, want %q: %v", c.profile, got, c.want, err)
		}
	}
}

// A store of one's own has certificates of one's own, and the profile says its region.
func TestStoreOfOnesOwn(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Authorization")
		w.WriteHeader(http.StatusNotFound)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of a client that does not trust it
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	bundle, config, none, broken := filepath.Join(dir, "bundle.pem"), filepath.Join(dir, "config"), filepath.Join(dir, "none"), filepath.Join(dir, "broken")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := errors.Join(os.WriteFile(bundle, cert, 0o600), os.WriteFile(none, []byte("no certificate"), 0o600),
		os.WriteFile(config, []byte("[default]\nregion = eu-west-3\n\n[profile night]\nregion=cn-north-1\noutput = json\ns3 =\n    addressing_style = path\n"), 0o600),
		os.WriteFile(broken, []byte("[default\nregion = eu-west-3\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"NEARDUP_S3_ENDPOINT": server.URL, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "", "SSL_CERT_FILE": ""} {
		t.Setenv(name, value)
	}
	for _, c := range []struct{ bundle, region, config, profile, want, fails string }{
		{bundle, "", config, "", "eu-west-3", ""},
		{bundle, "", config, "night", "cn-north-1", ""},
		{bundle, "ap-east-1", config, "night", "ap-east-1", ""},
		{bundle, "", config, "day", "us-east-1", ""},
		{bundle, "", filepath.Join(dir, "missing"), "", "us-east-1", ""},
		{bundle, "ap-east-1", broken, "", "ap-east-1", ""},
		{bundle, "", broken, "", "", "broken: "},
		{"", "", config, "", "", "certificate"},
		{filepath.Join(dir, "missing"), "", config, "", "", "AWS_CA_BUNDLE: open "},
		{none, "", config, "", "", "holds no certificate: name a file of PEM"},
	} {
		for name, value := range map[string]string{"AWS_CA_BUNDLE": c.bundle, "AWS_REGION": c.region, "AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": c.config, "AWS_PROFILE": c.profile} {
			t.Setenv(name, value)
		}
		s, err := object.NewStore()
		if err == nil {
			_, err = s.StatObject(context.Background(), "bucket", "key", minio.StatObjectOptions{})
		}
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		select {
		case signed := <-asked:
			if !strings.Contains(signed, "/"+c.want+"/s3/") {
				t.Errorf("%+v: it is signed %s", c, signed)
			}
		default:
			t.Errorf("%+v: it was not asked: %v", c, err)
		}
	}
}
