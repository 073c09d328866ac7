// Package library keeps the fingerprints of earlier nights: a folder of Parquet
// files, and a manifest, library.json, that says which files and rows count.
//
//	library.json                       the manifest: nights, their files, deletions
//	documents/night=2026-11-20/….parquet   fingerprints, one row a document
//	merges/night=2026-11-20/….parquet      clusters that the night joined
//	samples/night=2026-11-20/….parquet     pages of sites that have no template yet
//	deletions/                         hashes of deleted ids
//	templates/                         what a site's pages share
//	changes/                           copies of the newest manifests (changes.go)
//	index/, added/                     derived or kept by look-ups, not by this package
//
// Files never change once they are written. To add, replace or expire a night, to
// delete documents or to compact files, a process first writes new files under new
// names and then replaces the manifest atomically. So a library is always in the
// state before a change or after it, never between. Files that no manifest names
// any more are removed afterwards.
//
// A deletion hides rows at once and leaves their bytes in the files until Compact.
// Each file notes the newest deletion that its rows already take into account.
//
// The package never computes or compares a fingerprint.
package library

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
)

// Names inside a library. This package does not write two of the folders. Look-ups
// keep in Index what they derive from the library. A service that accepts pages
// logs them in Added until they become a night.
const (
	ManifestFile = "library.json"
	lockFile     = ".lock"
	documents    = "documents"
	merges       = "merges"
	deletions    = "deletions"
	samples      = "samples"
	templates    = "templates"
	Index        = "index"
	Added        = "added"
)

// partition is the prefix of a night's folder, named as Hive names partitions.
const partition = "night="

// folderOf is the folder of a night's files of one kind, with a slash at its end.
func folderOf(kind, night string) string { return kind + "/" + partition + night + "/" }

// FormatVersion is the version of the manifest that this package writes, and
// the only one it reads.
const FormatVersion = 4

var (
	// ErrNone is returned for a folder that holds no library.
	ErrNone = errors.New("no library")

	// ErrFolder is returned for what can become none: a file, or a folder of others.
	ErrFolder = errors.New("library")
	// ErrSettings is returned when fingerprints of other settings are to be
	// matched with a library's, or added to it.
	ErrSettings = errors.New("library of other settings")
	// errDamaged is returned when a file is not what the manifest says.
	errDamaged = errors.New("library is damaged")
	// errChanged is returned when the library is not any more what it was when
	// it was read.
	errChanged = errors.New("the library has changed")
	// ErrNight is returned for a name that is no night's.
	ErrNight = errors.New("not a night")
)

// Manifest says what a library holds. A row that a deletion hides may still be in a
// file, but does not count as a document.
type Manifest struct {
	Version   int               `json:"version"`
	Sequence  int64             `json:"sequence"`           // number of the change that made it
	Previous  string            `json:"previous,omitempty"` // checksum of the manifest before
	Bits      int               `json:"bits"`               // of a fingerprint
	Settings  map[string]string `json:"settings"`           // how fingerprints are made; they must be equal to be compared
	Config    json.RawMessage   `json:"config,omitempty"`   // of the run that began the library
	Nights    []Night           `json:"nights"`             // in their order
	Files     []File            `json:"files"`              // in order of name
	Deletions []deletion        `json:"deletions,omitempty"`
	Templates *File             `json:"templates,omitempty"` // the boilerplate that was left out of its texts
	Checksum  string            `json:"checksum,omitempty"`  // XXH3-64 of the manifest's text without it; empty in one of an earlier program
}

// Night is one night's documents.
type Night struct {
	Name          string           `json:"name"`          // YYYY-MM-DD, and more behind it if a date has several
	Added         time.Time        `json:"added"`         // UTC
	Run           string           `json:"run,omitempty"` // the run's own name, which tells it from another run of that night
	Rows          int64            `json:"rows"`
	Deleted       int64            `json:"deleted,omitempty"` // of Rows, those that are hidden but still in the files
	LengthClasses map[string]int64 `json:"length_classes"`    // rows by length class when the night was added
	Extents       []extent         `json:"extents"`           // its document files, in the order in which rows were added
	Merges        string           `json:"merges,omitempty"`  // file of the cluster merges that the night brought
	Samples       string           `json:"samples,omitempty"` // file of its sampled pages of sites without a template

	// Extractor is the version of the extractor that found the texts in HTML pages.
	// 0: the documents came with texts, or the program that added them noted none.
	Extractor int `json:"extractor,omitempty"`
}

// Extracted returns the nights whose texts were extracted by another version than
// that, and the number of their documents. Nights without a version are among them.
func (m *Manifest) Extracted(version int) (nights []string, documents int64) {
	for _, n := range m.Nights {
		if n.Extractor != version {
			nights = append(nights, n.Name)
			documents += n.Live()
		}
	}
	return nights, documents
}

// NightOf returns the night that the file of that name belongs to.
func (m *Manifest) NightOf(file string) (Night, bool) {
	if i := slices.IndexFunc(m.Nights, func(n Night) bool { return n.holds(file) }); i >= 0 {
		return m.Nights[i], true
	}
	return Night{}, false
}

// holds reports whether the file of that name belongs to the night.
func (n Night) holds(file string) bool {
	return n.Merges == file || n.Samples == file || slices.ContainsFunc(n.Extents, func(e extent) bool { return e.File == file })
}

// Live is the number of the night's documents that count.
func (n Night) Live() int64 { return n.Rows - n.Deleted }

// extent is a file of documents: all its rows, from 0 on.
type extent struct {
	File  string `json:"file"`
	Start int64  `json:"start"`
	Rows  int64  `json:"rows"`
}

func extentsOf(files []File) (all []extent) {
	for _, f := range files {
		all = append(all, extent{File: f.Name, Rows: f.Rows})
	}
	return all
}

// File is a Parquet file of the library. It never changes.
type File struct {
	Name    string `json:"name"` // within the library, with slashes
	Rows    int64  `json:"rows"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
	Sum     string `json:"sum,omitempty"` // the checksum in the Parquet file's own metadata
	Deleted int64  `json:"deleted"`       // no row is hidden by a deletion up to this sequence
}

// deletion hides documents. It holds for all nights that the library has and,
// unless Once, for all nights that are added later.
type deletion struct {
	Sequence int64     `json:"sequence"`
	At       time.Time `json:"at"`
	IDs      int64     `json:"ids,omitempty"`
	File     string    `json:"file,omitempty"`   // hashes of the ids, 16 bytes each, ascending
	SHA256   string    `json:"sha256,omitempty"` // of the file
	Prefixes []string  `json:"prefixes,omitempty"`
	Once     bool      `json:"once,omitempty"`
}

// Night returns the night of that name.
func (m *Manifest) Night(name string) (Night, bool) {
	if i, ok := m.night(name); ok {
		return m.Nights[i], true
	}
	return Night{}, false
}

func (m *Manifest) night(name string) (int, bool) {
	return slices.BinarySearchFunc(m.Nights, name, func(n Night, name string) int { return strings.Compare(n.Name, name) })
}

// Rows is the number of documents that count.
func (m *Manifest) Rows() (rows int64) {
	for _, n := range m.Nights {
		rows += n.Live()
	}
	return rows
}

// Bytes is the size of all files.
func (m *Manifest) Bytes() (bytes int64) {
	for _, f := range m.Files {
		bytes += f.Bytes
	}
	return bytes
}

// File returns the entry of the file of that name.
func (m *Manifest) File(name string) (File, bool) {
	i, ok := slices.BinarySearchFunc(m.Files, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	if !ok {
		return File{}, false
	}
	return m.Files[i], true
}

// copy returns a manifest that may be changed without m noticing.
func (m *Manifest) copy() *Manifest {
	c := *m
	c.Settings = maps.Clone(m.Settings)
	c.Files, c.Deletions = slices.Clone(m.Files), slices.Clone(m.Deletions)
	c.Nights = slices.Clone(m.Nights)
	for i := range c.Nights {
		c.Nights[i].Extents = slices.Clone(c.Nights[i].Extents)
	}
	return &c
}

// prune drops the files that no night refers to any more.
func (m *Manifest) prune() {
	used := map[string]bool{}
	for _, n := range m.Nights {
		used[n.Merges], used[n.Samples] = true, true
		for _, e := range n.Extents {
			used[e.File] = true
		}
	}
	m.Files = slices.DeleteFunc(m.Files, func(f File) bool { return !used[f.Name] })
	slices.SortFunc(m.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// check returns what of the manifest contradicts itself.
func (m *Manifest) check() error {
	if m.Bits != 32 && m.Bits != 64 && m.Bits != 128 {
		return fmt.Errorf("fingerprints of %d bits", m.Bits)
	}
	if !slices.IsSortedFunc(m.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) }) {
		return errors.New("files are not in order")
	}
	for i, n := range m.Nights {
		if _, err := checkNight(n.Name); err != nil {
			return err
		}
		if i > 0 && m.Nights[i-1].Name >= n.Name {
			return fmt.Errorf("night %s stands behind %s", n.Name, m.Nights[i-1].Name)
		}
		rows := int64(0)
		for _, e := range n.Extents {
			if f, ok := m.File(e.File); !ok {
				return fmt.Errorf("night %s: %s is not there", n.Name, e.File)
			} else if e.Start != 0 || e.Rows != f.Rows {
				return fmt.Errorf("night %s: rows %d to %d are not all of %s: no file is of several nights, as early programs made them: if it is one of these, begin a library in a new folder by running the nights again", n.Name, e.Start, e.Start+e.Rows, e.File)
			}
			rows += e.Rows
		}
		if rows != n.Rows || n.Deleted < 0 || n.Deleted > n.Rows {
			return fmt.Errorf("night %s: %d rows in its extents, %d of its %d deleted", n.Name, rows, n.Deleted, n.Rows)
		}
		for _, name := range []string{n.Merges, n.Samples} {
			if _, ok := m.File(name); name != "" && !ok {
				return fmt.Errorf("night %s: %s is not there", n.Name, name)
			}
		}
	}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || f.Rows < 0 {
			return fmt.Errorf("file %q", f.Name)
		}
	}
	if t := m.Templates; t != nil && !filepath.IsLocal(filepath.FromSlash(t.Name)) {
		return fmt.Errorf("file %q", t.Name)
	}
	for _, d := range m.Deletions {
		if d.File != "" && !filepath.IsLocal(filepath.FromSlash(d.File)) {
			return fmt.Errorf("file %q", d.File)
		}
	}
	return nil
}

// ReadManifest reads the manifest of the library at dir; ErrNone when there is
// none, and errDamaged when there are files that one has named.
func ReadManifest(dir string) (*Manifest, error) {
	path := filepath.Join(dir, ManifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if file := orphan(dir); file != "" {
			return nil, fmt.Errorf("%w: %s is missing, but there is %s: `neardup library repair` takes it back, or name a new folder", errDamaged, path, file)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			return nil, fmt.Errorf("%w in %s, which holds other files: name the folder that `neardup run … --library` made", ErrNone, dir)
		}
		return nil, fmt.Errorf("%w in %s: `neardup run … --library %s` makes one", ErrNone, dir, dir)
	}
	if info, statErr := os.Stat(dir); err != nil && statErr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file: name the folder that `neardup run … --library` made", ErrFolder, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	return parse(path, text)
}

// parseManifest reads the manifest that stands at path.
func parseManifest(path string) (*Manifest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("library: %w", err)
	}
	return parse(path, text)
}

// parse reads the manifest of that text, which stands at path.
func parse(path string, text []byte) (*Manifest, error) {
	const remedy = "`neardup library repair` takes back the last that is sound"
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("%w: %s: %w: %s", errDamaged, path, err, remedy)
	}
	if m.Version != FormatVersion {
		return nil, fmt.Errorf("library: %s has version %d, this program reads %d: use the neardup that wrote it, or begin a library in a new folder by running the nights again; if no other neardup wrote it, it is damaged: %s", path, m.Version, FormatVersion, remedy)
	}
	sum := m.Checksum
	m.Checksum = ""
	own, err := m.text()
	if err == nil {
		m.Checksum = sumOf(own)
		own, err = m.text()
	}
	if err != nil || sum != "" && !bytes.Equal(own, text) { // without one it is an earlier program's
		return nil, fmt.Errorf("%w: %s is not what was written: %s", errDamaged, path, remedy)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %s: %w: %s", errDamaged, path, err, remedy)
	}
	return &m, nil
}

// orphan is a complete file below the folder at dir, which has no manifest; ""
// if there is none.
func orphan(dir string) string {
	file := ""
	for _, sub := range []string{documents, merges, deletions, changes} {
		_ = filepath.WalkDir(filepath.Join(dir, sub), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || data.IsTemporary(path) {
				return nil //nolint:nilerr // mostly it is not there
			}
			file = path
			return fs.SkipAll
		})
	}
	return file
}

// text is the manifest as its file has it.
func (m *Manifest) text() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", " ")
	return append(text, '\n'), err
}

func sumOf(text []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(text)) }

func (m *Manifest) write(fsys data.FS, dir string) error {
	own := *m
	own.Checksum = ""
	text, err := own.text()
	if err == nil {
		own.Checksum = sumOf(text)
		text, err = own.text()
	}
	m.Checksum = own.Checksum
	if err != nil {
		return fmt.Errorf("library: %w", err)
	}
	if err := data.WriteFileAtomicIn(fsys, filepath.Join(dir, ManifestFile), text); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	return nil
}

var nightName = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([._-][0-9A-Za-z]+)*$`)

// checkNight returns the date of the night of that name: YYYY-MM-DD, and, if
// a date has several nights, more behind it, like 2026-11-20.2. Nights follow
// each other in the order of their names.
func checkNight(name string) (time.Time, error) {
	if nightName.MatchString(name) && len(name) <= 64 {
		if date, err := time.Parse(time.DateOnly, name[:10]); err == nil {
			return date, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %q: write a date like 2026-11-20, or 2026-11-20.2 for the second of a date", ErrNight, name)
}

// IsNight reports whether name is one that a night may have.
func IsNight(name string) bool {
	_, err := checkNight(name)
	return err == nil
}

// CompareSettings returns nil when both are equal, else ErrSettings with what
// differs side by side.
func CompareSettings(library, run map[string]string) error {
	all := map[string]string{}
	maps.Copy(all, library)
	maps.Copy(all, run)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool {
		was, ok := library[name]
		return ok && run[name] == was
	})
	if len(names) == 0 {
		return nil
	}
	var b strings.Builder
	show := func(s map[string]string, name string) string {
		if v, ok := s[name]; ok {
			return v
		}
		return "-"
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\n  setting\tlibrary\there")
	for _, n := range names {
		fmt.Fprintf(w, "\n  %s\t%s\t%s", n, show(library, n), show(run, n))
	}
	_ = w.Flush() // it cannot fail
	return fmt.Errorf("%w: fingerprints that are made in different ways cannot be compared: use the library's settings, or another library%s", ErrSettings, b.String())
}

// IsDocuments reports whether the file of that name holds documents, and not
// cluster merges or samples.
func (m *Manifest) IsDocuments(name string) bool { return strings.HasPrefix(name, documents+"/") }
