package views

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
)

// forms are all there are.
var forms = func() (all []Form) {
	for b := range byte(16) {
		all = append(all, formOf(b))
	}
	return all
}()

// random returns rows of which one in every sparse has letters, and one a sample.
func random(seed uint64, n, sparse int) []Row {
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]Row, n)
	for i := range rows {
		row := &rows[i]
		row.View = data.View{Hi: r.Uint64(), Lo: r.Uint64(), Length: r.Uint32(), Normal: r.IntN(4) > 0}
		if r.IntN(4) > 0 {
			for j := 0; j < data.SketchSize; j += 8 {
				binary.LittleEndian.PutUint64(row.View.Sketch[j:], r.Uint64())
			}
		}
		if r.IntN(sparse) == 0 {
			row.View.Letters = bytes.Repeat([]byte{byte('a' + i%26)}, r.IntN(256))
		}
		if r.IntN(sparse) == 0 {
			row.View.Sample = bytes.Repeat([]byte{byte(i), 'k', 'e', 'y'}, r.IntN(256))
		}
		row.ID, row.Keep = r.Uint64(), r.Float64()
		if r.IntN(8) == 0 {
			row.Keep = math.NaN()
		}
	}
	return rows
}

func write(t rapid.TB, path string, form Form, rows []Row) {
	t.Helper()
	w, err := Create(path, form)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if w.rows != int64(len(rows)) {
		t.Fatalf("%d rows, want %d", w.rows, len(rows))
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, paths ...string) *Folder {
	t.Helper()
	f, err := Open(paths)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kept is what a scan of columns c is to say of a row.
func kept(row Row, form Form, c Columns) (want Row) {
	if c&Fingerprint != 0 {
		want.View.Lo, want.View.Normal = row.View.Lo, row.View.Normal
		if form.Wide {
			want.View.Hi = row.View.Hi
		}
	}
	if c&ID != 0 {
		want.ID = row.ID
	}
	if c&Keep != 0 {
		want.Keep = math.NaN()
		if form.Keep {
			want.Keep = row.Keep
		}
	}
	if c&Sketch != 0 && form.Verified {
		want.View.Sketch, want.View.Length = row.View.Sketch, row.View.Length
	}
	if c&Letters != 0 && form.Verified {
		want.View.Letters = row.View.Letters
	}
	if c&Sample != 0 && form.Sampled {
		want.View.Sample = row.View.Sample
	}
	return want
}

func same(a, b *Row) bool {
	return a.View.Equal(&b.View) && a.ID == b.ID && math.Float64bits(a.Keep) == math.Float64bits(b.Keep)
}

// checkScan checks a scan of f, which holds rows.
func checkScan(t rapid.TB, f *Folder, rows []Row, first, last uint64, c Columns) {
	t.Helper()
	next := first
	err := f.Scan(first, last, c, func(doc uint64, got *Row) error {
		if doc != next {
			return fmt.Errorf("document %d, want %d", doc, next)
		}
		next++
		want := kept(rows[doc], f.Form(), c)
		if !same(got, &want) {
			return fmt.Errorf("document %d of columns %b: %+v, want %+v", doc, c, got, want)
		}
		v := &rows[doc].View
		matched := v.Normal || f.Form().Verified && v.Sketch != [data.SketchSize]byte{}
		if c&Fingerprint != 0 && got.Matched() != matched {
			return fmt.Errorf("document %d is matched: %v, want %v", doc, got.Matched(), matched)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if next != last {
		t.Fatalf("%+v: scan ended before %d, want %d", f.Form(), next, last)
	}
}

func checkView(t rapid.TB, f *Reader, rows []Row, doc uint64, v *data.View) {
	t.Helper()
	if err := f.View(doc, v); err != nil {
		t.Fatal(err)
	}
	want := kept(rows[doc], f.folder.Form(), Fingerprint|Verdict)
	if !v.Equal(&want.View) {
		t.Fatalf("document %d: %+v, want %+v", doc, v, want.View)
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		form := rapid.SampledFrom(forms).Draw(t, "form")
		size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(groupRows-4, groupRows+4))
		sizes := rapid.SliceOfN(size, 0, 5).Draw(t, "sizes")
		if rapid.IntRange(0, 19).Draw(t, "large") == 0 {
			sizes = append(sizes, rapid.SampledFrom([]int{2*groupRows - 1, 2 * groupRows, 2*groupRows + 1, stripeRows - 1, stripeRows, stripeRows + 20000}).Draw(t, "size"))
		}
		var rows []Row
		var paths []string
		for i, n := range sizes {
			part := random(rapid.Uint64().Draw(t, "seed"), n, rapid.SampledFrom([]int{1, 30, 1 << 30}).Draw(t, "sparse"))
			paths = append(paths, filepath.Join(dir, fmt.Sprint("part-", i)))
			write(t, paths[i], form, part)
			rows = append(rows, part...)
		}
		f, err := Open(paths)
		if err != nil {
			t.Fatal(err)
		}
		if f.Len() != uint64(len(rows)) || f.Parts() != len(sizes) || f.First(f.Parts()) != f.Len() || f.Part(f.Len()) != f.Parts() {
			t.Fatalf("%d documents in %d parts, want %d in %d", f.Len(), f.Parts(), len(rows), len(sizes))
		}
		doc := uint64(0)
		for i, n := range sizes {
			if f.First(i) != doc {
				t.Fatalf("part %d begins at %d, want %d", i, f.First(i), doc)
			}
			if doc += uint64(n); n > 0 && (f.Part(f.First(i)) != i || f.Part(doc-1) != i) {
				t.Fatalf("part %d: its documents are in parts %d and %d", i, f.Part(f.First(i)), f.Part(doc-1))
			}
		}
		checkScan(t, f, rows, 0, f.Len(), All)
		first := rapid.Uint64Range(0, f.Len()).Draw(t, "first")
		last := rapid.Uint64Range(first, f.Len()).Draw(t, "last")
		checkScan(t, f, rows, first, last, Columns(rapid.UintRange(0, uint(All)).Draw(t, "columns")))
		var v data.View
		reader := f.Reader()
		defer reader.Close()
		for range min(len(rows), 100) {
			checkView(t, reader, rows, rapid.Uint64Range(0, f.Len()-1).Draw(t, "doc"), &v)
		}
	})
}

const stripeRows = stripeGroups * groupRows

// TestBounds is the round trip at every bound of groups and stripes.
func TestBounds(t *testing.T) {
	rows := random(7, 2*stripeRows+1, 3)
	path := filepath.Join(t.TempDir(), "part")
	for i, n := range []int{0, 1, 1023, groupRows - 1, groupRows, groupRows + 1, 2*groupRows - 1, 2 * groupRows, 2*groupRows + 1,
		stripeRows - 1, stripeRows, stripeRows + 1, 2 * stripeRows, 2*stripeRows + 1} {
		for k, form := range []Form{forms[15], forms[i%15]} {
			if testing.Short() && (i+k)%2 == 0 {
				continue
			}
			write(t, path, form, rows[:n])
			f := open(t, path)
			checkScan(t, f, rows[:n], 0, uint64(n), All)
			var v data.View
			reader := f.Reader()
			for doc := 0; doc < n; doc += 1 + n/50 {
				checkScan(t, f, rows[:n], uint64(doc), uint64(min(n, doc+2)), All)
				checkView(t, reader, rows, uint64(doc), &v)
				checkView(t, reader, rows, uint64(n-1-doc), &v)
			}
			reader.Close()
		}
	}
}

// readAll reads a file in all ways and returns its rows, or the first error.
func readAll(path string) ([]Row, error) {
	f, err := Open([]string{path})
	if err != nil {
		return nil, err
	}
	var rows []Row
	err = f.Scan(0, f.Len(), All, func(_ uint64, r *Row) error {
		row := *r
		row.View.Letters, row.View.Sample = bytes.Clone(r.View.Letters), bytes.Clone(r.View.Sample)
		rows = append(rows, row)
		return nil
	})
	var v data.View
	reader := f.Reader()
	defer reader.Close()
	for doc := uint64(0); doc < f.Len(); doc++ {
		viewErr := reader.View(doc, &v)
		if viewErr != nil && err == nil {
			return nil, fmt.Errorf("a view is damaged, and no scan saw it: %w", viewErr)
		}
		if err != nil {
			continue
		}
		want := rows[doc].View
		if rows[doc].lengthClass&lettered == 0 { // letters all the same are a forger's, and View need not look
			want.Letters = nil
		}
		if rows[doc].lengthClass&sampled == 0 {
			want.Sample = nil
		}
		if !v.Equal(&want) {
			return nil, fmt.Errorf("document %d: View %+v, Scan %+v", doc, v, want)
		}
	}
	return rows, err
}

// checkDamage reads a damaged file.
func checkDamage(t *testing.T, path, what string) {
	t.Helper()
	_, err := readAll(path)
	if err == nil {
		t.Fatalf("%s: no error", what)
	}
	for _, part := range []string{path, "at offset", "delete the file, and the same command makes it again"} {
		if !strings.Contains(err.Error(), part) {
			t.Fatalf("%s: the error does not say %q: %v", what, part, err)
		}
	}
}

func TestEveryByteFlipped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	write(t, path, forms[15], random(3, 4, 1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	put := func(i int, b byte) {
		if _, err := file.WriteAt([]byte{b}, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, b := range whole {
		for _, mask := range []byte{1 << (i % 8), 0xff} {
			put(i, b^mask)
			checkDamage(t, path, fmt.Sprintf("byte %d xor %#x", i, mask))
		}
		put(i, b)
	}
	if rows, err := readAll(path); err != nil || len(rows) != 4 {
		t.Fatalf("the file as it was: %d rows, %v", len(rows), err)
	}
	put(len(whole), 0)
	checkDamage(t, path, "a byte more")
	for n := len(whole) - 1; n >= 0; n-- {
		if err := file.Truncate(int64(n)); err != nil {
			t.Fatal(err)
		}
		checkDamage(t, path, fmt.Sprintf("cut at %d", n))
	}
}

func TestDamagedWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rows := random(3, 3000, 2)
	write(t, path, forms[15], rows)
	f := open(t, path)
	if err := os.Truncate(path, 1000); err != nil {
		t.Fatal(err)
	}
	err := f.Scan(0, f.Len(), Sketch, func(uint64, *Row) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "ends too early") {
		t.Errorf("scan of a file cut off: %v", err)
	}
	reader := f.Reader()
	defer reader.Close()
	if err := reader.View(0, new(data.View)); err == nil || !strings.Contains(err.Error(), "ends too early") {
		t.Errorf("view of a file cut off: %v", err)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	write(t, one, Form{}, random(1, 3, 1))
	write(t, two, Form{Wide: true}, random(1, 3, 1))
	if _, err := Open([]string{one, two}); err == nil || !strings.Contains(err.Error(), two) {
		t.Errorf("two forms: %v", err)
	}
	if _, err := Open([]string{filepath.Join(dir, "none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if f := open(t); f.Len() != 0 || f.Parts() != 0 || f.Scan(0, 0, All, nil) != nil {
		t.Error("a folder of no files is not empty")
	}
	f := open(t, one)
	if err := f.Reader().View(3, new(data.View)); err == nil {
		t.Error("a view of a document that is not there")
	}
	for _, r := range [][2]uint64{{0, 4}, {2, 1}, {4, 4}, {0, math.MaxUint64}} {
		if err := f.Scan(r[0], r[1], All, func(uint64, *Row) error { return nil }); err == nil {
			t.Errorf("a scan of %d to %d of 3", r[0], r[1])
		}
	}
	stop := errors.New("stop")
	if err := f.Scan(0, 3, ID, func(uint64, *Row) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of yield: %v", err)
	}
	w, err := Create(two, Form{Verified: true, Sampled: true})
	if err != nil {
		t.Fatal(err)
	}
	mostLetters := math.MaxUint8 * units[letters]
	long := Row{View: data.View{Letters: bytes.Repeat([]byte{'a'}, mostLetters+1)}}
	if err := w.Write(&long); err == nil || w.rows != 0 {
		t.Errorf("letters of %d bytes: %v", mostLetters+1, err)
	}
	long.View.Letters = long.View.Letters[:mostLetters]
	if err := w.Write(&long); err != nil || w.rows != 1 {
		t.Errorf("letters of %d bytes: %v", mostLetters, err)
	}
	for n, fits := range map[int]bool{4 * 255: true, 4 * 256: false, 6: false} {
		if err := w.Write(&Row{View: data.View{Sample: make([]byte, n)}}); (err == nil) != fits {
			t.Errorf("a sample of %d bytes: %v", n, err)
		}
	}
	if err := errors.Join(w.Abort(), w.Abort()); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("Abort leaves %v, %v", entries, err)
	}
}

// faultyFS is the real file system, but from its at-th operation on all fail.
type faultyFS struct {
	data.FS
	at, n int
}

type faultyFile struct {
	data.File
	fs *faultyFS
}

var errFault = errors.New("fault")

func (f *faultyFS) fail() error {
	if f.n++; f.n >= f.at {
		return errFault
	}
	return nil
}

func (f *faultyFS) CreateTemp(dir, pattern string) (data.File, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	file, err := f.FS.CreateTemp(dir, pattern)
	return faultyFile{file, f}, err
}

func (f *faultyFS) Rename(from, to string) error {
	return errors.Join(f.fail(), f.FS.Rename(from, to))
}

func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.fail(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f faultyFile) Sync() error { return errors.Join(f.fs.fail(), f.File.Sync()) }

// TestFaults fails every operation in turn: either the file is whole, or there
// is an error.
func TestFaults(t *testing.T) {
	rows, form := random(5, 1<<16, 1<<30), Form{Keep: true} // a file of some buffers
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "part")
		w, err := create(&faultyFS{FS: data.OS, at: at}, path, form)
		if err == nil {
			for i := 0; i < len(rows) && err == nil; i++ {
				err = w.Write(&rows[i])
			}
			err = errors.Join(err, w.Commit())
		}
		if err == nil {
			checkScan(t, open(t, path), rows, 0, uint64(len(rows)), All)
			if at < 8 {
				t.Errorf("only %d operations", at)
			}
			return
		}
		if !errors.Is(err, errFault) || !strings.Contains(err.Error(), path) {
			t.Fatalf("fault %d: %v", at, err)
		}
	}
}

// TestConcurrent reads many parts at once.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	rows := random(9, 1100, 2)
	write(t, path, forms[15], rows)
	paths := make([]string, 256)
	for i := range paths {
		paths[i] = path
	}
	f := open(t, paths...)
	all := make([]Row, 0, f.Len())
	for range paths {
		all = append(all, rows...)
	}
	var group sync.WaitGroup
	failed := make(chan error, 8)
	for i := range cap(failed) {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			var v data.View
			reader := f.Reader()
			defer reader.Close()
			for range 500 {
				doc := r.Uint64N(f.Len())
				err := reader.View(doc, &v)
				if want := all[doc].View; err != nil || !v.Equal(&want) {
					failed <- fmt.Errorf("document %d: %+v, want %+v: %w", doc, v, want, err)
					return
				}
			}
			err := f.Scan(uint64(i)*1000, uint64(i)*1000+5000, All, func(doc uint64, got *Row) error {
				if !same(got, &all[doc]) {
					return fmt.Errorf("document %d: %+v, want %+v", doc, got, all[doc])
				}
				return nil
			})
			if err != nil {
				failed <- err
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
}

// reseal sets the checksums of a file to what its content has, where its footer
// can be found, so that the checks behind the checksums are reached.
func reseal(content []byte) {
	end := len(content) - trailerBytes
	if end < footerBytes {
		return
	}
	length := binary.LittleEndian.Uint64(content[end+8:])
	if length < footerBytes || length > uint64(end) {
		return
	}
	footer := content[end-int(length) : end]
	offset := uint64(len(magic))
	for e := footer[footerBytes:]; len(e) >= entryBytes; e = e[entryBytes:] {
		size := uint64(binary.LittleEndian.Uint32(e))
		if offset+size > uint64(end) {
			break
		}
		binary.LittleEndian.PutUint64(e[4:], xxh3.Hash(content[offset:offset+size]))
		offset += size
	}
	binary.LittleEndian.PutUint64(content[end:], xxh3.Hash(footer))
}

// checkMutated reads a file that may have the right checksums without being
// what a Writer writes: an error with a remedy will do, and so do rows.
func checkMutated(t *testing.T, path string, content []byte) {
	t.Helper()
	rows, err := readAll(path)
	switch {
	case err != nil && !strings.Contains(err.Error(), "delete the file"):
		t.Fatal(err)
	case err == nil && len(rows)*17 > len(content):
		t.Fatalf("%d rows of %d bytes", len(rows), len(content))
	}
}

// TestForged flips every byte and sets the checksums right.
func TestForged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	write(t, path, forms[15], random(3, 4, 1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range whole {
		for _, mask := range []byte{1, 0x80, 0xff} {
			forged := bytes.Clone(whole)
			forged[i] ^= mask
			reseal(forged)
			if _, err := file.WriteAt(forged, 0); err != nil {
				t.Fatal(err)
			}
			checkMutated(t, path, forged)
		}
	}
}

// TestFooter gives files footers that do not describe them, with the right
// checksums: Open refuses each.
func TestFooter(t *testing.T) {
	rows := make([]Row, 300)
	for i := range rows {
		rows[i].View.Letters = make([]byte, 255)
	}
	path := filepath.Join(t.TempDir(), "part")
	write(t, path, Form{Verified: true}, rows)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(whole) - trailerBytes
	start := end - int(binary.LittleEndian.Uint64(whole[end+8:]))
	groups, footer := whole[len(magic):start], whole[start:end]
	entry := func(block []byte) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, uint32(len(block))), xxh3.Hash(block))
	}
	last := len(footer) - entryBytes // of letters
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	ids := len(footer) - 3*entryBytes
	size := int(binary.LittleEndian.Uint32(footer[last:]))
	text := groups[len(groups)-size:]
	for _, c := range []struct {
		name           string
		groups, footer []byte
	}{
		{"as it was", groups, footer},
		{"a block less", groups, footer[:last]},
		{"a block more", groups, join(footer, entry(nil))},
		{"half a block more", groups, join(footer, make([]byte, 8))},
		{"a block without rows", groups, join(footer[:last], entry(nil), footer[last:])},
		{"ids of too few bytes", groups, join(footer[:ids], entry(groups[:299*8]), footer[ids+entryBytes:])},
		{"a block too large", join(groups, make([]byte, 300*1021)), join(footer[:last], entry(join(text, make([]byte, 300*1021))))},
		{"a block of fewer bytes than rows", groups[:len(groups)-size+299], join(footer[:last], entry(text[:299]))},
		{"bytes between groups and footer", join(groups, []byte{0}), footer},
		{"too few bytes", groups[1:], footer},
		{"absurd rows", groups, join(bytes.Repeat([]byte{0xff}, 8), footer[8:])},
		{"more rows", groups, join([]byte{45}, footer[1:])},
		{"another form", groups, join(footer[:8], []byte{7}, footer[9:])},
		{"an unknown form", groups, join(footer[:8], []byte{footer[8] | 8}, footer[9:])},
	} {
		content := join([]byte(magic), c.groups, c.footer, binary.LittleEndian.AppendUint64(nil, xxh3.Hash(c.footer)),
			binary.LittleEndian.AppendUint64(nil, uint64(len(c.footer))), []byte(magic))
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open([]string{path})
		if c.name == "as it was" {
			if err != nil || f.Len() != 300 {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "the footer is damaged") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "part")
	for _, form := range forms {
		for _, n := range []int{0, 1, 30} {
			write(f, path, form, random(1, n, 2))
			content, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content, false)
			content[len(content)/2]++
			f.Add(content, true)
		}
	}
	f.Fuzz(func(t *testing.T, content []byte, sealed bool) {
		if sealed {
			reseal(content)
		}
		path := filepath.Join(t.TempDir(), "part")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		checkMutated(t, path, content)
	})
}

// benchmarkRows is what BenchmarkWrite and the others write: one text in ten is
// short.
func benchmarkRows(n int) []Row {
	rows := random(1, n, 10)
	for i := range rows {
		rows[i].View.Letters = rows[i].View.Letters[:len(rows[i].View.Letters)/3]
	}
	return rows
}

func perRow(b *testing.B, rows int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "part")
	rows := benchmarkRows(1 << 18)
	for b.Loop() {
		write(b, path, Form{Verified: true, Keep: true}, rows)
	}
	perRow(b, len(rows))
}

func BenchmarkScan(b *testing.B) {
	const n = 10_000_000
	path := filepath.Join(b.TempDir(), "part")
	rows := benchmarkRows(1 << 18)
	w, err := Create(path, Form{Verified: true, Keep: true})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := w.Write(&rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		b.Fatal(err)
	}
	f := open(b, path)
	for _, c := range []struct {
		name string
		Columns
	}{{"Fingerprint", Fingerprint}, {"FingerprintSketch", Fingerprint | Sketch}, {"IDKeep", ID | Keep}, {"All", All}} {
		b.Run(c.name, func(b *testing.B) {
			var sum uint64
			for b.Loop() {
				err := f.Scan(0, f.Len(), c.Columns, func(_ uint64, r *Row) error {
					sum += r.View.Lo
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
	for _, step := range []uint64{1, 100, n / 10} {
		b.Run(fmt.Sprint("View", step), func(b *testing.B) {
			reader := f.Reader()
			defer reader.Close()
			var v data.View
			doc := uint64(0)
			for b.Loop() {
				if err := reader.View(doc%n, &v); err != nil {
					b.Fatal(err)
				}
				doc += step
			}
		})
	}
}
