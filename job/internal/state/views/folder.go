package views

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"

	"github.com/zeebo/xxh3"
)

// Folder reads the views of a run. It is safe for concurrent use.
type Folder struct {
	form   Form
	parts  []part
	firsts []uint64 // number of each part's first document, and Len at the end
}

// part is a file as its footer describes it.
type part struct {
	path   string
	form   Form
	rows   uint64
	blocks [columns][]block // by group
}

// block is the place, size and checksum of a block.
type block struct {
	offset int64
	sum    uint64
	size   uint32
}

// Open opens the files at paths, and numbers documents through them in that order. It
// reads only the footers. All files must have the same form.
func Open(paths []string) (*Folder, error) {
	f := &Folder{parts: make([]part, len(paths)), firsts: make([]uint64, len(paths)+1)}
	for i, path := range paths {
		p := &f.parts[i]
		p.path = path
		if err := p.open(); err != nil {
			return nil, err
		}
		if i == 0 {
			f.form = p.form
		}
		if p.form != f.form {
			return nil, fmt.Errorf("views: %s (%+v) and %s (%+v) keep different things of a document: they are not of one run", f.parts[0].path, f.form, path, p.form)
		}
		f.firsts[i+1] = f.firsts[i] + p.rows
	}
	return f, nil
}

// open reads the footer.
func (p *part) open() (err error) {
	file, err := os.Open(p.path)
	if err != nil {
		return fmt.Errorf("views: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("views: %w", err)
	}
	footerEnd := info.Size() - int64(trailerBytes)
	room := footerEnd - int64(len(magic)) // for groups and footer
	if room < footerBytes {
		return p.damaged(info.Size(), "the file ends too early")
	}
	head, trailer := make([]byte, len(magic)), make([]byte, trailerBytes)
	if err := p.read(file, head, 0); err != nil {
		return err
	}
	if string(head) != magic {
		return p.damaged(0, "no file of views, or of another version")
	}
	if err := p.read(file, trailer, footerEnd); err != nil {
		return err
	}
	if string(trailer[16:]) != magic {
		return p.damaged(footerEnd, "the end is damaged or missing")
	}
	length := binary.LittleEndian.Uint64(trailer[8:])
	if length < footerBytes || length > uint64(room) {
		return p.damaged(footerEnd, "the length of the footer is damaged")
	}
	footer, start := make([]byte, length), footerEnd-int64(length)
	if err := p.read(file, footer, start); err != nil {
		return err
	}
	if xxh3.Hash(footer) != binary.LittleEndian.Uint64(trailer) || !p.parse(footer, start) {
		return p.damaged(start, "the footer is damaged")
	}
	return nil
}

// parse decodes the footer, which starts at offset end of the file. It reports whether
// the blocks fit the form and the number of rows, and fill the file up to the footer.
// It allocates no more than in proportion to the footer, however damaged that is.
func (p *part) parse(footer []byte, end int64) bool {
	p.rows, p.form = binary.LittleEndian.Uint64(footer), formOf(footer[8])
	if p.form.bits() != footer[8] {
		return false
	}
	entries, offset := footer[footerBytes:], int64(len(magic))
	groups := int((p.rows + groupRows - 1) / groupRows)
	for first := 0; first < groups; first += stripeGroups {
		for c := range columns {
			width := p.form.width(c)
			if width == 0 {
				continue
			}
			for group := first; group < min(first+stripeGroups, groups); group++ {
				if len(entries) < entryBytes {
					return false
				}
				b := block{offset: offset, sum: binary.LittleEndian.Uint64(entries[4:]), size: binary.LittleEndian.Uint32(entries)}
				entries = entries[entryBytes:]
				rows := p.groupLen(group)
				least := rows * width
				if int(b.size) < least || int(b.size) > least+rows*math.MaxUint8*units[c] {
					return false
				}
				p.blocks[c] = append(p.blocks[c], b)
				offset += int64(b.size)
			}
		}
	}
	return len(entries) == 0 && offset == end
}

// groupLen returns the number of rows of a group.
func (p *part) groupLen(group int) int {
	return int(min(groupRows, p.rows-uint64(group)*groupRows))
}

func (p *part) damaged(offset int64, what string) error {
	return fmt.Errorf("views: %s at offset %d: %s: delete the file, and the same command makes it again", p.path, offset, what)
}

// read fills b from offset of the file.
func (p *part) read(file *os.File, b []byte, offset int64) error {
	switch _, err := file.ReadAt(b, offset); {
	case errors.Is(err, io.EOF):
		return p.damaged(offset, "the file ends too early")
	case err != nil:
		return fmt.Errorf("views: %s at offset %d: %w", p.path, offset, err)
	}
	return nil
}

// Len returns the number of documents.
func (f *Folder) Len() uint64 { return f.firsts[len(f.parts)] }

// Parts returns the number of files.
func (f *Folder) Parts() int { return len(f.parts) }

// First returns the number of the first document of a part. First(Parts()) is Len().
func (f *Folder) First(part int) uint64 { return f.firsts[part] }

// Part returns the part of a document, or Parts() for a number beyond the last.
func (f *Folder) Part(doc uint64) int {
	return sort.Search(len(f.firsts), func(i int) bool { return f.firsts[i] > doc }) - 1
}

// Form returns the form of the files.
func (f *Folder) Form() Form { return f.form }
