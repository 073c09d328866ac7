package views

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Scan calls yield with the documents from first to last − 1, in order, with
// the columns c set. The row is used again for the next; its letters and its
// sample are valid until yield returns. An error of yield ends the scan and is
// returned as it is. Files are read in order, a block at a time for each
// column.
func (f *Folder) Scan(first, last uint64, c Columns, yield func(doc uint64, r *Row) error) error {
	if first > last || last > f.Len() {
		return fmt.Errorf("views: there are no documents %d to %d of %d", first, last, f.Len())
	}
	var s scanner
	for col := range columns {
		if width := f.form.width(col); width > 0 && c&(1<<col) != 0 {
			s[col] = cursor{column: col, width: width, buf: new(buffer)}
		}
	}
	r := new(Row)
	if c&Keep != 0 && !f.form.Keep {
		r.Keep = math.NaN()
	}
	for part := f.Part(first); first < last; {
		if first == f.firsts[part+1] {
			part++
			continue
		}
		rows, err := s.fill(f, part, first-f.firsts[part], min(last, f.firsts[part+1])-first)
		if err != nil {
			return err
		}
		if err := s.rows(first, rows, r, yield); err != nil {
			return err
		}
		first += uint64(rows)
	}
	return nil
}

// scanner has a cursor for each column that is asked for; the others are zero.
type scanner [columns]cursor

// cursor reads one column in order.
type cursor struct {
	column column
	width  int // 0: the column is not asked for
	buf    *buffer
	left   int    // rows of the block not yet read
	rows   []byte // these rows; behind those of letters or samples
	tails  []byte // the letters or samples of these rows
}

// fill loads blocks for the next row, and returns how many rows all columns
// have, most at most.
func (s *scanner) fill(f *Folder, part int, row, most uint64) (rows int, err error) {
	for i := range s {
		c := &s[i]
		if c.width == 0 {
			continue
		}
		if c.left == 0 {
			if err := c.fill(f, part, row); err != nil {
				return 0, err
			}
		}
		most = min(most, uint64(c.left))
	}
	return int(most), nil
}

// fill loads the block of the next row.
func (c *cursor) fill(f *Folder, part int, row uint64) error {
	p := &f.parts[part]
	index, at := p.find(c.column, c.width, row)
	content, err := f.load(part, c.column, index, c.buf)
	if err != nil {
		return err
	}
	rows := int(p.blocks[c.column][index].rows)
	c.left, c.rows = rows-at, content[at*c.width:]
	if unit := units[c.column]; unit > 0 {
		c.tails = content[rows+unit*sum(content[:at]):]
	}
	return nil
}

// take returns the next rows and moves on; nil of a column not asked for.
func (c *cursor) take(rows int) (taken []byte) {
	if c.width == 0 {
		return nil
	}
	taken, c.rows = c.rows[:rows*c.width], c.rows[rows*c.width:]
	c.left -= rows
	return taken
}

// tail returns the letters or sample of the next row, of that length, and moves
// on.
func (c *cursor) tail(length byte) (taken []byte) {
	n := int(length) * units[c.column]
	taken, c.tails = c.tails[:n:n], c.tails[n:]
	return taken
}

// rows yields so many rows, which all columns have.
func (s *scanner) rows(first uint64, rows int, r *Row, yield func(doc uint64, r *Row) error) error {
	width := s[fingerprints].width
	fps, hashes, values := s[fingerprints].take(rows), s[ids].take(rows), s[keeps].take(rows)
	bits, lengths, keys := s[sketches].take(rows), s[letters].take(rows), s[samples].take(rows)
	for i := range rows {
		if fps != nil {
			r.lane = setFingerprint(&r.View, fps[:width])
			fps = fps[width:]
		}
		if hashes != nil {
			r.ID = binary.LittleEndian.Uint64(hashes[8*i:])
		}
		if values != nil {
			r.Keep = math.Float64frombits(binary.LittleEndian.Uint64(values[8*i:]))
		}
		if bits != nil {
			setSketch(&r.View, bits[sketchBytes*i:])
		}
		if lengths != nil {
			r.View.Letters = trimPad(s[letters].tail(lengths[i]))
		}
		if keys != nil {
			r.View.Sample = s[samples].tail(keys[i])
		}
		if err := yield(first+uint64(i), r); err != nil {
			return err
		}
	}
	return nil
}
