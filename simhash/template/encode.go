package template

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"
)

// The magics begin the binary forms of a model and of what a learner has
// sampled, which are little-endian and end with the xxh3 of all before it. A
// model is the number of sites u32, then per site, in order of its hash, the
// hash u64, the number of pages u32, of blocks u32, and the hashes of these u64
// of 48 bits. A sample is the most pages of a site u32, the limit u64 and the
// number of sites u32, then per site the hash u64 and the number of pages u32,
// then per page its key u64, the length of its id u32, the id, and the page: rest
// u32, the number of blocks u32, of these hash and exact u64, the number of
// shingles u32, of these hash and block u32.
const (
	magicModel  = "ndtmpl2\n"
	magicSample = "ndtsmp2\n"
)

// errDamaged says that what is read is not of the form, or not whole.
var errDamaged = errors.New("template: damaged")

// MarshalBinary returns the model's binary form. Equal models have the same.
func (m *Model) MarshalBinary() ([]byte, error) {
	dst := []byte(magicModel)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(m.Sites()))
	if m != nil {
		for _, name := range slices.Sorted(maps.Keys(m.sites)) {
			s := m.sites[name]
			dst = binary.LittleEndian.AppendUint64(dst, name)
			dst = binary.LittleEndian.AppendUint32(dst, s.pages)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.blocks)))
			for _, h := range s.blocks {
				dst = binary.LittleEndian.AppendUint64(dst, h)
			}
		}
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst)), nil
}

// UnmarshalBinary makes m the model of a binary form. On an error, which is
// errDamaged, m stays as it was.
func (m *Model) UnmarshalBinary(blob []byte) error {
	in, err := open(magicModel, blob)
	if err != nil {
		return err
	}
	sites := map[uint64]*site{}
	last := uint64(0)
	for i := range in.u32() {
		if in.bad {
			break
		}
		name, pages, n := in.u64(), in.u32(), in.count(8)
		set := make([]uint64, n)
		for j := range set {
			set[j] = in.u64()
		}
		if in.bad || n == 0 || i > 0 && name <= last || !ascending(set) {
			return fmt.Errorf("%w: site %d of the model", errDamaged, i)
		}
		sites[name], last = newSite(pages, set), name
	}
	if err := in.end(); err != nil {
		return err
	}
	m.sites = sites
	return nil
}

// MarshalBinary returns the binary form of what the learner has sampled.
func (l *Learner) MarshalBinary() ([]byte, error) {
	dst := []byte(magicSample)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(l.siteMax))
	dst = binary.LittleEndian.AppendUint64(dst, l.limit)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l.sites)))
	for _, name := range slices.Sorted(maps.Keys(l.sites)) {
		dst = binary.LittleEndian.AppendUint64(dst, name)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l.sites[name])))
		for _, p := range l.sites[name] {
			dst = binary.LittleEndian.AppendUint64(dst, p.key)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.id)))
			dst = appendPage(append(dst, p.id...), p)
		}
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst)), nil
}

// appendPage appends what is known of a page.
func appendPage(dst []byte, p *page) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.rest)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.blocks)))
	for _, e := range p.blocks {
		dst = binary.LittleEndian.AppendUint64(dst, e.hash)
		dst = binary.LittleEndian.AppendUint64(dst, e.exact)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.shingles)))
	for _, s := range p.shingles {
		dst = binary.LittleEndian.AppendUint32(dst, s.hash())
		dst = binary.LittleEndian.AppendUint32(dst, s.block())
	}
	return dst
}

// page reads what appendPage appended.
func (c *cursor) page() *page {
	p := new(page)
	p.rest = c.u32()
	p.blocks = make([]entry, c.count(16))
	for i := range p.blocks {
		p.blocks[i] = entry{c.u64(), c.u64()}
	}
	p.shingles = make([]shingle, c.count(8))
	for i := range p.shingles {
		p.shingles[i] = shingleOf(c.u32(), c.u32())
	}
	return p
}

// AddSample adds what another learner has sampled, by its binary form. Its error is errDamaged.
func (l *Learner) AddSample(blob []byte) error {
	in, err := open(magicSample, blob)
	if err != nil {
		return err
	}
	other := NewLearner()
	other.siteMax, other.limit = int(in.u32()), in.u64()
	for range in.u32() {
		if in.bad {
			break
		}
		name := in.u64()
		for range in.count(20) {
			key, id := in.u64(), bytes.Clone(in.take(in.count(1)))
			p := in.page()
			p.key, p.id = key, id
			other.sites[name] = append(other.sites[name], p)
		}
	}
	if err := in.end(); err != nil {
		return err
	}
	l.Merge(other)
	return nil
}

// cursor reads a binary form; bad says that it ended too early.
type cursor struct {
	left []byte
	bad  bool
}

// open checks what is around a binary form.
func open(magic string, blob []byte) (*cursor, error) {
	if len(blob) < len(magic)+8 || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %q; learn it again with this version", errDamaged, magic)
	}
	end := len(blob) - 8
	if xxh3.Hash(blob[:end]) != binary.LittleEndian.Uint64(blob[end:]) {
		return nil, fmt.Errorf("%w: its checksum is another", errDamaged)
	}
	return &cursor{left: blob[len(magic):end]}, nil
}

func (c *cursor) take(n int) []byte {
	if n > len(c.left) {
		c.bad, c.left = true, nil
		return make([]byte, n)
	}
	b := c.left[:n]
	c.left = c.left[n:]
	return b
}

func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

// count reads a number of items of at least that size, which are there.
func (c *cursor) count(size int) int {
	n := int(c.u32())
	if n > len(c.left)/size {
		c.bad = true
		return 0
	}
	return n
}

func (c *cursor) end() error {
	if c.bad || len(c.left) > 0 {
		return fmt.Errorf("%w: it is of another length", errDamaged)
	}
	return nil
}

// ascending reports whether each number is greater than the one before.
func ascending(set []uint64) bool {
	return slices.IsSorted(set) && len(slices.Compact(set)) == len(set)
}
