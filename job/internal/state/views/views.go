// Package views stores, for each split of a run, the views of its documents: all that
// the stages between fingerprint and write look at. These are fingerprint and length
// class, sketch and length, the letters of a short text, a sample of the shingles
// of other texts, a hash of the id, and the value that the keep rule compares.
//
// A document's number is its place: the first row of its split plus its row. The
// package never holds a whole file in memory, and never returns data that does not
// match its checksum.
//
// A file is the magic "ndviews5", stripes, and a footer. Numbers are little-endian.
// A stripe has 16 groups of 2,048 rows; the last stripe and the last group may have
// fewer. Within a stripe, the blocks of a column are neighbours, one for each group:
//
//	magic │ stripe 0                                  │ stripe 1 │ … │ footer
//	      │ fingerprint 0 … 15 │ id 0 … 15 │ keep … … │
//
// So a scan of one column reads long pieces with few gaps between them, and to read
// one row costs one block of each column.
//
//	column        bytes a row
//	fingerprint   lower half 8, of 128 bits the upper 8, lane 1: bit 0 normal,
//	              bit 1 has a sketch, bit 2 has letters, bit 3 has a sample
//	id            8: hash of the id
//	keep          8: float64, NaN for none
//	sketch        sketch 64, length 4
//	letters       length 1, in units of 4 bytes, and the letters of all rows,
//	              behind their lengths, with NUL to fill the last unit
//	sample        the same of keys of 4 bytes
//
// The keep column is only in files of a form with Keep, sketch and letters only
// in those of one with Verified, samples only in those of one with Sampled. The
// footer has the rows (8 bytes), the form (1: bit 0 wide, bit 1 verified, bit 2
// keep, bit 3 sampled) and, for each block in order, its bytes (4) and their
// XXH3-64 (8). The file ends with the XXH3-64 of the footer (8), the footer's
// bytes (8) and the magic again.
package views

import (
	"bytes"
	"encoding/binary"

	"github.com/neardup/neardup/data"
)

// Row is what a file keeps of one document.
type Row struct {
	View data.View // in a Form that is not Verified only Hi, Lo and Normal are kept
	ID   uint64    // hash of the document's id
	Keep float64   // what the keep rule compares; NaN: none

	lengthClass byte // bits as in the file; set by a scan of Fingerprint
}

// Matched reports whether the document takes part in matching: its text has normal
// length, or it has a sketch and the form is Verified. Call it only after a scan with
// the column Fingerprint.
func (r *Row) Matched() bool { return r.lengthClass&(normal|sketched) != 0 }

// Form says what the files of a run keep of each document.
type Form struct {
	Wide     bool // fingerprints have 128 bits
	Verified bool // sketch, length and letters are kept
	Keep     bool // keep values are kept, else NaN is read
	Sampled  bool // samples are kept
}

// Columns says which fields of a Row a scan sets; the others stay zero.
type Columns uint

// The columns of a Row.
const (
	Fingerprint Columns = 1 << iota // Hi, Lo, Normal, and what Matched reports
	ID
	Keep
	Sketch // sketch and length
	Letters
	Sample

	Verdict = Sketch | Letters | Sample // what a verdict looks at beside the fingerprint
	All     = Fingerprint | ID | Keep | Verdict
)

// Reading returns the columns that hold the parts c of a view.
func Reading(c data.ViewColumns) Columns {
	return Columns(c) * Sketch
}

var _ = [1]struct{}{}[data.ReadLetters*data.ViewColumns(Sketch)-data.ViewColumns(Letters)|data.ReadSample*data.ViewColumns(Sketch)-data.ViewColumns(Sample)]

// column is a column of the file; the bit 1<<column of Columns asks for it.
type column int

const (
	fingerprints column = iota
	ids
	keeps
	sketches
	letters
	samples
	columns // how many there are
)

// units is, for columns whose rows have different lengths, the unit of these in
// bytes.
var units = [columns]int{letters: 4, samples: 4}

// names are the columns as errors name them.
var names = [columns]string{"fingerprints", "ids", "keep values", "sketches", "letters", "samples"}

// Bits of the lane byte.
const (
	normal byte = 1 << iota
	sketched
	lettered
	sampled
)

const (
	magic        = "ndviews5"
	groupRows    = 1 << 11
	stripeGroups = 16
	readBytes    = 1 << 18             // a scan reads so much of a column at a time, or one block
	entryBytes   = 12                  // of a block in the footer
	sketchBytes  = data.SketchSize + 4 // of a row of sketches
	footerBytes  = 9                   // of a footer without blocks
	trailerBytes = 16 + len(magic)
)

// width returns the number of bytes of a row in a column; for letters and samples
// that of the length alone. It is 0 if files of the form do not have the column.
func (f Form) width(c column) int {
	switch {
	case c == fingerprints && f.Wide:
		return 17
	case c == fingerprints:
		return 9
	case c == ids, c == keeps && f.Keep:
		return 8
	case c == sketches && f.Verified:
		return sketchBytes
	case c == letters && f.Verified, c == samples && f.Sampled:
		return 1
	}
	return 0
}

func (f Form) bits() (b byte) {
	for i, set := range []bool{f.Wide, f.Verified, f.Keep, f.Sampled} {
		if set {
			b |= 1 << i
		}
	}
	return b
}

func formOf(b byte) Form {
	return Form{Wide: b&1 != 0, Verified: b&2 != 0, Keep: b&4 != 0, Sampled: b&8 != 0}
}

// setFingerprint sets v to the row b of a column of fingerprints and returns
// its lane.
func setFingerprint(v *data.View, b []byte) byte {
	v.Lo = binary.LittleEndian.Uint64(b)
	if len(b) > 16 {
		v.Hi = binary.LittleEndian.Uint64(b[8:])
	}
	lane := b[len(b)-1]
	v.Normal = lane&normal != 0
	return lane
}

// setSketch sets v to the row b of a column of sketches.
func setSketch(v *data.View, b []byte) {
	v.Sketch = [data.SketchSize]byte(b)
	v.Length = binary.LittleEndian.Uint32(b[data.SketchSize:])
}

// trimPad returns letters without the NUL bytes that fill their last unit.
func trimPad(padded []byte) []byte {
	text := bytes.TrimRight(padded, "\x00")
	return text[:len(text):len(text)]
}
