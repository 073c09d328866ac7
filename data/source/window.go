package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/warc"
)

// windowBytes is about the smallest piece that Windows takes.
const windowBytes = 256 << 10

// Windows returns pieces of a split for a sample of its documents, together about so
// many bytes of its file. The pieces are spread evenly if records can be found in the
// middle of the file: in plain JSONL, WARC and WET, and in these with one gzip member
// for each record. Otherwise there is one piece, the beginning. Of a split of several
// files each piece is some of these, whole. The last record of a piece may be cut off. A
// split of Parquet or Arrow is returned whole: its reader stops when enough is consumed
// (see Bounded).
//
// shift, 0 to 1, selects other documents: it moves the pieces by that share of the
// distance between two of them.
//
// Pieces of an object are read at once, from where options o then open them. Close held
// when they were read.
func Windows(split data.Split, size int64, shift float64, o *data.ReaderOptions) (windows []data.Split, held io.Closer, err error) {
	if Bounded(split) {
		return []data.Split{split}, none, nil
	}
	end := split.End
	if end < 0 {
		end = split.Size
	}
	if split.Start+size >= end {
		return []data.Split{split}, none, nil
	}
	if len(split.Files) > 0 {
		return runsOfFiles(split, size, shift), none, nil
	}
	held, err = object.OpenOnce(split, o)
	if err != nil {
		return nil, nil, err
	}
	f, err := object.OpenInput(split, *o)
	if err != nil {
		return nil, nil, errors.Join(err, held.Close())
	}
	starts, err := starts(f, split, end, size, shift)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", split.Path, err), f.Close(), held.Close())
	}
	for i, start := range starts {
		next := end
		if i+1 < len(starts) {
			next = starts[i+1]
		}
		w := split
		w.Start, w.End = start, min(start+size/int64(len(starts)), next)
		windows = append(windows, w)
	}
	return windows, held, f.Close()
}

// none is what is not to be closed.
var none = io.NopCloser(nil)

// largestHeld is how much of an object is held for its pieces, at most.
const largestHeld = 32 << 20

// runsOfFiles returns pieces of a split of several files: each is some that follow each
// other, whole.
func runsOfFiles(split data.Split, size int64, shift float64) (windows []data.Split) {
	n := max(1, size/windowBytes)
	step := split.Size / n
	from, at := int64(shift*float64(step-size/n)), int64(0) // at: where the file begins among all
	var w data.Split
	for _, f := range split.Files {
		if at >= from {
			if len(w.Files) == 0 {
				w = data.Split{Path: f.Path, Format: split.Format, End: -1}
			}
			w.Files, w.Size = append(w.Files, f), w.Size+f.Size
			if w.Size >= size/n {
				windows, from, w = append(windows, w), from+step, data.Split{}
			}
		}
		at += f.Size
	}
	if len(w.Files) > 0 {
		windows = append(windows, w)
	}
	return windows
}

// starts returns the offsets, ascending, at which the pieces of a split start, if they
// are size bytes together. Each is the start of a record.
func starts(f data.InputFile, split data.Split, end, size int64, shift float64) (at []int64, err error) {
	at = []int64{split.Start}
	compression, err := stream.Sniff(split, f)
	if err != nil {
		return nil, err
	}
	find := findLine
	switch {
	case split.Format == FormatWARC || split.Format == FormatWET:
		find = findRecord
		if compression == stream.Gzip {
			find = findMember
		}
	case split.Format != FormatJSONL || compression != stream.Plain:
		return at, nil
	default: // an encoding whose line ends are not those of ASCII is read from the start
		e, err := encodingOf(f, min(end, encodingSample), ExpandOptions{Encoding: split.Encoding, SplitBytes: encodingSample})
		if err != nil || e != charset.UTF8 {
			return at, err
		}
	}
	if compression == stream.Zstd {
		return at, nil
	}
	buf := make([]byte, windowBytes)
	n := max(1, size/windowBytes)
	step := (end - split.Start) / n
	shifted := int64(shift * float64(step-size/n))
	var held [][2]int64
	for i := range n {
		from := split.Start + step*i + shifted
		held = append(held, [2]int64{from, min(from+windowBytes+size/n, end)})
	}
	if n*windowBytes+size <= largestHeld {
		if err := object.Hold(f, held...); err != nil {
			return nil, err
		}
	}
	for i := range n {
		from := held[i][0]
		if from == split.Start {
			continue
		}
		read, err := f.ReadAt(buf[:min(int64(len(buf)), end-from)], from)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if start := find(buf[:read]); start >= 0 && from+int64(start) > at[len(at)-1] {
			at = append(at, from+int64(start))
		}
	}
	if shifted > 0 && len(at) > 1 {
		at = at[1:]
	}
	return at, nil
}

// findLine returns the start of the second line, -1 if it is not there.
func findLine(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i+1 < len(b) {
		return i + 1
	}
	return -1
}

// findRecord returns the start of a WARC record behind another one.
func findRecord(b []byte) int {
	end := []byte("\r\n\r\n")
	for at := 0; ; {
		i := bytes.Index(b[at:], end)
		if i < 0 {
			return -1
		}
		if at += i + len(end); warc.IsVersion(b[at:]) {
			return at
		}
	}
}

// findMember returns the start of a gzip member that is a WARC record.
func findMember(b []byte) int {
	magic := []byte{0x1f, 0x8b, 8}
	head := make([]byte, len("WARC/1"))
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], magic)
		if i < 0 {
			return -1
		}
		at += i
		z, err := gzip.NewReader(bytes.NewReader(b[at:]))
		if err != nil {
			continue
		}
		if _, err := io.ReadFull(z, head); err == nil && warc.IsVersion(head) {
			return at
		}
	}
}
