package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/simhash/sketch"
)

// Folders within the run directory's state, with a file for each split that has
// documents in open pairs.
const (
	WantedFolder   = "wanted"   // their rows
	ShinglesFolder = "shingles" // the shingles of their texts
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
// their shingles: a table of the rows with where each one's end, in eight-byte
// words, then the hashes.
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
		var text []byte
		var shingles []uint64
		head := binary.LittleEndian.AppendUint64(nil, uint64(len(rows)))
		err = EachRow(ctx, job.Dir.Path(), job.Manifest, task, job.Config.Input, rows, func(i int, doc *data.Document) error {
			text = w.Normalize(text[:0], f.Text(doc))
			shingles = sketch.Shingles(shingles, text)
			head = binary.LittleEndian.AppendUint64(head, uint64(rows[i]))
			head = binary.LittleEndian.AppendUint64(head, uint64(len(shingles)))
			rec.RowsOut++
			return nil
		})
		if err != nil {
			return rec, fmt.Errorf("%s: %w", StageTexts, err)
		}
		for _, s := range shingles {
			head = binary.LittleEndian.AppendUint64(head, s)
		}
		if err := state.Write(path, kindShingles, head); err != nil {
			return rec, err
		}
		rec.Outputs = append(rec.Outputs, name)
	}
	rec.Seconds = time.Since(began).Seconds()
	return rec, job.Dir.PutRecord(rec)
}

const kindShingles = "neardup shingles 1"

// Shingles reads the shingles of documents, by number, that the stage of texts
// wrote. It keeps those of some splits in memory, and is safe for concurrent
// use.
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

// Append appends the shingles of a document.
func (s *Shingles) Append(dst []uint64, doc uint64) ([]uint64, error) {
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
		return dst, part.err
	}
	row := doc - s.documents.First(task)
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(part.b[8*i:]) }
	low := sort.Search(part.n, func(i int) bool { return word(1+2*i) >= row })
	if low == part.n || word(1+2*low) != row {
		return dst, fmt.Errorf("the text of document %d was not read: this is a defect of neardup", doc)
	}
	from, to := uint64(0), word(2+2*low)
	if low > 0 {
		from = word(2 * low)
	}
	for i := from; i < to; i++ {
		dst = append(dst, word(1+2*part.n+int(i)))
	}
	return dst, nil
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
	if len(part.b) < 8 || uint64(len(part.b)/16) < binary.LittleEndian.Uint64(part.b) {
		return fmt.Errorf("%s: %w", path, state.ErrDamaged)
	}
	part.n = int(binary.LittleEndian.Uint64(part.b))
	return nil
}
