package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"slices"
	"strconv"
	"strings"

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
//	inner     uint64   bitmap over the slots: those with children
//	bases     uint32   Base of each
//	ends      uint64   bitmap over the slots: those where a word ends
//	weights   uint16   index into logs of each, which also gives the IDs
//	logs      float64  NewWord, Listed, then log weights, ascending
//	scalars   float64  FreqSum, Median, Min, MeanIDF
//	tags      strings  one after the other, each with a newline
//	tag       uint8    by ID
//	idfs      float64
//	idf       uint16   by ID
//	stop      uint32
//	user      strings  text, tab, frequency, tab, tag, newline
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

// payload returns the uncompressed content of a file after checking it.
func payload(file []byte) ([]byte, error) {
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

// Decode reads a file of this format; encode, in the tests, makes it.
func Decode(file []byte) (*Model, error) {
	content, err := payload(file)
	if err != nil {
		return nil, err
	}
	return parse(content)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// The first entries of logs.
const (
	logNew = iota
	logListed
)

// number gives the words their IDs, given for each in order of slots the index
// into logs, and sets their weights: a counting sort.
func (m *Model) number(weights []uint16, logs []float64) {
	next := make([]uint32, len(logs))
	for _, w := range weights {
		next[w]++
	}
	id := uint32(0)
	for w := len(logs) - 1; w >= 0; w-- {
		next[w], id = id, id+next[w]
	}
	m.New = len(weights) - int(next[logNew])
	m.Weight = make([]float64, len(weights))
	for s, n := range m.Nodes {
		if n.Value() != 0 {
			w := weights[0]
			weights = weights[1:]
			m.Weight[next[w]] = logs[w]
			next[w]++
			m.Nodes[s] = n.WithValue(next[w])
		}
	}
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

func numbers[T uint16 | uint32 | uint64 | float64](s *sections, name string) []T {
	size := binary.Size(T(0))
	b := s.next(name, size)
	v := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, v) // b has just as many
	return v
}

// nodes reads the double array; its values are still 1 for every word. It also
// returns the index of the log weight of each word.
func (s *sections) nodes(codes int) ([]Node, []uint16) {
	checks := numbers[uint16](s, "checks")
	inner, bases := numbers[uint64](s, "inner"), numbers[uint32](s, "bases")
	ends, weights := numbers[uint64](s, "ends"), numbers[uint16](s, "weights")
	if s.err != nil {
		return nil, nil
	}
	n := len(checks)
	if len(inner) != (n+63)/64 || len(ends) != (n+63)/64 || ones(inner) != len(bases) || ones(ends) != len(weights) ||
		n < 2*codes || n > MaxSlots || len(weights) > MaxWords {
		s.err = fmt.Errorf("%w: sections of %d slots do not agree", ErrDamaged, n)
		return nil, nil
	}
	nodes := make([]Node, n)
	owned := make([]bool, n)
	for i, check := range checks {
		var base, value uint32
		if inner[i/64]>>(i%64)&1 != 0 {
			base, bases = bases[0], bases[1:]
			if base == 0 || int(base) > n-codes || owned[base] {
				s.err = fmt.Errorf("%w: children of slot %d at %d", ErrDamaged, i, base)
				return nil, nil
			}
			owned[base] = true
		}
		if ends[i/64]>>(i%64)&1 != 0 {
			value = 1
		}
		nodes[i] = newNode(check, base, value)
	}
	for i := range nodes {
		check := nodes[i].Check()
		if check == noCheck && (i < codes || nodes[i] == Free) {
			continue
		}
		// A slot belongs to the node whose children start check slots before.
		base := i - int(check)
		if i < codes || int(check) >= codes || base <= 0 || !owned[base] {
			s.err = fmt.Errorf("%w: slot %d has no parent", ErrDamaged, i)
			return nil, nil
		}
	}
	return nodes, weights
}

func ones(bitmap []uint64) int {
	n := 0
	for _, w := range bitmap {
		n += bits.OnesCount64(w)
	}
	return n
}

func parse(payload []byte) (*Model, error) {
	s := &sections{rest: payload}
	m := &Model{}
	for _, r := range numbers[uint32](s, "runes") {
		m.Runes = append(m.Runes, rune(r))
	}
	nodes, weights := s.nodes(len(m.Runes))
	logs := numbers[float64](s, "logs")
	scalars := numbers[float64](s, "scalars")
	tags := string(s.next("tags", 1))
	m.Tag = slices.Clone(s.next("tag", 1))
	m.IDFs = numbers[float64](s, "idfs")
	m.IDF = numbers[uint16](s, "idf")
	m.Stop = numbers[uint32](s, "stop")
	user := string(s.next("user", 1))
	hmm := numbers[float64](s, "hmm")
	emissions := numbers[float64](s, "emissions")
	if s.err != nil {
		return nil, s.err
	}
	codes, words := len(m.Runes), len(weights)
	if len(logs) <= logListed || len(logs) > 1<<16 || len(scalars) != 4 || len(m.Tag) != words || len(m.IDF) != words ||
		codes < FirstCode || codes >= MaxCodes || len(hmm) != States+States*States || len(emissions) != States*codes || len(s.rest) != 0 {
		return nil, fmt.Errorf("%w: sections of %d characters and %d words do not agree", ErrDamaged, codes, words)
	}
	for _, w := range weights {
		if int(w) >= len(logs) {
			return nil, fmt.Errorf("%w: log weight %d of %d", ErrDamaged, w, len(logs))
		}
	}
	m.Nodes = nodes
	m.number(weights, logs)
	m.FreqSum, m.Median, m.Min, m.MeanIDF = scalars[0], scalars[1], scalars[2], scalars[3]
	m.Tags = strings.Split(strings.TrimSuffix(tags, "\n"), "\n")
	for line := range strings.Lines(user) {
		var u UserWord
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			return nil, fmt.Errorf("%w: user word %q", ErrDamaged, line)
		}
		freq, err := strconv.ParseUint(f[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: user word %q", ErrDamaged, line)
		}
		u.Text, u.Freq, u.Tag = f[0], uint32(freq), f[2]
		m.User = append(m.User, u)
	}
	for id := range words {
		if int(m.Tag[id]) >= len(m.Tags) || int(m.IDF[id]) > len(m.IDFs) {
			return nil, fmt.Errorf("%w: word %d has no tag or idf", ErrDamaged, id)
		}
	}
	for _, id := range m.Stop {
		if int(id) >= words {
			return nil, fmt.Errorf("%w: stop word %d of %d", ErrDamaged, id, words)
		}
	}
	copy(m.Start[:], hmm)
	for i := range m.Trans {
		copy(m.Trans[i][:], hmm[States*(i+1):])
	}
	for from, row := range m.Trans {
		for to, p := range row {
			// B and M go on to E and M; E and S to B and S.
			if inside := from == B || from == M; inside != (to == E || to == M) && p != Unseen {
				return nil, fmt.Errorf("%w: transition from state %d to %d", ErrDamaged, from, to)
			}
		}
	}
	m.Emit = make([][States]float64, codes)
	for i := range m.Emit {
		copy(m.Emit[i][:], emissions[States*i:])
	}
	return m, nil
}
