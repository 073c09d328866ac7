package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/klauspost/compress/zstd"
)

// The file: a header of 20 bytes, then the payload as one zstd frame. All
// numbers are little-endian.
//
//	magic    8 bytes  "nd-jieba"
//	version  uint32   Version
//	length   uint32   bytes of the payload, uncompressed
//	checksum uint32   CRC-32C of the payload, uncompressed
//
// The payload is a sequence of sections, each a uint32 number of elements
// followed by the elements; strings are sections of bytes:
//
//	runes     int32    by character code; FixedRunes first
//	checks    uint16   Check of every slot
//	bases     uint32   Base of every slot with the bit set in …
//	inner     uint64   bitmap over the slots
//	ends      uint16   Weight of every slot with a word
//	terminal  uint64   bitmap over the slots
//	weights   float64  log weights by index
//	scalars   float64  FreqSum, Median, MeanIDF
//	tags      uint32 n, then n strings
//	tag       uint8    by ID
//	idfs      float64
//	idf       uint16   by ID
//	stop      uint32
//	user      uint32 n, then n × (text, tag, section of uint32 {Freq, Base})
//	hmm       float64  4 start, 16 transition
//	emissions float64  4 for every code
const (
	magic = "nd-jieba"
	// Version changes with the format and with what IDs mean.
	Version = 1

	headerLen  = len(magic) + 12
	maxPayload = 256 << 20
)

// ErrDamaged is returned for bytes that are no model of this version.
var ErrDamaged = errors.New("damaged segmentation model")

// Encode returns the file of a model.
func Encode(m *Model) ([]byte, error) {
	payload := m.payload()
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("a payload of %d bytes exceeds %d", len(payload), maxPayload)
	}
	file := []byte(magic)
	file = binary.LittleEndian.AppendUint32(file, Version)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(payload)))
	file = binary.LittleEndian.AppendUint32(file, checksum(payload))
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, err
	}
	defer w.Close() //nolint:errcheck // writes nothing
	return w.EncodeAll(payload, file), nil
}

// Payload returns the uncompressed content of a file after checking it.
func Payload(file []byte) ([]byte, error) {
	if len(file) < headerLen || string(file[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: no %q header", ErrDamaged, magic)
	}
	header := file[len(magic):headerLen]
	if v := binary.LittleEndian.Uint32(header); v != Version {
		return nil, fmt.Errorf("%w: version %d, expected %d", ErrDamaged, v, Version)
	}
	length := binary.LittleEndian.Uint32(header[4:])
	if length > maxPayload {
		return nil, fmt.Errorf("%w: %d bytes announced", ErrDamaged, length)
	}
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	payload, err := r.DecodeAll(file[headerLen:], make([]byte, 0, length))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum := checksum(payload); len(payload) != int(length) || sum != binary.LittleEndian.Uint32(header[8:]) {
		return nil, fmt.Errorf("%w: checksum %08x of %d bytes does not match", ErrDamaged, sum, len(payload))
	}
	return payload, nil
}

// Decode reads a file that Encode made.
func Decode(file []byte) (*Model, error) {
	payload, err := Payload(file)
	if err != nil {
		return nil, err
	}
	return parse(payload)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func (m *Model) payload() []byte {
	var p []byte
	count := func(n int) { p = binary.LittleEndian.AppendUint32(p, uint32(n)) }
	u16 := func(v uint16) { p = binary.LittleEndian.AppendUint16(p, v) }
	u32 := func(v uint32) { p = binary.LittleEndian.AppendUint32(p, v) }
	u64 := func(v uint64) { p = binary.LittleEndian.AppendUint64(p, v) }
	f64 := func(v float64) { u64(math.Float64bits(v)) }
	text := func(s string) { count(len(s)); p = append(p, s...) }

	count(len(m.Runes))
	for _, r := range m.Runes {
		u32(uint32(r))
	}
	count(len(m.Nodes))
	inner := make([]uint64, (len(m.Nodes)+63)/64)
	terminal := make([]uint64, (len(m.Nodes)+63)/64)
	inners, terminals := 0, 0
	for s, n := range m.Nodes {
		u16(n.Check())
		if n.Base() != 0 {
			inner[s/64] |= 1 << (s % 64)
			inners++
		}
		if n.Weight() != WeightNone {
			terminal[s/64] |= 1 << (s % 64)
			terminals++
		}
	}
	count(inners)
	for _, n := range m.Nodes {
		if n.Base() != 0 {
			u32(n.Base())
		}
	}
	count(len(inner))
	for _, w := range inner {
		u64(w)
	}
	count(terminals)
	for _, n := range m.Nodes {
		if n.Weight() != WeightNone {
			u16(uint16(n.Weight()))
		}
	}
	count(len(terminal))
	for _, w := range terminal {
		u64(w)
	}
	count(len(m.Weights))
	for _, w := range m.Weights {
		f64(w)
	}
	count(3)
	f64(m.FreqSum)
	f64(float64(m.Median))
	f64(m.MeanIDF)
	count(len(m.Tags))
	for _, t := range m.Tags {
		text(t)
	}
	count(len(m.Tag))
	p = append(p, m.Tag...)
	count(len(m.IDFs))
	for _, v := range m.IDFs {
		f64(v)
	}
	count(len(m.IDF))
	for _, v := range m.IDF {
		u16(v)
	}
	count(len(m.Stop))
	for _, v := range m.Stop {
		u32(v)
	}
	count(len(m.UserDict))
	for _, u := range m.UserDict {
		text(u.Text)
		text(u.Tag)
		count(2)
		u32(u.Freq)
		u32(u.Base)
	}
	count(States + States*States)
	for _, v := range m.Start {
		f64(v)
	}
	for _, row := range m.Trans {
		for _, v := range row {
			f64(v)
		}
	}
	count(States * len(m.Emit))
	for _, e := range m.Emit {
		for _, v := range e {
			f64(v)
		}
	}
	return p
}

// sections reads the sections of a payload; after the first that does not fit
// all are empty.
type sections struct {
	rest []byte
	err  error
}

func (s *sections) next(name string, size int) []byte {
	if s.err != nil {
		return nil
	}
	if len(s.rest) >= 4 {
		n := int(binary.LittleEndian.Uint32(s.rest))
		if n <= (len(s.rest)-4)/size {
			section := s.rest[4 : 4+n*size]
			s.rest = s.rest[4+n*size:]
			return section
		}
	}
	s.err = fmt.Errorf("%w: section %s is cut short", ErrDamaged, name)
	return nil
}

func (s *sections) count(name string) int {
	if s.err == nil && len(s.rest) < 4 {
		s.err = fmt.Errorf("%w: section %s is cut short", ErrDamaged, name)
	}
	if s.err != nil {
		return 0
	}
	n := binary.LittleEndian.Uint32(s.rest)
	s.rest = s.rest[4:]
	return int(n)
}

func (s *sections) uint16s(name string) []uint16 {
	b := s.next(name, 2)
	v := make([]uint16, len(b)/2)
	for i := range v {
		v[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return v
}

func (s *sections) uint32s(name string) []uint32 {
	b := s.next(name, 4)
	v := make([]uint32, len(b)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return v
}

func (s *sections) uint64s(name string) []uint64 {
	b := s.next(name, 8)
	v := make([]uint64, len(b)/8)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return v
}

func (s *sections) float64s(name string) []float64 {
	b := s.next(name, 8)
	v := make([]float64, len(b)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	return v
}

func (s *sections) nodes() []Node {
	checks := s.uint16s("checks")
	bases := s.uint32s("bases")
	inner := s.uint64s("inner")
	ends := s.uint16s("ends")
	terminal := s.uint64s("terminal")
	if s.err != nil {
		return nil
	}
	if bitmaps := (len(checks) + 63) / 64; len(inner) != bitmaps || len(terminal) != bitmaps {
		s.err = fmt.Errorf("%w: %d slots but bitmaps of %d and %d words", ErrDamaged, len(checks), len(inner), len(terminal))
		return nil
	}
	nodes := make([]Node, len(checks))
	for i, check := range checks {
		var base, weight uint32
		if inner[i/64]>>(i%64)&1 != 0 && len(bases) > 0 {
			base, bases = bases[0], bases[1:]
		}
		if terminal[i/64]>>(i%64)&1 != 0 && len(ends) > 0 {
			weight, ends = uint32(ends[0]), ends[1:]
		}
		nodes[i] = NewNode(check, base, weight)
	}
	return nodes
}

func parse(payload []byte) (*Model, error) {
	s := &sections{rest: payload}
	m := &Model{}
	for _, r := range s.uint32s("runes") {
		m.Runes = append(m.Runes, rune(r))
	}
	m.Nodes = s.nodes()
	m.Weights = s.float64s("weights")
	scalars := s.float64s("scalars")
	for range s.count("tags") {
		m.Tags = append(m.Tags, string(s.next("tags", 1)))
		if s.err != nil {
			break
		}
	}
	m.Tag = append([]uint8(nil), s.next("tag", 1)...)
	m.IDFs = s.float64s("idfs")
	m.IDF = s.uint16s("idf")
	m.Stop = s.uint32s("stop")
	for range s.count("user") {
		u := UserWord{Text: string(s.next("user", 1)), Tag: string(s.next("user", 1))}
		v := s.uint32s("user")
		if s.err != nil || len(v) != 2 {
			break
		}
		u.Freq, u.Base = v[0], v[1]
		m.UserDict = append(m.UserDict, u)
	}
	hmm := s.float64s("hmm")
	emissions := s.float64s("emissions")
	if s.err != nil {
		return nil, s.err
	}
	if len(scalars) != 3 || len(hmm) != States+States*States || len(emissions) != States*len(m.Runes) || len(s.rest) != 0 {
		return nil, fmt.Errorf("%w: sections of wrong length", ErrDamaged)
	}
	m.FreqSum, m.Median, m.MeanIDF = scalars[0], uint32(scalars[1]), scalars[2]
	copy(m.Start[:], hmm)
	for i := range m.Trans {
		copy(m.Trans[i][:], hmm[States*(i+1):])
	}
	m.Emit = make([][States]float64, len(m.Runes))
	for i := range m.Emit {
		copy(m.Emit[i][:], emissions[States*i:])
	}
	return m, m.check()
}

// check refuses a model whose indexes lead outside its tables, so that no
// walk over an accepted model can.
func (m *Model) check() error {
	codes, words := len(m.Runes), 0
	if codes < FirstCode || codes >= MaxCodes || len(m.Nodes) < codes || len(m.Nodes) > maxSlots {
		return fmt.Errorf("%w: %d characters in %d slots", ErrDamaged, codes, len(m.Nodes))
	}
	for s, n := range m.Nodes {
		if int(n.Base())+codes > len(m.Nodes) || int(n.Weight()) >= len(m.Weights) ||
			(s < codes) != (n.Check() == noCheck) && s < codes {
			return fmt.Errorf("%w: slot %d leads outside", ErrDamaged, s)
		}
		if n.Weight() != WeightNone {
			words++
		}
	}
	if len(m.Weights) <= WeightFirst || int(m.Median) >= len(m.Weights) {
		return fmt.Errorf("%w: %d weights", ErrDamaged, len(m.Weights))
	}
	if len(m.Tag) != words || len(m.IDF) != words {
		return fmt.Errorf("%w: %d words, %d tags, %d idf", ErrDamaged, words, len(m.Tag), len(m.IDF))
	}
	for i := range words {
		if int(m.Tag[i]) >= len(m.Tags) || int(m.IDF[i]) > len(m.IDFs) {
			return fmt.Errorf("%w: word %d has no tag or idf", ErrDamaged, i)
		}
	}
	for _, id := range m.Stop {
		if int(id) >= words {
			return fmt.Errorf("%w: stop word %d of %d", ErrDamaged, id, words)
		}
	}
	return nil
}
