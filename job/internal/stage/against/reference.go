package against

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/passage"
)

// Reference is the texts that documents are searched for. It does not change.
type Reference struct {
	Sets []ReferenceSet // in the order of the settings

	index *passage.Index
	items []referenceItem
}

// ReferenceSet is the records of a file, or the texts of a folder.
type ReferenceSet struct {
	Name     string `json:"set"`
	Texts    int64  `json:"texts"`    // that are looked for
	Short    int64  `json:"short"`    // not looked for: fewer letters than against.least
	Repeated int64  `json:"repeated"` // not looked for: the same letters as an earlier text
}

type referenceItem struct {
	set      int
	id, text []byte
}

// Read reads the job's reference, once: every task searches the same.
func Read(job *engine.Job) (*Reference, error) {
	shared, err := job.Shared(stage.Against, func() (any, error) { return Load(job.Config) })
	ref, _ := shared.(*Reference)
	return ref, err
}

// memoryOfText is about how many bytes of memory a byte of a reference's text
// takes: itself, its letters, and its grams.
const memoryOfText = 12

// referenceReader reads a reference.
type referenceReader struct {
	config  config.Config
	ref     *Reference
	builder passage.Builder
	letters simhash.LetterReader
	seen    map[xxh3.Uint128]bool // letters of the texts
	bytes   int64                 // of them

	form []uint32
	key  []byte
}

// EachText calls yield with the texts of a reference that documents are searched for. It
// must not keep id and text.
func EachText(c config.Config, yield func(set string, id, text []byte)) error {
	r, err := readTexts(c)
	if err != nil {
		return err
	}
	for _, item := range r.ref.items {
		yield(r.ref.Sets[item.set].Name, item.id, item.text)
	}
	return nil
}

func readTexts(c config.Config) (*referenceReader, error) {
	r := &referenceReader{config: c, ref: &Reference{}, seen: map[xxh3.Uint128]bool{}}
	for _, path := range c.Against.Paths {
		if err := r.path(path); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Load reads the reference that the settings name.
func Load(c config.Config) (*Reference, error) {
	r, err := readTexts(c)
	if err != nil {
		return nil, err
	}
	if len(r.ref.items) == 0 {
		short := int64(0)
		for _, s := range r.ref.Sets {
			short += s.Short
		}
		return nil, r.wrong(strings.Join(c.Against.Paths, ","), fmt.Sprintf("none of its %d texts has %d letters, of which a Chinese one counts 3 (against.least): name other texts, or set it lower", short, c.Against.Least))
	}
	r.ref.index = r.builder.Build()
	return r.ref, nil
}

// wrong is the error for a reference that cannot be used.
func (r *referenceReader) wrong(path, remedy string) error {
	return &config.SettingError{Name: config.SettingAgainst, Value: path, Remedy: remedy}
}

// path reads a file or a folder of the reference: files of records by their
// format, others that end in .txt or .text as one text each.
func (r *referenceReader) path(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return r.wrong(path, fmt.Sprintf("%v: name files and folders that are there", err))
	}
	texts, err := textFiles(path)
	if err != nil {
		return r.wrong(path, fmt.Sprintf("%v: let this user read it", err))
	}
	if len(texts) > 0 {
		if err := r.texts(path, texts); err != nil {
			return err
		}
	}
	if len(texts) > 0 && !info.IsDir() {
		return nil
	}
	in := r.config.Input
	in.Format, in.Encoding, in.SplitBytes = "", "", 1<<62
	splits, err := input.ExpandFiles([]string{path}, in, nil)
	if errors.Is(err, source.ErrNoInput) && len(texts) > 0 {
		return nil
	}
	if err != nil {
		return r.wrong(path, fmt.Sprintf("%v; a text of a file of its own has the name ending .txt", err))
	}
	for len(splits) > 0 { // file by file
		n := 1
		for n < len(splits) && splits[n].Path == splits[0].Path {
			n++
		}
		if err := r.records(splits[:n]); err != nil {
			return err
		}
		splits = splits[n:]
	}
	return nil
}

// textFiles lists the files below path that are one text each.
func textFiles(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if file != path && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := strings.ToLower(filepath.Ext(file)); !d.IsDir() && (ext == ".txt" || ext == ".text") {
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// set is the number of the set of that name.
func (r *referenceReader) set(name string) int {
	at := slices.IndexFunc(r.ref.Sets, func(s ReferenceSet) bool { return s.Name == name })
	if at < 0 {
		at = len(r.ref.Sets)
		r.ref.Sets = append(r.ref.Sets, ReferenceSet{Name: name})
	}
	return at
}

// texts reads files that are one text each.
func (r *referenceReader) texts(path string, files []string) error {
	set := r.set(filepath.Base(path))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return r.wrong(file, fmt.Sprintf("%v: let this user read it", err))
		}
		id := filepath.Base(file)
		if below, err := filepath.Rel(path, file); err == nil && below != "." {
			id = filepath.ToSlash(below)
		}
		if err := r.add(file, set, data.ValidID([]byte(id)), text); err != nil {
			return err
		}
	}
	return nil
}

// textColumns are columns of evaluation sets that hold their texts, besides the
// usual ones ("").
var textColumns = []string{"", "question", "prompt", "problem", "query", "instruction"}

// records reads a file of records, given its splits.
func (r *referenceReader) records(splits []data.Split) error {
	a := &r.config.Against
	names, file := textColumns, splits[0].Path
	if a.Text != "" {
		names = []string{a.Text}
	}
	var missing error
	for _, name := range names {
		o := data.ReaderOptions{Columns: data.Columns{ID: a.ID, Text: name}, MaxRecord: r.config.Input.MaxRecord, HTML: r.config.Input.HTML, WARCID: r.config.Input.WARCID}
		err := source.CheckColumns(splits, o)
		if err == nil { // of lines of JSON the first says what columns there are
			if err = source.NoText(splits[0], o); !errors.As(err, new(*data.NoColumn)) {
				return r.documents(splits, o)
			}
		}
		if lacks := (*data.NoColumn)(nil); !errors.As(err, &lacks) {
			return r.wrong(file, err.Error())
		}
		if missing == nil {
			missing = err
		}
	}
	lacks := (*data.NoColumn)(nil)
	errors.As(missing, &lacks)
	if a.ID != "" && lacks.Name == a.ID {
		return &config.SettingError{Name: "against.id_column", Value: strconv.Quote(a.ID), Remedy: fmt.Sprintf("%s: %s: name the column that holds the id", file, lacks.Problem())}
	}
	return &config.SettingError{Name: "against.text_column", Value: strconv.Quote(a.Text), Remedy: fmt.Sprintf("%s: %s: name the column that holds the text, with --against-text", file, lacks.Problem())}
}

// documents reads the documents of a file.
func (r *referenceReader) documents(splits []data.Split, o data.ReaderOptions) error {
	set := r.set(filepath.Base(splits[0].Path))
	for _, split := range splits {
		if err := r.split(split, o, set); err != nil {
			return err
		}
	}
	return nil
}

func (r *referenceReader) split(split data.Split, o data.ReaderOptions, set int) (err error) {
	in, err := source.Open(split, o)
	if err != nil {
		return r.wrong(split.Path, err.Error())
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	for {
		err := in.Read(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if bad, ok := data.IsBadRecord(err); ok && !config.Unusable(bad.Reason) {
			if bad.Reason == data.ReasonNoText {
				r.ref.Sets[set].Short++
			}
			continue
		}
		if err != nil {
			return r.wrong(split.Path, fmt.Sprintf("%v: mend it, a reference is read in full", err))
		}
		if err := r.add(split.Path, set, bytes.Clone(doc.ID), bytes.Clone(doc.Text)); err != nil {
			return err
		}
	}
}

// add adds a text, of which it keeps the bytes, unless it is short or was there.
func (r *referenceReader) add(file string, set int, id, text []byte) error {
	s := &r.ref.Sets[set]
	r.form = r.letters.Read(r.form[:0], text)
	if passage.WeightOf(r.form) < r.config.Against.Least {
		s.Short++
		return nil
	}
	r.key = r.key[:0]
	for _, c := range r.form {
		r.key = binary.LittleEndian.AppendUint32(r.key, c)
	}
	sum := xxh3.Hash128(r.key)
	if r.seen[sum] {
		s.Repeated++
		return nil
	}
	r.seen[sum] = true
	r.bytes += int64(len(text))
	if limit := r.config.Execution.MemoryLimit() / 2; r.bytes*memoryOfText > limit {
		return r.wrong(file, fmt.Sprintf("a reference of %d MiB or more takes more than %d MiB of memory, half of the cap: raise --memory, or run against parts of it, one after the other", r.bytes>>20, limit>>20))
	}
	if _, err := r.builder.Add(r.form); err != nil {
		return r.wrong(file, err.Error())
	}
	s.Texts++
	r.ref.items = append(r.ref.items, referenceItem{set, id, text})
	return nil
}
