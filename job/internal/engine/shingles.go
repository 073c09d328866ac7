package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// Folders within the run directory's state, with a file for each split that has
// documents in open pairs.
const (
	WantedFolder   = "wanted"   // their rows
	ShinglesFolder = "shingles" // the shingles and letters of their texts
)

const kindWanted = "neardup wanted 1"

// WriteWanted writes the rows, ascending, of a split whose texts decide.
func WriteWanted(job *Job, task int, rows []int64) error {
	path, _, err := stateFile(job, WantedFolder, task)
	if err != nil {
		return err
	}
	var b []byte
	last := int64(0)
	for _, row := range rows {
		b = binary.AppendUvarint(b, uint64(row-last))
		last = row
	}
	return state.Write(path, kindWanted, b)
}

func readWanted(job *Job, task int) (rows []int64, err error) {
	path := job.Dir.Path(rundir.State, WantedFolder, rundir.PartName(task, ""))
	b, err := state.Read(path, kindWanted)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for row := int64(0); len(b) > 0; {
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%s: %w", path, state.ErrDamaged)
		}
		row += int64(step)
		rows, b = append(rows, row), b[n:]
	}
	return rows, nil
}

// texts reads the documents of a split whose texts decide again and writes
// their shingles and letters: a table of the rows with where each one's shingles
// and letters end, in eight-byte words, then the hashes, then the letters.
func texts(ctx context.Context, job *Job, task, _ int) (rec rundir.TaskRecord, err error) {
	began := time.Now()
	rec = rundir.TaskRecord{Stage: StageTexts, Task: task, Source: job.Splits[task].Path}
	rows, err := readWanted(job, task)
	if err != nil {
		return rec, err
	}
	rec.RowsIn = int64(len(rows))
	if len(rows) > 0 {
		path, name, err := stateFile(job, ShinglesFolder, task)
		if err != nil {
			return rec, err
		}
		w := job.Analyzer.NewWorkspace()
		f := job.Fingerprinter()
		defer job.Release(f)
		var text, letters []byte
		var shingles []uint64
		var runes []rune
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(rows)))
		err = EachRow(ctx, job.Dir.Path(), job.Manifest, task, job.Config.Input, rows, func(i int, doc *data.Document) error {
			text = w.Normalize(text[:0], f.Text(doc))
			shingles = sketch.Shingles(shingles, text)
			runes = sketch.Letters(runes[:0], text)
			for _, c := range runes {
				letters = utf8.AppendRune(letters, c)
			}
			for _, n := range [...]int{int(rows[i]), len(shingles), len(letters)} {
				head = binary.LittleEndian.AppendUint64(head, uint64(n))
			}
			rec.RowsOut++
			return nil
		})
		if err != nil {
			return rec, fmt.Errorf("%s: %w", StageTexts, err)
		}
		head = slices.Grow(head, 8*len(shingles)+len(letters))
		for _, s := range shingles {
			head = binary.LittleEndian.AppendUint64(head, s)
		}
		if err := state.Write(path, kindShingles, append(head, letters...)); err != nil {
			return rec, err
		}
		rec.Outputs = append(rec.Outputs, name)
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, job.Dir.PutRecord(rec)
}

const kindShingles = "neardup shingles 2"

// Shingles reads what the stage of texts wrote of documents, by number. It keeps
// that of some splits in memory, and is safe for concurrent use.
type Shingles struct {
	dir       *rundir.Dir
	documents *Documents
	limit     int64

	mu     sync.Mutex
	held   int64
	splits map[int]*splitShingles
}

type splitShingles struct {
	once sync.Once
	err  error
	n    int
	b    []byte
}

// OpenShingles returns a reader that holds about so many bytes.
func OpenShingles(dir *rundir.Dir, documents *Documents, limit int64) *Shingles {
	return &Shingles{dir: dir, documents: documents, limit: limit, splits: map[int]*splitShingles{}}
}

// Read reads the text of a document. Its letters are valid as long as they are
// referred to, and not to be changed.
func (s *Shingles) Read(doc uint64, text *mapper.Text) error {
	task := s.documents.Part(doc)
	s.mu.Lock()
	part := s.splits[task]
	if part == nil {
		part = new(splitShingles)
		s.splits[task] = part
	}
	s.mu.Unlock()
	part.once.Do(func() { part.err = s.load(task, part) })
	if part.err != nil {
		return part.err
	}
	row := doc - s.documents.First(task)
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(part.b[8*i:]) }
	low := sort.Search(part.n, func(i int) bool { return word(1+3*i) >= row })
	if low == part.n || word(1+3*low) != row {
		return fmt.Errorf("the text of document %d was not read: this is a defect of neardup", doc)
	}
	ends := func(i int) (shingles, letters int) {
		if i < 0 {
			return 0, 0
		}
		return int(word(2 + 3*i)), int(word(3 + 3*i))
	}
	from, fromLetter := ends(low - 1)
	to, toLetter := ends(low)
	text.Shingles = text.Shingles[:0]
	for i := from; i < to; i++ {
		text.Shingles = append(text.Shingles, word(1+3*part.n+i))
	}
	all, _ := ends(part.n - 1)
	text.Letters = part.b[8*(1+3*part.n+all):][fromLetter:toLetter]
	return nil
}

// load reads the file of a split. Beyond the limit the others are let go.
func (s *Shingles) load(task int, part *splitShingles) error {
	path := s.dir.Path(rundir.State, ShinglesFolder, rundir.PartName(task, ""))
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.held += info.Size(); s.held > s.limit {
		s.held = info.Size()
		s.splits = map[int]*splitShingles{task: part}
	}
	s.mu.Unlock()
	if part.b, err = state.Read(path, kindShingles); err != nil {
		return err
	}
	if len(part.b) < 8 || uint64(len(part.b)/24) < binary.LittleEndian.Uint64(part.b) {
		return fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	part.n = int(binary.LittleEndian.Uint64(part.b))
	return nil
}
