package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash"
)

// Folders in the state of the run directory. They have files only for splits with
// documents in undecided pairs, or in the sample of removals.
const (
	WantedFolder   = "wanted"   // rows of documents in undecided pairs
	ShinglesFolder = "shingles" // shingles and letters of the texts of these
	SampledFolder  = "sampled"  // rows of sampled removals, and of the documents that stay for them
	RereadFolder   = "reread"   // shingles and letters of the texts of these
)

const kindWanted = "neardup wanted 2"

// WriteRows writes which rows of a split are to be read again, in ascending order, into
// WantedFolder or SampledFolder.
func WriteRows(job *Job, folder string, task int, rows []int64) error {
	return state.WriteGob(job.Dir.Path(rundir.StatePart(folder, task)), kindWanted, rows)
}

// readRows reads what WriteRows wrote; nothing if it was not called for the split.
func readRows(job *Job, folder string, task int) ([]int64, error) {
	rows, err := state.ReadGob[[]int64](job.Dir.Path(rundir.StatePart(folder, task)), kindWanted)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return rows, err
}

// readTexts is the task of the stage texts. It reads the documents of a split again
// whose texts have to decide, and writes their shingles and letters in order of row.
func readTexts(ctx context.Context, job *Job, rec *rundir.TaskRecord, _ int) error {
	rows, err := readRows(job, WantedFolder, rec.Task)
	if len(rows) == 0 || err != nil {
		return err
	}
	rec.RowsIn = int64(len(rows))
	rec.Outputs = []string{rundir.StatePart(ShinglesFolder, rec.Task)}
	if err := writeTexts(ctx, job, rec, rows); err != nil {
		return fmt.Errorf("%s: %w", rec.Stage, err)
	}
	return nil
}

// writeTexts writes the shingles and letters of the given rows of a split.
func writeTexts(ctx context.Context, job *Job, rec *rundir.TaskRecord, rows []int64) (err error) {
	out, err := createTexts(job, rec.Outputs[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	err = input.EachRow(ctx, job.Dir.Path(), job.Manifest, rec.Task, job.readerOptions(), rows, func(i int, doc *data.Document) error {
		rec.RowsOut++
		return out.add(rows[i], doc)
	})
	if err != nil {
		return err
	}
	return out.Commit()
}

// textsFile writes a file of shingles and letters.
type textsFile struct {
	*state.File
	job           *Job
	workspace     *simhash.Workspace
	fingerprinter *mapper.Fingerprinter
	normal, piece []byte
	text          mapper.Text
}

// createTexts starts the file of that name within the run directory.
func createTexts(job *Job, name string) (*textsFile, error) {
	out, err := state.Create(job.Dir.Path(name), kindShingles)
	if err != nil {
		return nil, err
	}
	return &textsFile{File: out, job: job, workspace: job.Analyzer.NewWorkspace(), fingerprinter: job.Fingerprinter()}, nil
}

// add appends the record of the document at row.
func (f *textsFile) add(row int64, doc *data.Document) (err error) {
	f.fingerprinter = f.job.withMemory(len(doc.Text), f.fingerprinter, func() {
		own := f.fingerprinter.Text(doc)
		f.normal = f.workspace.Normalize(f.normal[:0], own)
		f.text.Set(f.normal)
		if whole := len(doc.Compared()); whole > 0 {
			f.text.Left = max(0, 1-float64(len(own))/float64(whole))
		}
		err = f.WritePieces(textBytes(&f.text), f.pieces(row, &f.text))
		if data.MemoryOf(len(doc.Text)) > 0 {
			f.normal, f.text, f.workspace = nil, mapper.Text{}, f.job.Analyzer.NewWorkspace() // they have grown with it
		}
	})
	return err
}

// close releases what the file uses, and removes it unless it was committed.
func (f *textsFile) close() error {
	f.job.Release(f.fingerprinter)
	return f.Abort()
}

const (
	kindShingles = "neardup shingles 4"
	textWords    = 5 // of a document before its shingles
)

// pieces returns the record of a document, piece by piece; a piece is valid until the
// next. Numbers are little-endian, of 8 bytes each:
//
//	row, length of the text, share left out (bits of a float64),
//	number of shingles, bytes of letters,
//	hash of each shingle,
//	letters in UTF-8
func (f *textsFile) pieces(row int64, t *mapper.Text) iter.Seq[[]byte] {
	const size = 64 << 10
	return func(yield func([]byte) bool) {
		b := f.piece[:0]
		goOn := func() bool {
			if len(b) < size {
				return true
			}
			defer func() { b = b[:0] }()
			return yield(b)
		}
		for _, n := range [textWords]uint64{uint64(row), uint64(t.Length), math.Float64bits(t.Left), uint64(len(t.Shingles)), uint64(letterBytes(t))} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		for _, s := range t.Shingles {
			if b = binary.LittleEndian.AppendUint64(b, s); !goOn() {
				return
			}
		}
		for _, c := range t.Letters {
			if b = utf8.AppendRune(b, c); !goOn() {
				return
			}
		}
		yield(b)
		f.piece = b
	}
}

// textBytes is the size of the record of a document.
func textBytes(t *mapper.Text) int { return 8*(textWords+len(t.Shingles)) + letterBytes(t) }

func letterBytes(t *mapper.Text) (n int) {
	for _, c := range t.Letters {
		n += utf8.RuneLen(c)
	}
	return n
}

// recordRow returns the row of a record; ok is false if b is too short.
func recordRow(b []byte) (row uint64, ok bool) {
	if len(b) < 8*textWords {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// unpackText decodes a record; ok is false if b is none.
func unpackText(b []byte) (t mapper.Text, ok bool) {
	var words [textWords]uint64
	if len(b) < 8*len(words) {
		return t, false
	}
	for i := range words {
		words[i], b = binary.LittleEndian.Uint64(b), b[8:]
	}
	shingles, letters := words[3], words[4]
	if shingles > uint64(len(b))/8 || letters != uint64(len(b))-8*shingles {
		return t, false
	}
	t.Length, t.Left, t.Shingles = int(words[1]), math.Float64frombits(words[2]), make([]uint64, shingles)
	for i := range t.Shingles {
		t.Shingles[i], b = binary.LittleEndian.Uint64(b), b[8:]
	}
	t.Letters = make([]rune, 0, utf8.RuneCount(b))
	for _, c := range string(b) {
		t.Letters = append(t.Letters, c)
	}
	return t, true
}

// Shingles reads the shingles and letters of documents, by document number. It keeps
// recently read ones in memory. Safe for concurrent use.
type Shingles struct {
	dir       *rundir.Dir
	folder    string
	documents *Documents
	limit     int64

	mu     sync.Mutex
	splits map[int]*splitShingles

	// A cache of two generations. Texts that are read become recent. When the recent
	// ones take half of limit, they become the old ones, and the previous old ones are
	// dropped.
	recent, old map[uint64]mapper.Text
	held        int64 // bytes of the recent ones
}

// splitShingles is the file of a split.
type splitShingles struct {
	once   sync.Once
	err    error
	rows   []uint64 // ascending
	blocks *state.Blocks
}

// textsLimit is the most memory, in bytes, that cached texts take.
const textsLimit = 64 << 20

// OpenShingles returns a reader of ShinglesFolder or RereadFolder. Its cache takes
// about min(limit, textsLimit) bytes.
func OpenShingles(dir *rundir.Dir, folder string, documents *Documents, limit int64) *Shingles {
	return &Shingles{
		dir: dir, folder: folder, documents: documents, limit: min(limit, textsLimit),
		splits: map[int]*splitShingles{}, recent: map[uint64]mapper.Text{},
	}
}

// Read sets text to that of a document. The caller must not change what text refers
// to.
func (s *Shingles) Read(doc uint64, text *mapper.Text) error {
	if s.remembered(doc, text) {
		return nil
	}
	part, err := s.part(s.documents.Part(doc))
	if err != nil {
		return err
	}
	i, ok := slices.BinarySearch(part.rows, doc-s.documents.First(s.documents.Part(doc)))
	if !ok {
		return fmt.Errorf("the text of document %d was not read: this is a defect of neardup", doc)
	}
	b, err := part.blocks.Read(i)
	if err != nil {
		return err
	}
	if *text, ok = unpackText(b); !ok {
		return fmt.Errorf("the text of document %d: %w", doc, state.ErrDamaged)
	}
	s.remember(doc, text)
	return nil
}

func (s *Shingles) remembered(doc uint64, text *mapper.Text) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *text, ok = s.recent[doc]; ok {
		return true
	}
	if *text, ok = s.old[doc]; ok {
		s.keep(doc, text)
	}
	return ok
}

func (s *Shingles) remember(doc uint64, text *mapper.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.recent[doc]; !ok {
		s.keep(doc, text)
	}
}

// keep makes a text a recent one, unless it alone takes more than its share. mu must
// be held.
func (s *Shingles) keep(doc uint64, text *mapper.Text) {
	size := int64(8*cap(text.Shingles) + 4*cap(text.Letters))
	if size > s.limit/2 {
		return
	}
	if s.held += size; s.held > s.limit/2 {
		s.old, s.recent, s.held = s.recent, map[uint64]mapper.Text{}, size
	}
	s.recent[doc] = *text
}

// part returns the file of a split, which it indexes and checks at the first call.
func (s *Shingles) part(task int) (*splitShingles, error) {
	s.mu.Lock()
	part := s.splits[task]
	if part == nil {
		part = new(splitShingles)
		s.splits[task] = part
	}
	s.mu.Unlock()
	part.once.Do(func() {
		path := s.dir.Path(rundir.StatePart(s.folder, task))
		part.blocks, part.err = state.FindBlocks(context.Background(), path, kindShingles, func(block []byte) error {
			row, ok := recordRow(block)
			if !ok {
				return fmt.Errorf("%s: %w", path, state.ErrDamaged)
			}
			part.rows = append(part.rows, row)
			return nil
		})
	})
	return part, part.err
}
