package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// Size is the number of bytes of a Sketch.
const Size = signBits/8 + Bands*bandBytes

// Bands is the number of bands of a sketch, and BandBits the width of one.
const (
	Bands    = 8
	BandBits = 8 * bandBytes
)

const (
	signBits  = 320 // bins of the one permutation, and a bit of each
	bandBytes = 3
	bandBins  = signBits / Bands // bins that a band is made of
	bandRows  = 3                // minima that a band is made of
)

// Sketch is what remains of a document's set of shingles. The first 40 bytes
// are a bit of each of 320 minima, the other 24 are 8 bands of 24 bits, each
// a hash of 3 minima. The zero Sketch is that of a text without shingles; it
// resembles nothing, itself included.
type Sketch [Size]byte

// Maker makes sketches, one at a time. The zero value is ready to use; it
// allocates nothing. One goroutine uses it at a time.
type Maker struct {
	minima [signBits]uint32
	own    [signBits]uint16 // bins that got a shingle
}

// empty is the minimum of a bin without a shingle.
const empty = math.MaxUint32

// Sketch sets dst to the sketch of text, which is in normal form
// (simhash.Workspace.Normalize), and returns the number of its shingles,
// repeated ones counted again. The same text gives the same sketch on any
// machine.
func (m *Maker) Sketch(dst *Sketch, text []byte) int {
	for i := range m.minima {
		m.minima[i] = empty
	}
	n := m.read(text)
	*dst = Sketch{}
	if n == 0 {
		return 0
	}
	m.bands(dst)
	m.fill()
	for i := range signBits / 64 {
		word := uint64(0)
		for j, v := range m.minima[64*i : 64*i+64] {
			word |= uint64(v&1) << j
		}
		binary.LittleEndian.PutUint64(dst[8*i:], word)
	}
	if *dst == (Sketch{}) {
		dst[0] = 1 // the zero Sketch says something else
	}
	return n
}

// read puts each shingle into the bin that the upper half of its hash says;
// a bin keeps the smallest lower half.
func (m *Maker) read(text []byte) int {
	known := letters()
	var h, c0, c1, c2, c3, c4 uint64
	have := 0
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			if i+3 <= len(text) && c&0xf0 == 0xe0 {
				c, size = c&0x0f<<12|rune(text[i+1]&0x3f)<<6|rune(text[i+2]&0x3f), 3
			} else {
				c, size = utf8.DecodeRune(text[i:])
			}
		}
		i += size
		if uint32(c) >= uint32(len(known)*64) || known[uint32(c)/64]>>(uint32(c)%64)&1 == 0 {
			continue
		}
		h = h*shingleBase + uint64(c) + 1 - c0*shingleLeave
		c0, c1, c2, c3, c4 = c1, c2, c3, c4, uint64(c)+1
		if have++; have >= ShingleSize {
			x := fold(h)
			bin := x >> 32 * signBits >> 32
			m.minima[bin] = min(m.minima[bin], uint32(x))
		}
	}
	if have == 0 {
		return 0
	}
	if have < ShingleSize {
		x := fold(h)
		m.minima[x>>32*signBits>>32] = uint32(x)
	}
	return max(1, have-ShingleSize+1)
}

// bands fills in the bands: band b is a hash of the minima of the three thirds
// of bins 40b to 40b+39, a third without a shingle borrowing from another.
func (m *Maker) bands(dst *Sketch) {
	var rows [Bands * bandRows]uint32
	for i := range rows {
		band, row := i/bandRows, i%bandRows
		from, to := band*bandBins+row*bandBins/bandRows, band*bandBins+(row+1)*bandBins/bandRows
		rows[i] = empty
		for _, v := range m.minima[from:to] {
			rows[i] = min(rows[i], v)
		}
	}
	own := rows
	for b := range Bands {
		key := uint64(0)
		for i := b * bandRows; i < (b+1)*bandRows; i++ {
			v := own[i]
			for try := uint64(0); v == empty; try++ {
				v = own[pick(uint64(i)|1<<32, try, len(own))]
			}
			key = fold(key + uint64(v) + 1)
		}
		at := dst[signBits/8+b*bandBytes:]
		at[0], at[1], at[2] = byte(key>>56), byte(key>>48), byte(key>>40)
	}
}

// fill gives every bin without a shingle the minimum, hashed with the bin, of
// one that has some: optimal densification, which keeps the estimate unbiased
// for short texts.
func (m *Maker) fill() {
	n := 0
	for _, v := range m.minima {
		if v != empty {
			n++
		}
	}
	if n == signBits {
		return
	}
	for i, v := range m.minima {
		m.own[i] = 0
		if v != empty {
			m.own[i] = 1
		}
	}
	for i := range m.minima {
		if m.own[i] != 0 {
			continue
		}
		for try := uint64(0); ; try++ {
			if j := pick(uint64(i), try, signBits); m.own[j] != 0 {
				m.minima[i] = uint32(fold(uint64(m.minima[j])+1+uint64(i)<<32) >> 32)
				break
			}
		}
	}
}

// pick is the bin, of n, that bin i borrows from at its try-th attempt.
func pick(i, try uint64, n int) uint64 {
	return fold((i<<16+try+1)*shingleBase) >> 32 * uint64(n) >> 32
}

// Band returns the value of band b, 0 to Bands − 1, in BandBits bits. Two
// documents of Jaccard similarity J agree on a band with probability J³, and
// on at least one of the eight with 1 − (1 − J³)⁸: 1.00 for J = 0.9, 0.997
// for 0.8, 0.97 for 0.7, 0.87 for 0.6, 0.66 for 0.5, 0.20 for 0.3. The bands
// of the zero Sketch mean nothing.
func (s *Sketch) Band(b int) uint32 {
	at := s[signBits/8+b*bandBytes:]
	return uint32(at[0])<<16 | uint32(at[1])<<8 | uint32(at[2])
}

// IsZero reports whether the sketch is that of a text without shingles.
func (s *Sketch) IsZero() bool { return *s == Sketch{} }

// Estimate returns an estimate of the Jaccard similarity J of the sets of
// shingles of two documents: 2a/320 − 1, where a bits agree, and 0 instead of
// less. It is that of b-bit minwise hashing (Li, König: b-Bit Minwise Hashing,
// WWW 2010) for b = 1, whose bits agree with probability (1 + J) / 2, over the
// bins of one permutation (Li, Owen, Zhang: One Permutation Hashing, NIPS
// 2012), empty ones filled by optimal densification (Shrivastava, ICML 2017).
// It is unbiased but for the bound at 0; StandardError says how far off it is.
func Estimate(a, b *Sketch) float64 {
	if a.IsZero() || b.IsZero() {
		return 0
	}
	differ := 0
	for i := 0; i < signBits/8; i += 8 {
		differ += bits.OnesCount64(binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]))
	}
	return max(0, 1-2*float64(differ)/signBits)
}

// StandardError returns that of an estimate of Jaccard similarity j: √((1 −
// j²) / 320), 0.048 for j = 0.5 and 0.024 for 0.9. Long texts do somewhat
// better, texts of fewer than some 300 shingles somewhat worse.
func StandardError(j float64) float64 { return math.Sqrt(max(0, 1-j*j) / signBits) }
