package sketch

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"

	"github.com/neardup/neardup/simhash"
)

// Bands is the number of bands of a sketch, and BandBits the width of one.
const (
	Bands    = 8
	BandBits = 8 * bandBytes
)

// Bits is how many bits of two sketches Estimate compares: one of each of the
// first bins. More of them would leave less of the 64 bytes to the bands, and
// bands of 24 bits bring a document of a hundred million together with 48 others
// by chance.
const Bits = 256

const (
	bins      = 320 // of the one permutation
	bandBytes = 4
	bandBins  = bins / Bands // bins that a band is made of
	bandRows  = 3            // minima that a band is made of
)

// Sketch is what remains of a document's set of shingles. The first 32 bytes
// are a bit of each of 256 minima, the other 32 are 8 bands of 32 bits, each
// a hash of 3 minima. The zero Sketch is that of a text without shingles; it
// resembles nothing, itself included.
type Sketch [Bits/8 + Bands*bandBytes]byte

// Maker makes sketches, one at a time. The zero value is ready to use; it
// allocates next to nothing. One goroutine uses it at a time.
type Maker struct {
	minima [bins]uint32

	// Of the bins: whether a shingle came, and the lowest bit of the minimum
	// then; else the first attempt at which it can borrow, attempts for none.
	have, low [8]uint64
	attempt   [bins]uint8
	first     [Bits / 4]uint64 // of few bins with a shingle: the same, of any number of attempts, as of tries

	sample []uint32 // keys of the sample, as they come
	recent []uint64 // hashes of the shingles that the next of its runs begin with

	shingles simhash.Grams
}

// empty is the minimum of a bin without a shingle.
const empty = math.MaxUint32

var allEmpty = func() (minima [bins]uint32) {
	for i := range minima {
		minima[i] = empty
	}
	return minima
}()

// Sketch sets dst to the sketch of text, which is in normal form
// (simhash.Workspace.Normalize), and returns the number of its shingles,
// repeated ones counted again. The same text gives the same sketch on any
// machine.
func (m *Maker) Sketch(dst *Sketch, text []byte) int { return m.sketch(dst, text, 0) }

// sketch is Sketch; it collects the keys of the sample that are below bound.
func (m *Maker) sketch(dst *Sketch, text []byte, bound uint64) int {
	m.minima, m.sample, m.recent = allEmpty, m.sample[:0], m.recent[:0]
	n := m.read(text, bound)
	*dst = Sketch{}
	if n == 0 {
		return 0
	}
	m.bands(dst)
	m.signs(dst)
	if *dst == (Sketch{}) {
		dst[0] = 1 // the zero Sketch says something else
	}
	return n
}

// read puts each shingle into the bin that the upper half of its hash says;
// a bin keeps the smallest lower half. What the sample has is below bound; 0: there
// is none. It returns how many shingles there are.
func (m *Maker) read(text []byte, bound uint64) int {
	n := 0
	m.shingles.Start(text, shingleSize)
	for block := m.shingles.Next(); len(block) > 0; block = m.shingles.Next() {
		for _, h := range block {
			x := fold(h)
			bin := x >> 32 * bins >> 32
			m.minima[bin] = min(m.minima[bin], uint32(x))
		}
		if bound > 0 {
			m.take(block, bound)
		}
		n += len(block)
	}
	return n
}

// bands fills in the bands: band b is a hash of the minima of the three thirds
// of bins 40b to 40b+39, a third without a shingle borrowing from another.
func (m *Maker) bands(dst *Sketch) {
	var own [Bands * bandRows]uint32
	for i := range own {
		band, row := i/bandRows, i%bandRows
		from, to := band*bandBins+row*bandBins/bandRows, band*bandBins+(row+1)*bandBins/bandRows
		least := uint32(empty)
		for _, v := range m.minima[from:to] {
			least = min(least, v)
		}
		own[i] = least
	}
	for b := range Bands {
		key := uint64(0)
		for i := b * bandRows; i < (b+1)*bandRows; i++ {
			v := own[i]
			for try := uint64(0); v == empty; try++ {
				v = own[pick(uint64(i)|1<<32, try, len(own))]
			}
			key = fold(key + uint64(v) + 1)
		}
		binary.BigEndian.PutUint32(dst[Bits/8+b*bandBytes:], uint32(key>>32))
	}
}

// signs fills in the lowest bits of the minima. A bin without a shingle has the
// minimum, hashed with the bin, of one that has some: optimal densification,
// which keeps the estimate unbiased for short texts.
func (m *Maker) signs(dst *Sketch) {
	l := lenders()
	if hasWide {
		lookWide(m, l)
	} else {
		m.look(l)
	}
	few := m.fewLend()
	for i, low := range m.low[:Bits/64] {
		for rest := ^m.have[i]; rest != 0; rest &= rest - 1 {
			j := bits.TrailingZeros64(rest)
			bin := uint64(64*i + j)
			lender, try := uint64(0), m.attempt[bin]
			switch {
			case try < attempts:
				lender = uint64(l.bin[bin][try])
			case few:
				lender = pick(bin, m.first[bin/4]>>(16*(bin%4))&math.MaxInt16, bins)
			default:
				lender = m.lender(bin)
			}
			low |= fold(uint64(m.minima[lender])+1+bin<<32) >> 32 & 1 << j
		}
		binary.LittleEndian.PutUint64(dst[8*i:], low)
	}
}

// lender returns the first bin with a shingle that bin i asks after its first
// attempts.
func (m *Maker) lender(i uint64) uint64 {
	for try := uint64(attempts); ; try++ {
		if j := pick(i, try, bins); m.have[j/64]>>(j%64)&1 != 0 {
			return j
		}
	}
}

// fewBins is up to how many bins with a shingle the first attempt to find one
// is looked up for each of them: to attempt one after the other takes longer.
const fewBins = 20

// fewLend fills in first, if few bins have a shingle.
func (m *Maker) fewLend() bool {
	n := 0
	for _, have := range m.have[:bins/64] {
		n += bits.OnesCount64(have)
	}
	if n > fewBins {
		return false
	}
	firsts := firstAttempts()
	for i := range m.first {
		m.first[i] = tries * math.MaxInt16
	}
	for i, have := range m.have[:bins/64] {
		for ; have != 0; have &= have - 1 {
			for j, try := range &firsts[64*i+bits.TrailingZeros64(have)] {
				m.first[j] = least(m.first[j], try)
			}
		}
	}
	return true
}

// An attempt takes 15 bits: four stand in a word, bin i at 16 · (i mod 4) of
// word i / 4. tries has a 1 in each.
const tries = 1<<48 | 1<<32 | 1<<16 | 1

// least is the smaller of each of four attempts.
func least(a, b uint64) uint64 {
	notLess := ((a | tries<<15) - b) >> 15 & tries * math.MaxUint16 // all bits set where a ≥ b
	return b&notLess | a&^notLess
}

// firstAttempts holds, for every bin, at which attempt each of the first Bits
// asks it first.
var firstAttempts = sync.OnceValue(func() *[bins][Bits / 4]uint64 {
	t := new([bins][Bits / 4]uint64)
	for i := range uint64(Bits) {
		var asked [bins]bool
		for try, left := uint64(0), bins; left > 0; try++ {
			if j := pick(i, try, bins); !asked[j] {
				asked[j] = true
				t[j][i/4] |= try << (16 * (i % 4))
				left--
			}
		}
	}
	return t
})

// lenderTable holds, for every bin, which ones it asks at its first attempts.
type lenderTable struct {
	bin    [bins][attempts]uint16
	octet  [attempts][bins]uint8 // bin / 8
	member [attempts][bins]uint8 // 1 << (bin % 8)
}

// attempts is how many are made at once. Among the bins of a text of 85
// shingles, as 300 bytes of Chinese have, one in a hundred needs more.
const attempts = 16

var lenders = sync.OnceValue(func() *lenderTable {
	t := new(lenderTable)
	for i := range bins {
		for try := range attempts {
			bin := pick(uint64(i), uint64(try), bins)
			t.bin[i][try] = uint16(bin)
			t.octet[try][i], t.member[try][i] = uint8(bin/8), 1<<(bin%8)
		}
	}
	return t
})

// look fills in have, low and, for the bins without a shingle, attempt. Which
// attempt is the first to do is not to be foreseen: all are made.
func (m *Maker) look(l *lenderTable) {
	var own [bins]uint16
	for i := range bins / 64 {
		have, low := uint64(0), uint64(0)
		for j, v := range m.minima[64*i : 64*i+64] {
			is := (uint64(v) - empty) >> 63 // 1 if v is less
			own[64*i+j] = uint16(is)
			have |= is << j
			low |= is & uint64(v) << j
		}
		m.have[i], m.low[i] = have, low
	}
	for i := range m.have[:bins/64] {
		for rest := ^m.have[i]; rest != 0; rest &= rest - 1 {
			bin := 64*i + bits.TrailingZeros64(rest)
			t := &l.bin[bin]
			lends := own[t[0]] | own[t[1]]<<1 | own[t[2]]<<2 | own[t[3]]<<3 | own[t[4]]<<4 | own[t[5]]<<5 | own[t[6]]<<6 | own[t[7]]<<7
			if lends == 0 {
				lends = own[t[8]]<<8 | own[t[9]]<<9 | own[t[10]]<<10 | own[t[11]]<<11 | own[t[12]]<<12 | own[t[13]]<<13 | own[t[14]]<<14 | own[t[15]]<<15
			}
			m.attempt[bin] = uint8(bits.TrailingZeros16(lends)) // 16, which is attempts, for none
		}
	}
}

// pick is the bin, of n, that bin i borrows from at its try-th attempt.
func pick(i, try uint64, n int) uint64 {
	return fold((i<<16+try+1)*0x9e3779b97f4a7c15) >> 32 * uint64(n) >> 32
}

// Band returns the value of band b, 0 to Bands − 1, in BandBits bits. Two
// documents of Jaccard similarity J agree on a band with probability J³, and
// on at least one of the eight with 1 − (1 − J³)⁸: 1.00 for J = 0.9, 0.997
// for 0.8, 0.97 for 0.7, 0.87 for 0.6, 0.66 for 0.5, 0.20 for 0.3. The bands
// of the zero Sketch mean nothing.
func (s *Sketch) Band(b int) uint32 {
	return binary.BigEndian.Uint32(s[Bits/8+b*bandBytes:])
}

// Estimate returns, by the number of bits in which two sketches Differ, an
// estimate of the Jaccard similarity J of the sets of shingles of two documents:
// 2a/256 − 1, where a bits agree, and 0 instead of less. It is that of b-bit
// minwise hashing (Li, König: b-Bit Minwise Hashing, WWW 2010) for b = 1, whose
// bits agree with probability (1 + J) / 2, over the bins of one permutation (Li,
// Owen, Zhang: One Permutation Hashing, NIPS 2012), empty ones filled by optimal
// densification (Shrivastava, ICML 2017). It is unbiased but for the bound at 0;
// StandardError says how far off it is.
func Estimate(differ int) float64 { return max(0, 1-2*float64(differ)/Bits) }

// Differ is the number of bits, of the minima's, in which two sketches differ: all
// of them if either is zero.
func Differ(a, b *Sketch) int {
	differ, inA, inB := 0, uint64(0), uint64(0)
	for i := 0; i < Bits/8; i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		differ, inA, inB = differ+bits.OnesCount64(x^y), inA|x, inB|y
	}
	if (inA == 0 || inB == 0) && (*a == Sketch{} || *b == Sketch{}) {
		return Bits
	}
	return differ
}

// MostDiffer is the most such bits in which two sketches differ whose estimate
// is the given one or more, and neither of which is zero; −1 if there are none.
func MostDiffer(alike float64) int {
	differ := Bits
	for differ >= 0 && Estimate(differ) < alike {
		differ--
	}
	return differ
}

// StandardError returns that of an estimate of Jaccard similarity j: √((1 −
// j²) / 256), 0.054 for j = 0.5 and 0.027 for 0.9. Long texts do somewhat
// better, texts of fewer than some 300 shingles somewhat worse.
func StandardError(j float64) float64 { return math.Sqrt(max(0, 1-j*j) / Bits) }
