package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/simhash/internal/large"
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

	headerLen = len(magic) + 12
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
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	payload, err := r.DecodeAll(file[headerLen:], nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum := checksum(payload); len(payload) != int(binary.LittleEndian.Uint32(header[4:])) || sum != binary.LittleEndian.Uint32(header[8:]) {
		return nil, fmt.Errorf("%w: checksum %08x of %d bytes does not match", ErrDamaged, sum, len(payload))
	}
	return payload, nil
}

// Decode reads a file of this format; encode, in the tests, makes it. What the
// checksum says was encoded is not checked again.
func Decode(file []byte) (*Model, error) {
	content, err := payload(file)
	if err != nil {
		return nil, err
	}
	return parse(content), nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// The first entries of logs.
const (
	logNew = iota
	logListed
)

// number gives the words their IDs, given for each in order of slots the index
// into logs, and sets their weights: a counting sort.
func number[W uint16 | uint32](m *Model, weights []W, logs []float64) {
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

// sections is what is left to read of a payload.
type sections []byte

// next returns the next section, of elements of that size.
func (s *sections) next(size int) []byte {
	end := 4 + size*int(binary.LittleEndian.Uint32(*s))
	section := (*s)[4:end]
	*s = (*s)[end:]
	return section
}

func numbers[T uint16 | uint32 | uint64 | int32 | float64](s *sections) []T {
	size := binary.Size(T(0))
	b := s.next(size)
	v := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, v) // b has just as many
	return v
}

// nodes reads the double array; its values are still 1 for every word. It also
// returns the index of the log weight of each word.
func (s *sections) nodes() ([]Node, []uint16) {
	checks := numbers[uint16](s)
	inner, bases := numbers[uint64](s), numbers[uint32](s)
	ends, weights := numbers[uint64](s), numbers[uint16](s)
	nodes := large.Make[Node](len(checks))
	for i, check := range checks {
		base := uint32(0)
		if inner[i/64]>>(i%64)&1 != 0 {
			base, bases = bases[0], bases[1:]
		}
		nodes[i] = newNode(check, base, uint32(ends[i/64]>>(i%64)&1))
	}
	return nodes, weights
}

func widened[W, N uint8 | uint16 | uint32](narrow []N) []W {
	wide := make([]W, len(narrow))
	for i, v := range narrow {
		wide[i] = W(v)
	}
	return wide
}

func parse(payload []byte) *Model {
	s := (*sections)(&payload)
	m := &Model{Runes: numbers[int32](s)}
	nodes, weights := s.nodes()
	m.Nodes = nodes
	number(m, weights, numbers[float64](s))
	scalars := numbers[float64](s)
	m.FreqSum, m.Median, m.Min, m.MeanIDF = scalars[0], scalars[1], scalars[2], scalars[3]
	m.Tags = strings.Split(strings.TrimSuffix(string(s.next(1)), "\n"), "\n")
	m.Tag = widened[uint16](s.next(1))
	m.IDFs = numbers[float64](s)
	m.IDF = widened[uint32](numbers[uint16](s))
	m.Stop = numbers[uint32](s)
	for line := range strings.Lines(string(s.next(1))) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		weight, _ := strconv.Atoi(f[1]) // as encode wrote it
		m.User = append(m.User, UserWord{Text: f[0], Weight: weight, Tag: f[2]})
	}
	hmm := numbers[float64](s)
	copy(m.Start[:], hmm)
	for i := range m.Trans {
		copy(m.Trans[i][:], hmm[States*(i+1):])
	}
	emissions := numbers[float64](s)
	m.Emit = make([][States]float64, len(m.Runes))
	for i := range m.Emit {
		copy(m.Emit[i][:], emissions[States*i:])
	}
	return m
}
