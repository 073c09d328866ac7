// Package texts holds what verdicts read of texts that have to be read again: those of
// documents in undecided pairs, and of a sample of removals. A stage writes which rows
// of a split it wants. The task of a later one, which reads the split, writes their
// shingles and letters, in order of row; verdicts find them by document number.
package texts

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
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

// WriteRows writes which rows of a split are to be read again, in ascending order, as
// its file in WantedFolder or SampledFolder.
func WriteRows(path string, rows []int64) error { return state.WriteGob(path, kindWanted, rows) }

// ReadRows reads what WriteRows wrote; nothing if it was not called for the split.
func ReadRows(path string) ([]int64, error) {
	rows, err := state.ReadGob[[]int64](path, kindWanted)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return rows, err
}

// Writer writes the shingles and letters of documents of a split. The file appears
// with Commit, and Abort removes what was not committed.
type Writer struct {
	*state.File
	piece []byte
}

// Create starts the file at path.
func Create(path string) (*Writer, error) {
	out, err := state.Create(path, kind)
	return &Writer{File: out}, err
}

// Add appends the text of the document at row. Rows must ascend.
func (w *Writer) Add(row int64, t *mapper.Text) error {
	return w.WritePieces(textBytes(t), w.pieces(row, t))
}

const (
	kind      = "neardup shingles 5"
	textWords = 5 // of a document before its shingles
)

// pieces returns the record of a document, piece by piece; a piece is valid until the
// next. Numbers are little-endian, of 8 bytes each:
//
//	row, length of the text, share left out (bits of a float64),
//	number of shingles, number of letters,
//	hash of each shingle,
//	letters in UTF-8
func (w *Writer) pieces(row int64, t *mapper.Text) iter.Seq[[]byte] {
	const size = 64 << 10
	return func(yield func([]byte) bool) {
		b := w.piece[:0]
		goOn := func() bool {
			if len(b) < size {
				return true
			}
			defer func() { b = b[:0] }()
			return yield(b)
		}
		for _, n := range [textWords]uint64{uint64(row), uint64(t.Length), math.Float64bits(t.Left), uint64(len(t.Shingles)), uint64(len(t.Letters))} {
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
		w.piece = b
	}
}

// textBytes is the size of the record of a document.
func textBytes(t *mapper.Text) (n int) {
	for _, c := range t.Letters {
		n += utf8.RuneLen(c)
	}
	return n + 8*(textWords+len(t.Shingles))
}

// readText decodes a record of size bytes, of which it holds a piece at a time; what
// is none is state.ErrDamaged.
func readText(in io.Reader, size int64) (t mapper.Text, err error) {
	const most = 8 << 10
	b := bufio.NewReaderSize(in, int(min(size, most)))
	var head [textWords]uint64
	if readNumbers(b, head[:]) != nil {
		return t, state.ErrDamaged
	}
	size -= 8 * textWords
	shingles, letters := head[3], head[4]
	if shingles > uint64(size)/8 || letters > uint64(size)-8*shingles {
		return t, state.ErrDamaged
	}
	t.Length, t.Left = int(head[1]), math.Float64frombits(head[2]) // head[0] is the row
	t.Shingles, t.Letters = make([]uint64, shingles), make([]rune, letters)
	if readNumbers(b, t.Shingles) != nil {
		return t, state.ErrDamaged
	}
	for i := range t.Letters {
		if t.Letters[i], _, err = b.ReadRune(); err != nil {
			return t, state.ErrDamaged
		}
	}
	return t, nil
}

// readNumbers fills to with the numbers in which in stands.
func readNumbers(in *bufio.Reader, to []uint64) error {
	for len(to) > 0 {
		piece, err := in.Peek(8 * min(len(to), in.Size()/8))
		if err != nil {
			return err
		}
		for i := range len(piece) / 8 {
			to[i] = binary.LittleEndian.Uint64(piece[8*i:])
		}
		to = to[len(piece)/8:]
		_, _ = in.Discard(len(piece)) // it was there
	}
	return nil
}

// Reader reads the shingles and letters of documents, by document number. It keeps
// recently read ones in memory. Safe for concurrent use.
type Reader struct {
	path      func(task int) string
	documents *views.Folder
	limit     int64

	mu     sync.Mutex
	splits map[int]*splitTexts

	// A cache of two generations. Texts that are read become recent. When the recent
	// ones take half of limit, they become the old ones, and the previous old ones are
	// dropped.
	recent, old map[uint64]mapper.Text
	held        int64 // bytes of the recent ones
}

// splitTexts is the file of a split.
type splitTexts struct {
	once   sync.Once
	err    error
	rows   []uint64 // ascending
	blocks *state.Blocks
}

// textsLimit is the most memory, in bytes, that cached texts take.
const textsLimit = 64 << 20

// Open returns a reader of the files of splits, in ShinglesFolder or RereadFolder; path
// names that of a split. The numbers of documents are those of documents. Its cache
// takes about min(limit, textsLimit) bytes.
func Open(path func(task int) string, documents *views.Folder, limit int64) *Reader {
	return &Reader{
		path: path, documents: documents, limit: min(limit, textsLimit),
		splits: map[int]*splitTexts{}, recent: map[uint64]mapper.Text{},
	}
}

// Read sets text to that of a document. The caller must not change what text refers
// to.
func (s *Reader) Read(doc uint64, text *mapper.Text) error {
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
	err = part.blocks.Read(i, func(in io.Reader, size int64) (err error) {
		*text, err = readText(in, size)
		return err
	})
	if err != nil {
		return fmt.Errorf("the text of document %d: %w", doc, err)
	}
	s.remember(doc, text)
	return nil
}

func (s *Reader) remembered(doc uint64, text *mapper.Text) (ok bool) {
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

func (s *Reader) remember(doc uint64, text *mapper.Text) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.recent[doc]; !ok {
		s.keep(doc, text)
	}
}

// keep makes a text a recent one, unless it alone takes more than its share. mu must
// be held.
func (s *Reader) keep(doc uint64, text *mapper.Text) {
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
func (s *Reader) part(task int) (*splitTexts, error) {
	s.mu.Lock()
	part := s.splits[task]
	if part == nil {
		part = new(splitTexts)
		s.splits[task] = part
	}
	s.mu.Unlock()
	part.once.Do(func() {
		path := s.path(task)
		part.blocks, part.err = state.FindBlocks(context.Background(), path, kind, 8*textWords, func(head []byte) error {
			if len(head) < 8*textWords {
				return fmt.Errorf("%s: %w", path, state.ErrDamaged)
			}
			part.rows = append(part.rows, binary.LittleEndian.Uint64(head))
			return nil
		})
	})
	return part, part.err
}
