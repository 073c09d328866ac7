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

// Bits is how many bits of two sketches Estimate compares: one for each of the
// first Bits bins. More bits would leave less of the 64 bytes to the bands. With
// bands of only 24 bits a document of a hundred million shares a band with
// 8 · 10⁸ / 2²⁴ ≈ 48 others by chance.
const Bits = 256

const (
	bins      = 320 // of one permutation hashing
	bandBytes = 4
	bandBins  = bins / Bands // bins that a band is made of
	bandRows  = 3            // minima that a band is made of
)

// Sketch is the MinHash sketch of a document's set of shingles. The first 32 bytes
// hold one bit of each of 256 minima. The other 32 hold 8 bands of 32 bits, each a
// hash of 3 minima. The zero Sketch is that of a text without shingles; it is like
// no other sketch, not even itself.
type Sketch [Bits/8 + Bands*bandBytes]byte

// Maker makes sketches, one at a time. The zero value is ready to use. It reuses
// its buffers, so only one goroutine may use it at a time.
type Maker struct {
	minima [bins]uint32

	// For each bin: a bit in have if it has a shingle, and then in low the lowest
	// bit of its minimum. An empty bin has in attempt the first of its attempts that
	// reaches a bin to borrow from, or attempts if none of them does.
	have, low [8]uint64
	attempt   [bins]uint8
	first     [Bits / 4]uint64 // if few bins have a shingle: as attempt, without that limit; packed as tries

	sample []uint32 // keys of the sample, as they come
	recent []uint64 // hashes of the shingles with which the next passages begin

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

// Sketch sets dst to the sketch of text, which must be in normal form
// (simhash.Workspace.Normalize). It returns the number of shingles, each counted
// as often as it occurs. The same text gives the same sketch on any machine.
func (m *Maker) Sketch(dst *Sketch, text []byte) int { return m.sketch(dst, text, 0) }

// sketch is Sketch. It also collects the keys of the sample that are below bound;
// 0: no sample.
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

// read puts each shingle into a bin, which the upper half of its hash chooses; the
// bin keeps the smallest lower half. This is one permutation hashing: one hash
// function and 320 bins in place of 320 functions. Read collects the keys of the
// sample that are below bound, and returns the number of shingles.
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

// bands fills in the bands. Band b is a hash of three minima, those of the three
// thirds of bins 40b to 40b+39. A third without a shingle borrows the minimum of
// another, of any band.
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

// signs fills in the lowest bits of the minima. An empty bin borrows from the first
// non-empty bin of its own fixed sequence of attempts, and hashes that minimum with
// its number. This is optimal densification (Shrivastava, ICML 2017), which keeps
// the estimate unbiased for short texts.
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

// lender returns the bin that empty bin i borrows from, if none of the first
// attempts reaches one.
func (m *Maker) lender(i uint64) uint64 {
	for try := uint64(attempts); ; try++ {
		if j := pick(i, try, bins); m.have[j/64]>>(j%64)&1 != 0 {
			return j
		}
	}
}

// fewBins is the most non-empty bins for which fewLend is faster than making one
// attempt after the other.
const fewBins = 20

// fewLend fills in first and returns true, if few bins have a shingle. It turns the
// question round: it looks up when each other bin would ask one of these few, and
// takes the earliest.
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

// firstAttempts holds, for every bin, the attempt at which each of the first Bits
// bins asks it first.
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

// lenderTable holds, for every bin, which bins it asks at its first attempts.
type lenderTable struct {
	bin    [bins][attempts]uint16
	octet  [attempts][bins]uint8 // bin / 8
	member [attempts][bins]uint8 // 1 << (bin % 8)
}

// attempts is how many attempts are made at once. In a text of 85 shingles, as 300
// bytes of Chinese have, one empty bin in a hundred needs more.
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

// look fills in have, low and, for the empty bins, attempt. Which attempt will
// succeed is unpredictable, so it makes several at once instead of branching after
// each.
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

// pick is the bin, 0 to n − 1, that bin i asks at its try-th attempt.
func pick(i, try uint64, n int) uint64 {
	return fold((i<<16+try+1)*0x9e3779b97f4a7c15) >> 32 * uint64(n) >> 32
}

// Band returns the value of band b, 0 to Bands − 1, in BandBits bits. Two minima
// agree with probability J, the Jaccard similarity of the documents. So two
// documents agree on a band, which has three minima, with probability J³, and on at
// least one of the eight bands with 1 − (1 − J³)⁸: 1.00 for J = 0.9, 0.997 for 0.8,
// 0.97 for 0.7, 0.87 for 0.6, 0.66 for 0.5, 0.20 for 0.3. The bands of the zero
// Sketch mean nothing.
func (s *Sketch) Band(b int) uint32 {
	return binary.BigEndian.Uint32(s[Bits/8+b*bandBytes:])
}

// Estimate returns an estimate of the Jaccard similarity J of two documents' sets
// of shingles, by the number of bits in which their sketches [Differ].
//
// Two minima are equal with probability J; then their lowest bits agree. Otherwise
// the bits agree by chance, in half of the cases. So a bit agrees with probability
// J + (1 − J)/2 = (1 + J)/2. If d of 256 bits differ, 1 − d/256 estimates that, and
// solved for J it gives 1 − 2d/256. A negative result becomes 0; but for that the
// estimate is unbiased. [StandardError] says how far off it is.
//
// This is b-bit minwise hashing for b = 1 (Li, König: b-Bit Minwise Hashing, WWW
// 2010), over the bins of one permutation (Li, Owen, Zhang: One Permutation
// Hashing, NIPS 2012), with empty bins filled by optimal densification
// (Shrivastava, ICML 2017).
func Estimate(differ int) float64 { return max(0, 1-2*float64(differ)/Bits) }

// Differ returns the number of the minima's bits, 0 to Bits, in which two sketches
// differ. It is Bits if either sketch is zero.
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

// MostDiffer returns the most bits in which two sketches may Differ for the estimate
// to be at least alike. It is −1 if no number of bits will do.
func MostDiffer(alike float64) int {
	differ := Bits
	for differ >= 0 && Estimate(differ) < alike {
		differ--
	}
	return differ
}

// StandardError returns the standard error of an estimate of Jaccard similarity j:
// √((1 − j²) / 256), which is 0.054 for j = 0.5 and 0.027 for 0.9. It follows from
// 256 independent bits, each of which agrees with probability p = (1 + j)/2: the
// variance of their share is p(1 − p)/256, and the estimate is twice the share
// minus 1. Long texts do somewhat better, texts of fewer than some 300 shingles
// somewhat worse.
func StandardError(j float64) float64 { return math.Sqrt(max(0, 1-j*j) / Bits) }
