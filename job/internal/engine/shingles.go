package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"sync"
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

const kindWanted = "neardup wanted 2"

// WriteWanted writes the rows, ascending, of a split whose texts decide.
func WriteWanted(job *Job, task int, rows []int64) error {
	return state.WriteGob(job.Dir.Path(rundir.StatePart(WantedFolder, task)), kindWanted, rows)
}

// texts reads the documents of a split whose texts decide again and writes
// their shingles and letters: a table of the rows with where each one's shingles
// and letters end, in eight-byte words, then the hashes, then the letters.
func texts(ctx context.Context, job *Job, rec *rundir.TaskRecord, _ int) error {
	rows, err := state.ReadGob[[]int64](job.Dir.Path(rundir.StatePart(WantedFolder, rec.Task)), kindWanted)
	if len(rows) == 0 || err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	}
	rec.RowsIn = int64(len(rows))
	w := job.Analyzer.NewWorkspace()
	f := job.Fingerprinter()
	defer job.Release(f)
	var text, letters []byte
	var shingles []uint64
	var runes []rune
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(rows)))
	err = EachRow(ctx, job.Dir.Path(), job.Manifest, rec.Task, job.Config.Input, rows, func(i int, doc *data.Document) error {
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
		return fmt.Errorf("%s: %w", rec.Stage, err)
	}
	head = slices.Grow(head, 8*len(shingles)+len(letters))
	for _, s := range shingles {
		head = binary.LittleEndian.AppendUint64(head, s)
	}
	rec.Outputs = []string{rundir.StatePart(ShinglesFolder, rec.Task)}
	return state.Write(job.Dir.Path(rec.Outputs[0]), kindShingles, append(head, letters...))
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

// splitShingles is the file of a split.
type splitShingles struct {
	once     sync.Once
	err      error
	table    []uint64 // three words a document: its row, where its shingles end, where its letters do
	shingles []uint64
	letters  []byte
}

// ends are where the shingles and letters of document i end, 0 before the first.
func (p *splitShingles) ends(i int) (shingles, letters uint64) {
	if i < 0 {
		return 0, 0
	}
	return p.table[3*i+1], p.table[3*i+2]
}

// OpenShingles returns a reader that holds about so many bytes.
func OpenShingles(dir *rundir.Dir, documents *Documents, limit int64) *Shingles {
	return &Shingles{dir: dir, documents: documents, limit: limit, splits: map[int]*splitShingles{}}
}

// Read reads the text of a document, which is not to be changed.
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
	n := len(part.table) / 3
	i := sort.Search(n, func(i int) bool { return part.table[3*i] >= row })
	if i == n || part.table[3*i] != row {
		return fmt.Errorf("the text of document %d was not read: this is a defect of neardup", doc)
	}
	from, fromLetter := part.ends(i - 1)
	to, toLetter := part.ends(i)
	text.Shingles, text.Letters = part.shingles[from:to], part.letters[fromLetter:toLetter]
	return nil
}

// load reads the file of a split. Beyond the limit the others are let go.
func (s *Shingles) load(task int, part *splitShingles) error {
	path := s.dir.Path(rundir.StatePart(ShinglesFolder, task))
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
	b, err := state.Read(path, kindShingles)
	if err != nil {
		return err
	}
	words := func(n uint64) []uint64 {
		if uint64(len(b)/8) < n {
			err = fmt.Errorf("%s: %w", path, state.ErrDamaged)
			return nil
		}
		w := make([]uint64, n)
		for i := range w {
			w[i], b = binary.LittleEndian.Uint64(b), b[8:]
		}
		return w
	}
	if head := words(1); err == nil {
		part.table = words(3 * head[0])
	}
	if err != nil {
		return err
	}
	shingles, letters := part.ends(len(part.table)/3 - 1)
	if part.shingles = words(shingles); err == nil && uint64(len(b)) != letters {
		err = fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	part.letters = bytes.Clone(b) // what is before them is not kept
	return err
}
