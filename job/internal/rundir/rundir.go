// Package rundir is the run directory: the places of its tables, task records and
// markers, and the rules by which they appear.
//
//   - One process works in a run directory at a time; it holds a lock (Open).
//   - The manifest says what the run is. A run with another one is refused (Adopt).
//   - A file appears under its final name only when it is complete.
//   - The record of a task is written after the task's outputs, with their
//     checksums. So a record vouches for its outputs, and a resumed run skips its
//     task (PutRecord, Record).
//   - The success marker is the run's last file (Succeed).
//
// The package never interprets what the files say of documents.
package rundir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/lock"
	"github.com/neardup/neardup/job/internal/state"
)

// Names inside a run directory.
const (
	ManifestFile = "manifest.json"
	SummaryFile  = "summary.json"
	SuccessFile  = "_SUCCESS"
	lockFile     = ".lock"

	Fingerprints = "fingerprints" // tables for analysts
	Texts        = "texts"        // of documents whose text was extracted
	Matches      = "matches"
	Pairs        = "pairs"
	Clusters     = "clusters"
	Clean        = "clean"
	Removed      = "removed" // what the clean dump leaves out
	Seen         = "seen"    // how often and since when, of a run that annotates
	Against      = "against" // of a run against a reference
	Drift        = "drift"   // of a run with a library
	Growth       = "growth"  //

	Tasks      = "tasks"      // one JSON record per finished task
	Quarantine = "quarantine" // skipped records, one file per split
	State      = "state"      // results that one stage hands to the next
	Scratch    = "tmp"        // spilled data; emptied at the start of a run
	Logs       = "logs"       // one for each attempt of a flow: what its driver, workers and agents said
)

// Tables are the folders of Parquet files that a run may write. Outputs are all
// folders that users read. Both are in the order in which they are shown.
var (
	Tables  = []string{Fingerprints, Texts, Matches, Pairs, Clusters, Removed, Seen, Against, Drift, Growth}
	Outputs = append(slices.Clone(Tables), Clean, Quarantine)
)

var (
	// ErrOther is returned for a run directory of another configuration or
	// input.
	ErrOther = errors.New("run directory of another configuration")
	// errInUse is returned when another process works in the run directory.
	errInUse = errors.New("run directory in use")
)

// Dir is an opened run directory, held by a lock until Close.
type Dir struct {
	path string
	lock *lock.Lock
}

// Open creates the run directory at path, or opens an existing one, and locks it.
// It removes what a killed process left: scratch files, and files without a final
// name. It returns an error for a folder that is neither empty nor a run
// directory, and errInUse if another process holds the lock.
func Open(path string) (*Dir, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is a file: name a new folder", ErrFolder, path)
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run directory: %w: name another folder with --out", err)
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(path, lockFile)); err != nil {
			return nil, fmt.Errorf("%w: %s holds files but no run: name a new folder", ErrFolder, path)
		}
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("run directory: %w: name another folder with --out", err)
	}
	held, err := lock.Take(context.Background(), filepath.Join(path, lockFile), lock.Options{Limit: -1})
	if errors.Is(err, lock.ErrHeld) {
		return nil, fmt.Errorf("%w: %w: wait for it or name another folder", errInUse, err)
	}
	if err != nil {
		return nil, fmt.Errorf("run directory: %w: name another folder with --out", err)
	}
	d := &Dir{path: path, lock: held}
	if err := d.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("run directory: %w", err), d.Close())
	}
	for _, sub := range []string{Tasks, Quarantine, State, Scratch} {
		if err := os.MkdirAll(d.Path(sub), 0o777); err != nil {
			return nil, errors.Join(fmt.Errorf("run directory: %w", err), d.Close())
		}
	}
	return d, nil
}

// InUse reports whether a process holds the lock of the run directory at path.
func InUse(path string) (bool, error) {
	file := flock.New(filepath.Join(path, lockFile), flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if err != nil {
		return false, fmt.Errorf("run directory: %w", err)
	}
	if !free {
		return true, nil
	}
	return false, file.Unlock()
}

// sweep removes what a killed process left: scratch files, and files without a
// final name.
func (d *Dir) sweep() error {
	if err := RemoveAll(d.Path(Scratch)); err != nil {
		return err
	}
	return d.Tidy(nil)
}

// RemoveAll removes a folder into which workers of a killed process may still be
// writing. If files appear while it removes, it tries again, for up to 20 s.
func RemoveAll(path string) error {
	const patience = 20 * time.Second
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := os.RemoveAll(path)
		if !errors.Is(err, syscall.ENOTEMPTY) || time.Since(began) > patience {
			return err
		}
	}
}

// Tidy removes the files without a final name that killed workers left, except the
// paths in keep, which the calling process is writing. No worker may be running.
func (d *Dir) Tidy(keep []string) error {
	left, err := d.Temporaries()
	for _, path := range left {
		if slices.Contains(keep, path) {
			continue
		}
		if rerr := os.Remove(path); !errors.Is(rerr, fs.ErrNotExist) { // its writer removed it
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// Temporaries lists the files without a final name, outside the scratch folder.
func (d *Dir) Temporaries() (found []string, err error) {
	err = filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path == d.Path(Scratch) {
			return fs.SkipDir
		}
		if err == nil && data.IsTemporary(path) && !e.IsDir() {
			found = append(found, path)
		}
		if errors.Is(err, fs.ErrNotExist) { // its writer removed it
			return nil
		}
		return err
	})
	return found, err
}

// Attach opens a run directory without a lock: for a worker of the process that
// holds it, or to read. It changes nothing.
func Attach(path string) (*Dir, error) {
	if _, err := os.Stat(filepath.Join(path, lockFile)); err != nil {
		return nil, fmt.Errorf("run directory: %s is none, or this machine does not see it: %w", path, err)
	}
	return &Dir{path: path}, nil
}

// Close removes the scratch folder and releases the lock. For an attached
// directory it does nothing.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	return errors.Join(RemoveAll(d.Path(Scratch)), d.lock.Unlock())
}

// Path joins names to the run directory's path.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Part returns the path of part i of a table, and makes the table's folder.
func (d *Dir) Part(table string, i int, ext string) (string, error) {
	if err := os.MkdirAll(d.Path(table), 0o777); err != nil {
		return "", fmt.Errorf("run directory: %w", err)
	}
	return d.Path(table, PartName(i, ext)), nil
}

// StatePart returns the name, within the run directory, of the file of split i in
// a folder of the state.
func StatePart(folder string, i int) string { return filepath.Join(State, folder, PartName(i, "")) }

// PartName returns the file name of part i of a table.
func PartName(i int, ext string) string { return fmt.Sprintf("part-%05d%s", i, ext) }

// Parts lists the paths of the finished parts of a table of the run directory at
// path, in order. A missing folder has no parts, and is no error.
func Parts(path, table string) (parts []string, err error) {
	folder := filepath.Join(path, table)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "part-") {
			parts = append(parts, filepath.Join(folder, e.Name()))
		}
	}
	return parts, nil
}

// Commands a run directory can be of.
const (
	CommandRun   = "run"   // documents in
	CommandMatch = "match" // fingerprints in
)

// Manifest identifies a run. A run directory can be resumed only with the same
// manifest.
type Manifest struct {
	Version    int             `json:"version"` // of the run directory's layout
	ConfigHash string          `json:"config_hash"`
	Command    string          `json:"command"` // CommandRun or CommandMatch
	Config     json.RawMessage `json:"config"`
	Folder     string          `json:"folder,omitempty"` // base of the relative paths of splits and of a reference
	Splits     []data.Split    `json:"splits"`
}

// Path returns the path of a file that the run was given, absolute if the manifest says
// its base.
func (m *Manifest) Path(path string) string {
	if filepath.IsAbs(path) || m.Folder == "" || strings.Contains(path, "://") || path == "-" {
		return path
	}
	return filepath.Join(m.Folder, path)
}

// Split is a split whose path does not depend on the folder that a program runs in,
// if the manifest says the base of its paths.
func (m *Manifest) Split(split int) data.Split {
	of := m.Splits[split]
	of.Path = m.Path(of.Path)
	of.Files = slices.Clone(of.Files)
	for i := range of.Files {
		of.Files[i].Path = m.Path(of.Files[i].Path)
	}
	return of
}

// same reports whether the split with that number is the same in both manifests,
// even if its path is written differently.
func (m *Manifest) same(other *Manifest, split int) bool {
	a, b := m.Splits[split], other.Splits[split]
	if len(a.Files) != len(b.Files) || !m.samePath(a.Path, other, b.Path) {
		return false
	}
	for i := range a.Files {
		if a.Files[i].Size != b.Files[i].Size || !m.samePath(a.Files[i].Path, other, b.Files[i].Path) {
			return false
		}
	}
	a.Path, a.Files = b.Path, b.Files
	return a.Equal(b)
}

// samePath reports whether path a of m and path b of another manifest are of one file.
func (m *Manifest) samePath(a string, other *Manifest, b string) bool {
	pathA, pathB := m.Path(a), other.Path(b)
	if strings.Contains(pathA, "://") || strings.Contains(pathB, "://") {
		return pathA == pathB
	}
	return filepath.Clean(pathA) == filepath.Clean(pathB) || m.Folder == "" && pathA == b // of an earlier program
}

// Errors of a path that somebody named.
var (
	// ErrNone is returned for a folder that is no run directory.
	ErrNone = errors.New("not a run directory")

	// ErrFolder is returned for what can become none: a file, or a folder of others.
	ErrFolder = errors.New("run directory")
)

// ReadManifest reads the manifest of the run directory at path. Its errors say
// what path is if it is none.
func ReadManifest(path string) (m Manifest, err error) {
	err = ReadJSON(filepath.Join(path, ManifestFile), &m)
	if errors.Is(err, fs.ErrNotExist) {
		if runs, _ := filepath.Glob(filepath.Join(path, "*", ManifestFile)); len(runs) > 0 {
			return m, fmt.Errorf("%s holds run directories and is none: name one of them, like %s", path, filepath.Dir(runs[len(runs)-1]))
		}
		err = fmt.Errorf("%s is %w: name the folder that neardup run --out made", path, ErrNone)
	}
	return m, err
}

// LayoutVersion is the version of the layout that this package writes. Version 1
// has no table of texts.
const LayoutVersion = 5

// HasTexts reports whether the run keeps the texts that it extracted, in the
// folder Texts. One against a reference does not.
func (m Manifest) HasTexts() bool {
	var settings struct {
		Against json.RawMessage `json:"against"`
	}
	if len(m.Config) > 0 && json.Unmarshal(m.Config, &settings) != nil {
		return false
	}
	return m.Version >= 2 && settings.Against == nil
}

// Adopt writes the manifest of a new run. If the directory has a run already, it
// returns ErrOther unless the manifests are the same.
func (d *Dir) Adopt(m Manifest) error {
	var have Manifest
	err := ReadJSON(d.Path(ManifestFile), &have)
	if errors.Is(err, fs.ErrNotExist) {
		if d.Begun("*") || d.Finished() {
			return fmt.Errorf("%w: %s has tasks of a run, and no %s that says of which: name a new folder", ErrOther, d.path, ManifestFile)
		}
		return WriteJSON(d.Path(ManifestFile), m)
	}
	if err != nil {
		return err
	}
	switch {
	case have.Version != m.Version:
		return fmt.Errorf("%w: %s has layout version %d, this program writes %d: name a new folder", ErrOther, d.path, have.Version, m.Version)
	case have.Command != m.Command:
		return fmt.Errorf("%w: %s was made by `neardup %s`: name a new folder", ErrOther, d.path, have.Command)
	case have.ConfigHash != m.ConfigHash:
		return fmt.Errorf("%w: %s was made with other settings (%s): name a new folder, or run with its settings", ErrOther, d.path, firstDifference(have.Config, m.Config))
	case len(have.Splits) != len(m.Splits):
		return fmt.Errorf("%w: %s was made from another input: the number of its splits was %d, now %d: name a new folder", ErrOther, d.path, len(have.Splits), len(m.Splits))
	}
	for i, s := range m.Splits {
		if !have.same(&m, i) {
			return fmt.Errorf("%w: %s was made from another input: split %d was %s (%d bytes), now %s (%d bytes): name a new folder",
				ErrOther, d.path, i, have.Splits[i].Path, have.Splits[i].Size, s.Path, s.Size)
		}
	}
	return nil
}

// Begun reports whether any task of the stage is finished. stage may be a pattern.
func (d *Dir) Begun(stage string) bool {
	records, _ := filepath.Glob(d.Path(Tasks, stage+"-*.json")) // the pattern is a good one
	return len(records) > 0
}

// Reset removes the run from the directory, so that any run can adopt it.
// Quarantine and logs stay, since an error message may refer to them.
func (d *Dir) Reset() error {
	if err := os.RemoveAll(d.Path(Tasks)); err != nil { // first: none outlives its manifest
		return err
	}
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		if name := e.Name(); name != lockFile && name != Quarantine && name != Logs {
			err = errors.Join(err, os.RemoveAll(d.Path(name)))
		}
	}
	return err
}

// firstDifference describes the first setting, by section and field, that differs
// between two configurations: a, in the manifest, and b, asked for now.
func firstDifference(a, b json.RawMessage) string {
	var have, want map[string]map[string]any
	if json.Unmarshal(a, &have) != nil || json.Unmarshal(b, &want) != nil {
		return "unreadable manifest"
	}
	first := ""
	for section, fields := range want {
		for name, w := range fields {
			if name == "max_bad" { // it may change while the run goes on
				continue
			}
			h, _ := json.Marshal(have[section][name])
			v, _ := json.Marshal(w)
			if s := fmt.Sprintf("%s.%s is %s there, %s here", section, name, stated(h), stated(v)); string(h) != string(v) && (first == "" || s < first) {
				first = s
			}
		}
	}
	if first == "" {
		return "a file that the settings name has changed"
	}
	return first
}

// stated is a setting's value as JSON, for people.
func stated(value []byte) string {
	if string(value) == "null" {
		return "not set"
	}
	return string(value)
}

// Finished reports whether the run has its success marker.
func (d *Dir) Finished() bool {
	_, err := os.Stat(d.Path(SuccessFile))
	return err == nil
}

// Succeed writes the success marker: the run's last act.
func (d *Dir) Succeed() error { return data.WriteFileAtomic(d.Path(SuccessFile), nil) }

// ClearState removes the entries of the state folder, except those named.
func (d *Dir) ClearState(keep ...string) error {
	entries, err := os.ReadDir(d.Path(State))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains(keep, e.Name()) {
			err = errors.Join(err, os.RemoveAll(d.Path(State, e.Name())))
		}
	}
	return err
}

// The last field of an object that WriteJSON writes is the XXH3-64 of its text
// without it.
const (
	checksumField = ",\n  \"checksum\": \""
	objectEnd     = "\n}\n"
)

func checksumOf(text []byte) string {
	return fmt.Sprintf("%s%016x\"%s", checksumField, xxh3.Hash(text), objectEnd)
}

// WriteJSON writes v as indented JSON with a checksum, atomically. v must encode as
// an object with at least one field.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	text = append(text, '\n')
	fields, ok := bytes.CutSuffix(text, []byte(objectEnd))
	if !ok {
		return fmt.Errorf("%s: what is to be written there is no object", path)
	}
	return data.WriteFileAtomic(path, slices.Concat(fields, []byte(checksumOf(text))))
}

// ReadJSON reads into v what WriteJSON wrote, and checks its checksum. A missing
// file is fs.ErrNotExist. Earlier versions wrote no checksum, so a file without
// one is accepted.
func ReadJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if at := bytes.LastIndex(text, []byte(checksumField)); at >= 0 {
		was := slices.Concat(text[:at], []byte(objectEnd))
		if string(text[at:]) != checksumOf(was) {
			return damaged(path)
		}
		text = was
	}
	if json.Unmarshal(text, v) != nil {
		return damaged(path)
	}
	return nil
}

// errLost is returned for a damaged file that the run cannot write again.
var errLost = errors.New("damaged, and this run cannot make it again: name a new folder, and its run has one; other files of this one may be whole")

func damaged(path string) error {
	switch filepath.Base(path) {
	case ManifestFile, SummaryFile:
		return fmt.Errorf("%s: %w", path, errLost)
	}
	return fmt.Errorf("%s: %w", path, state.ErrDamaged)
}

// TaskRecord says that a task is finished, and counts what went through it. It is
// written after the task's outputs, so its presence vouches for them.
type TaskRecord struct {
	Stage     string              `json:"stage"`
	Task      int                 `json:"task"`
	Source    string              `json:"source,omitempty"`    // what the task read
	Digest    string              `json:"digest,omitempty"`    // XXH3 of 128 bits of the bytes it read
	Bytes     int64               `json:"bytes"`               // of input
	Text      int64               `json:"text,omitempty"`      // bytes of the texts of the documents that it fingerprinted
	Files     []FileNote          `json:"files,omitempty"`     // what is wrong with files that it read, or special about them
	Lost      int64               `json:"lost,omitempty"`      // bytes of its files that are damaged
	Unchecked int64               `json:"unchecked,omitempty"` // compressed members of its files that have no checksum
	RowsIn    int64               `json:"rows_in"`
	RowsOut   int64               `json:"rows_out"`
	Skipped   map[string]int64    `json:"skipped,omitempty"`   // rows that went in and not out, by reason
	Counts    map[string]int64    `json:"counts,omitempty"`    // of rows out, by length class or kind
	Languages map[string]int64    `json:"languages,omitempty"` // the same, by language
	Cut       int64               `json:"cut,omitempty"`       // rows out whose page the input has only the beginning of
	Garbled   int64               `json:"garbled,omitempty"`   // rows out of whose text the encoding that was asked for makes no sense
	Sites     SiteTexts           `json:"sites,omitempty"`     // rows out of whose text a part was left out
	Tables    []TableCount        `json:"tables,omitempty"`    // of the join
	None      Reasons             `json:"none,omitempty"`      // rows out that are pages without a main text
	Outputs   []string            `json:"outputs"`             // paths within the run directory
	Sums      map[string]data.Sum `json:"sums,omitempty"`      // what they are, by path; of an earlier program's record empty
	Seconds   float64             `json:"seconds"`
}

// Fresh returns the empty record of the same task.
func (r *TaskRecord) Fresh() TaskRecord { return NewTaskRecord(r.Stage, r.Task, r.Source) }

// NewTaskRecord returns the empty record of a task.
func NewTaskRecord(stage string, task int, source string) TaskRecord {
	return TaskRecord{Stage: stage, Task: task, Source: source, Skipped: map[string]int64{}, Counts: map[string]int64{}, Languages: map[string]int64{}, Sites: SiteTexts{}}
}

// Skip counts bad, a record of the input that is no document.
func (r *TaskRecord) Skip(bad *data.BadRecord) {
	r.RowsIn++
	r.Skipped[bad.Reason]++
	switch {
	case bad.Lost > 0:
		r.Lost += bad.Lost
		r.Note(FileNote{File: bad.Source, Kind: FileDamaged, What: fmt.Sprintf("at offset %d: %v", bad.Offset, bad.Err), Lost: bad.Lost})
	case bad.Reason == data.ReasonTruncated:
		r.Note(FileNote{File: bad.Source, Kind: FileTruncated})
	}
}

// Kinds of notes.
const (
	FileMissing   = "missing_column" // it lacks a column, as data.NoColumn says it
	FileUnread    = "unread"         // none of its records can be read, as data.Unreadable says it
	FileDamaged   = "damaged"        // some of its bytes are not those that were written
	FileTruncated = "truncated"      // it ends within a record
	FileEncoding  = "encoding"       // its text is in another encoding than UTF-8
)

// FileNote is what is wrong with a file, or special about it.
type FileNote struct {
	File string `json:"file"`
	Kind string `json:"kind"`           // one of the constants
	What string `json:"what,omitempty"` // of damaged bytes the first
	Lost int64  `json:"lost,omitempty"` // bytes of the file: those that are damaged, or all of them
}

// Note adds a note. What is lost of one file adds up.
func (r *TaskRecord) Note(n FileNote) {
	for i := len(r.Files) - 1; i >= 0 && r.Files[i].File == n.File; i-- {
		if r.Files[i].Kind == n.Kind && (n.Kind == FileDamaged || n.Kind == FileTruncated) {
			r.Files[i].Lost += n.Lost
			return
		}
	}
	r.Files = append(r.Files, n)
}

// Unread reports whether no record could be read, because none of a file can be.
func (r *TaskRecord) Unread() bool {
	return r.RowsOut == 0 && slices.ContainsFunc(r.Files, func(n FileNote) bool { return n.Kind == FileUnread })
}

// NoteFiles sets the options so that readers of a split note in r what they tell of its
// files.
func (r *TaskRecord) NoteFiles(o *data.ReaderOptions, split data.Split) {
	o.Missing = func(m *data.NoColumn) { r.Note(FileNote{File: m.File, Kind: FileMissing, What: m.Problem()}) }
	o.Unread = func(u *data.Unreadable) {
		n := FileNote{File: u.File, Kind: FileUnread, What: u.Error()}
		for one := range split.OfFiles() {
			if one.Path == u.File {
				n.Lost = max(one.Size, 1) // an empty file is lost too
			}
		}
		r.Note(n)
	}
	o.Decoded = func(path, encoding string) {
		for name := range strings.FieldsSeq(encoding) {
			r.Note(FileNote{File: path, Kind: FileEncoding, What: name})
		}
	}
	o.Unchecked = func() { r.Unchecked++ }
}

// TableCount counts what the join did in one table. It shows where postings are
// skewed, and what that cost.
type TableCount struct {
	Table         string `json:"table"`
	Postings      int64  `json:"postings"`       // mapped to the table
	Keys          int64  `json:"keys"`           // different ones; of keys of more than 16 bits at least so many
	LargestMapped int64  `json:"largest_mapped"` // postings of the key that has most: the largest group before the reduces; of keys of more than 16 bits at most so many
	PostingLists  int64  `json:"posting_lists"`  // what the partial reduces leave of the postings: those of one fingerprint are one
	Largest       int64  `json:"largest"`        // posting lists of the key that has most: the largest group after the partial reduces; bounded as LargestMapped is
	Compared      int64  `json:"compared"`       // groups of two posting lists or more that were compared: several of a large key, one of several small ones
	Candidates    int64  `json:"candidates"`     // of segments, pairs of fingerprints within the distance; else pairs of documents that share a value
	Pairs         int64  `json:"pairs"`          // of the candidates of other tables, those that are the same or for the texts to decide
}

// Plus returns the sum of both counts; of the largest groups, the larger.
func (c TableCount) Plus(d TableCount) TableCount {
	return TableCount{
		Table:         c.Table,
		Postings:      c.Postings + d.Postings,
		LargestMapped: max(c.LargestMapped, d.LargestMapped),
		PostingLists:  c.PostingLists + d.PostingLists,
		Keys:          c.Keys + d.Keys,
		Compared:      c.Compared + d.Compared,
		Largest:       max(c.Largest, d.Largest),
		Candidates:    c.Candidates + d.Candidates,
		Pairs:         c.Pairs + d.Pairs,
	}
}

// Reasons counts documents by reason, then by site; a site is empty for ids that
// are no URLs.
type Reasons map[string]map[string]int64

// reasonSites is the most sites that Reasons names for a reason. It counts further
// ones as OtherSites.
const reasonSites = 100

// Add counts a document.
func (r *Reasons) Add(reason, site string) { r.count(reason, site, 1) }

func (r *Reasons) count(reason, site string, n int64) {
	if *r == nil {
		*r = Reasons{}
	}
	sites := (*r)[reason]
	if sites == nil {
		sites = map[string]int64{}
		(*r)[reason] = sites
	}
	if _, named := sites[site]; !named && len(sites) >= reasonSites {
		site = OtherSites
	}
	sites[site] += n
}

// Plus adds what another task counted.
func (r *Reasons) Plus(other Reasons) {
	for _, reason := range slices.Sorted(maps.Keys(other)) {
		for _, site := range slices.Sorted(maps.Keys(other[reason])) {
			r.count(reason, site, other[reason][site])
		}
	}
}

// Total returns the number of documents by reason.
func (r Reasons) Total() map[string]int64 {
	total := map[string]int64{}
	for reason, sites := range r {
		for _, n := range sites {
			total[reason] += n
		}
	}
	return total
}

// SiteText counts the boilerplate that was left out of the texts of a site.
type SiteText struct {
	Documents int64 `json:"documents"` // documents with boilerplate
	Own       int64 `json:"own"`       // characters that were kept of these
	Left      int64 `json:"left"`      // characters that were left out
}

// Plus returns the sum of both.
func (s SiteText) Plus(t SiteText) SiteText {
	return SiteText{s.Documents + t.Documents, s.Own + t.Own, s.Left + t.Left}
}

// SiteTexts counts boilerplate by site. The name "" stands for ids that are no
// URLs.
type SiteTexts map[string]SiteText

// OtherSites is the name under which Reasons and SiteTexts count the sites that
// they do not name.
const OtherSites = "other sites"

// Add adds t to the count of a site.
func (s SiteTexts) Add(site string, t SiteText) { s[site] = s[site].Plus(t) }

// Largest lists the n sites, or fewer, with the most characters left out, the
// largest first.
func (s SiteTexts) Largest(n int) []string {
	sites := slices.SortedFunc(maps.Keys(s), func(a, b string) int {
		return cmp.Or(cmp.Compare(s[b].Left, s[a].Left), strings.Compare(a, b))
	})
	return sites[:min(n, len(sites))]
}

// Cut returns the counts of the n largest sites, and OtherSites for the rest.
func (s SiteTexts) Cut(n int) SiteTexts {
	if len(s) <= n {
		return s
	}
	few := SiteTexts{}
	for i, site := range s.Largest(len(s)) {
		if i < n {
			few[site] = s[site]
		} else {
			few.Add(OtherSites, s[site])
		}
	}
	return few
}

// Conserved returns an error unless rows in = rows out + rows skipped.
func (r TaskRecord) Conserved() error {
	skipped := int64(0)
	for _, n := range r.Skipped {
		skipped += n
	}
	if r.RowsIn != r.RowsOut+skipped {
		return fmt.Errorf("%s task %d: %w: %d rows in, %d out, %d skipped", r.Stage, r.Task, ErrNotConserved, r.RowsIn, r.RowsOut, skipped)
	}
	return nil
}

// ErrNotConserved is returned when a stage lost or gained rows.
var ErrNotConserved = errors.New("rows not conserved")

// RecordPath returns the path of a task's record.
func (d *Dir) RecordPath(stage string, task int) string {
	return d.Path(Tasks, fmt.Sprintf("%s-%05d.json", stage, task))
}

// PutRecord writes the record of a task whose outputs are complete. It computes
// their checksums, and returns ErrNotConserved if rows were lost.
func (d *Dir) PutRecord(r *TaskRecord) (err error) {
	if err := r.Conserved(); err != nil {
		return err
	}
	if r.Sums, err = d.sums(r.Outputs, r.Sums); err != nil {
		return err
	}
	return WriteJSON(d.RecordPath(r.Stage, r.Task), r)
}

// Record returns the record of a task. done is false if the task has no record, or
// if an output that the record names is missing; a finished run may have removed
// outputs, so there they are not looked for.
func (d *Dir) Record(stage string, task int) (r TaskRecord, done bool, err error) {
	err = ReadJSON(d.RecordPath(stage, task), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	if d.Finished() { // its state may be gone
		return r, true, nil
	}
	for _, out := range r.Outputs {
		if _, err := os.Stat(d.Path(out)); err != nil {
			return r, false, nil
		}
	}
	return r, true, nil
}

// Is reports whether a folder is a run directory, even if its run failed before it
// had a manifest.
func Is(path string) bool {
	for _, name := range []string{lockFile, Quarantine} {
		if _, err := os.Stat(filepath.Join(path, name)); err != nil {
			return false
		}
	}
	return true
}

// IsRun reports whether the folder at path is a run directory with a manifest (is),
// and whether its run is finished (done).
func IsRun(path string) (done, is bool) {
	if _, err := os.Stat(filepath.Join(path, ManifestFile)); err != nil {
		return false, false
	}
	_, err := os.Stat(filepath.Join(path, SuccessFile))
	return err == nil, true
}
