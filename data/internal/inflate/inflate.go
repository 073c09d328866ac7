// Package inflate decompresses DEFLATE streams (RFC 1951). It is what a run on
// compressed input spends most of its reading on, so it decodes from the reader's
// buffer with up to 63 bits at hand, and looks a code of up to 11 bits up at once.
//
// It reads no byte beyond the stream's end, and what it makes of damaged data depends
// on that data alone.
package inflate

import (
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"io"
)

const (
	history = 32 << 10            // how far back a match may reach
	room    = history + 128<<10   // of the window
	longest = 258                 // bytes of a match
	slack   = 8                   // bytes behind a match that copying it may write over
	full    = room - longest - 16 // a window with more in it may have no room for three literals and a match
)

// Reader decompresses one stream after the other. The zero value has to be Reset. Only
// one goroutine may use it at a time.
type Reader struct {
	src *bufio.Reader
	err error // ends the stream, after what was decoded

	// The bits that were read and not used, in the low bits; fewer than 8 between
	// two symbols.
	bits   uint64
	number uint
	read   int64 // bytes of the stream

	state   state
	final   bool // the block is the last
	stored  int  // bytes left of a stored block
	lit     *literals
	dist    *distances
	window  []byte // the last 32 KiB that were given out, and what follows
	end     int    // of what is decoded
	given   int    // of it
	own     literals
	ownDist distances
}

type state uint8

const (
	header state = iota // of a block comes next
	plain               // inside of a stored block
	coded               // inside of a block of symbols
)

// Reset starts the stream at the reader's place.
func (r *Reader) Reset(src *bufio.Reader) {
	if r.window == nil {
		r.window = make([]byte, room+slack)
	}
	r.src, r.err = src, nil
	r.bits, r.number, r.read = 0, 0, 0
	r.state, r.final = header, false
	r.end, r.given = 0, 0
}

// Read gives out the next bytes. The error is io.EOF once the stream has ended, and the
// reader that Reset was given stands behind it; io.ErrUnexpectedEOF if the stream is cut
// off, and a flate.CorruptInputError if it is damaged, both behind all that was decoded.
func (r *Reader) Read(p []byte) (int, error) {
	for r.given == r.end {
		if r.err != nil {
			return 0, r.err
		}
		if len(p) == 0 {
			return 0, nil
		}
		if r.end >= full {
			copy(r.window, r.window[r.end-history:r.end])
			r.end, r.given = history, history
		}
		r.err = r.decode()
	}
	n := copy(p, r.window[r.given:r.end])
	r.given += n
	return n, nil
}

// decode decodes until the window is full, the reader's buffer is empty, so that what
// there is need not wait for more, or the stream ends.
func (r *Reader) decode() error {
	for r.end < full {
		if r.end > r.given && r.src.Buffered() == 0 {
			return nil
		}
		var err error
		switch r.state {
		case header:
			if r.final {
				return io.EOF
			}
			err = r.block()
		case plain:
			err = r.copyStored()
		case coded:
			err = r.symbols()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) corrupt() error { return flate.CorruptInputError(r.read) }

// need reads until there are n bits.
func (r *Reader) need(n uint) error {
	for r.number < n {
		c, err := r.src.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		r.read++
		r.bits |= uint64(c) << r.number
		r.number += 8
	}
	return nil
}

// take takes n bits, at most 16.
func (r *Reader) take(n uint) (int, error) {
	if err := r.need(n); err != nil {
		return 0, err
	}
	v := r.bits & (1<<n - 1)
	r.bits >>= n
	r.number -= n
	return int(v), nil
}

// block reads the header of a block.
func (r *Reader) block() error {
	head, err := r.take(3)
	if err != nil {
		return err
	}
	r.final = head&1 != 0
	switch head >> 1 {
	case 0:
		return r.startStored()
	case 1:
		r.lit, r.dist, r.state = fixedLiterals, fixedDistances, coded
		return nil
	case 2:
		return r.trees()
	}
	return r.corrupt()
}

func (r *Reader) startStored() error {
	r.bits, r.number = 0, 0 // to the byte's end
	var sizes [4]byte
	for i := range sizes {
		c, err := r.take(8)
		if err != nil {
			return err
		}
		sizes[i] = byte(c)
	}
	size := binary.LittleEndian.Uint16(sizes[:])
	if binary.LittleEndian.Uint16(sizes[2:]) != ^size {
		return r.corrupt()
	}
	r.stored, r.state = int(size), plain
	return nil
}

func (r *Reader) copyStored() error {
	for r.stored > 0 && r.end < full {
		n, err := r.src.Read(r.window[r.end:min(r.end+r.stored, full)])
		r.end += n
		r.stored -= n
		r.read += int64(n)
		if errors.Is(err, io.EOF) && r.stored > 0 {
			return io.ErrUnexpectedEOF
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n > 0 && r.src.Buffered() == 0 {
			break
		}
	}
	if r.stored == 0 {
		r.state = header
	}
	return nil
}

// order is the one in which the lengths of the codes of lengths come.
var order = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// trees reads the codes of a block, RFC 1951 section 3.2.7.
func (r *Reader) trees() error {
	sizes, err := r.take(14)
	if err != nil {
		return err
	}
	lits, dists, codes := sizes&31+257, sizes>>5&31+1, sizes>>10+4
	if lits > maxLiterals || dists > maxDistances {
		return r.corrupt()
	}
	var lengths [maxLiterals + maxDistances]uint8
	for _, at := range order[:codes] {
		n, err := r.take(3)
		if err != nil {
			return err
		}
		lengths[at] = uint8(n)
	}
	var table [1 << lengthBits]uint32
	if !build(table[:], lengths[:len(order)], lengthBits, plainEntries[:]) {
		return r.corrupt()
	}
	clear(lengths[:len(order)])
	for i := 0; i < lits+dists; {
		e, err := r.symbol(table[:], lengthBits)
		if err != nil {
			return err
		}
		value, times := uint8(0), 1
		switch symbol := int(e >> valueShift); symbol {
		case 16:
			if i == 0 {
				return r.corrupt()
			}
			value = lengths[i-1]
			times, err = r.take(2)
			times += 3
		case 17:
			times, err = r.take(3)
			times += 3
		case 18:
			times, err = r.take(7)
			times += 11
		default:
			value = uint8(symbol)
		}
		if err != nil {
			return err
		}
		if i+times > lits+dists {
			return r.corrupt()
		}
		for range times {
			lengths[i] = value
			i++
		}
	}
	if !build(r.own[:], lengths[:lits], literalBits, literalEntries[:]) ||
		!build(r.ownDist[:], lengths[lits:lits+dists], distanceBits, distanceEntries[:]) {
		return r.corrupt()
	}
	r.lit, r.dist, r.state = &r.own, &r.ownDist, coded
	return nil
}

// symbol reads the next code, and no byte more than it takes, and returns its entry. The
// extra bits are still to be taken.
func (r *Reader) symbol(table []uint32, bits uint) (uint32, error) {
	for {
		e, n := table[r.bits&(1<<bits-1)], bits
		if e&link != 0 {
			e = table[e>>valueShift&valueMask+uint32(r.bits>>bits)&(1<<(e&countMask)-1)]
		} else {
			n = 0
		}
		n += uint(e >> codeShift & codeMask)
		if n <= r.number {
			if e&invalid != 0 {
				return 0, r.corrupt()
			}
			r.bits >>= n
			r.number -= n
			return e, nil
		}
		if err := r.need(r.number + 1); err != nil {
			return 0, err
		}
	}
}

// value is what an entry stands for, with the extra bits, which it takes.
func (r *Reader) value(e uint32) (int, error) {
	extra, err := r.take(uint(e&countMask - e>>codeShift&codeMask))
	return int(e>>valueShift&valueMask) + extra, err
}

// symbols decodes symbols until their block ends, the window is full, or the reader's
// buffer is empty.
func (r *Reader) symbols() error {
	for r.end < full {
		if r.src.Buffered() >= margin {
			if err := r.fast(); err != nil || r.state != coded {
				return err
			}
			continue
		}
		if r.end > r.given && r.src.Buffered() == 0 {
			return nil
		}
		e, err := r.symbol(r.lit[:], literalBits)
		if err != nil {
			return err
		}
		if e&literal != 0 {
			r.window[r.end] = byte(e >> valueShift)
			r.end++
			continue
		}
		if e&endOfBlock != 0 {
			r.state = header
			return nil
		}
		length, err := r.value(e)
		if err != nil {
			return err
		}
		if e, err = r.symbol(r.dist[:], distanceBits); err != nil {
			return err
		}
		distance, err := r.value(e)
		if err != nil {
			return err
		}
		if distance > r.end {
			return r.corrupt()
		}
		repeat(r.window, r.end, distance, length)
		r.end += length
	}
	return nil
}

// margin is how many bytes of the reader's buffer fast leaves untouched: so many it may
// load at once.
const margin = 16

// fast is symbols as long as there are so many bytes and so much room that none of them
// has to be asked for.
//
// 56 bits do for two literals and the look-up of what follows them, or for a match: 15
// bits of a length's code, 5 more of it, 15 of a distance's code, and 13 more.
func (r *Reader) fast() error {
	in, _ := r.src.Peek(r.src.Buffered())
	w, lit, dist := r.window, r.lit, r.dist
	b, n, at, end := r.bits, r.number, 0, r.end
	var err error
	for last := len(in) - margin; at <= last && end < full; {
		b |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
		at += int(63-n) >> 3
		n |= 56
		e := lit[b&(1<<literalBits-1)]
		if e&literal != 0 {
			b >>= e & countMask
			n -= uint(e & countMask)
			w[end] = byte(e >> valueShift)
			end++
			e = lit[b&(1<<literalBits-1)]
			if e&literal != 0 {
				b >>= e & countMask
				n -= uint(e & countMask)
				w[end] = byte(e >> valueShift)
				end++
				e = lit[b&(1<<literalBits-1)]
				if e&literal != 0 {
					b >>= e & countMask
					n -= uint(e & countMask)
					w[end] = byte(e >> valueShift)
					end++
					continue
				}
			}
			b |= binary.LittleEndian.Uint64(in[at:]) << (n & 63)
			at += int(63-n) >> 3
			n |= 56
		}
		if e&special != 0 {
			if e&link != 0 {
				b >>= literalBits
				n -= literalBits
				e = lit[e>>valueShift&valueMask+uint32(b)&(1<<(e&countMask)-1)]
			}
			if e&literal != 0 {
				b >>= e & countMask
				n -= uint(e & countMask)
				w[end] = byte(e >> valueShift)
				end++
				continue
			}
			if e&endOfBlock != 0 {
				b >>= e & countMask
				n -= uint(e & countMask)
				r.state = header
				break
			}
			if e&invalid != 0 {
				err = flate.CorruptInputError(0)
				break
			}
		}
		length := int(e>>valueShift&valueMask) + int(b&(1<<(e&countMask)-1)>>(e>>codeShift&codeMask))
		b >>= e & countMask
		n -= uint(e & countMask)
		e = dist[b&(1<<distanceBits-1)]
		if e&special != 0 {
			if e&link != 0 {
				b >>= distanceBits
				n -= distanceBits
				e = dist[e>>valueShift&valueMask+uint32(b)&(1<<(e&countMask)-1)]
			}
			if e&invalid != 0 {
				err = flate.CorruptInputError(0)
				break
			}
		}
		distance := int(e>>valueShift&valueMask) + int(b&(1<<(e&countMask)-1)>>(e>>codeShift&codeMask))
		b >>= e & countMask
		n -= uint(e & countMask)
		if distance > end {
			err = flate.CorruptInputError(0)
			break
		}
		if distance < 8 {
			repeat(w, end, distance, length)
			end += length
			continue
		}
		// Eight bytes at a time: what is written too much is written over.
		from, to := w[end-distance:], w[end:]
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
		}
		end += length
	}
	at -= int(n >> 3) // whole bytes that were not used
	n &= 7
	r.bits, r.number, r.end = b&(1<<n-1), n, end
	r.read += int64(at)
	if _, failed := r.src.Discard(at); failed != nil {
		return failed
	}
	if err != nil {
		return r.corrupt()
	}
	return nil
}

// repeat appends at end the length bytes that begin so far before it. They may overlap.
func repeat(w []byte, end, distance, length int) {
	to := w[end : end+length]
	if distance == 1 {
		for i, c := 0, w[end-1]; i < len(to); i++ {
			to[i] = c
		}
		return
	}
	from := w[end-distance:][:length]
	for i, c := range from {
		to[i] = c
	}
}
