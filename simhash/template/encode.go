package template

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"
)

// Both forms are little-endian, and end with the xxh3 of all before it:
//
//	model:   "ndtmpl1\n", number of sites u32, then per site, in order of its
//	         hash: hash u64, number of blocks u32, their hashes u64 of 48 bits
//	learner: "ndlrnr1\n", share f64 as its bits, min pages, site max, pages u32,
//	         limit u64, number of sites u32, then per site, in order of its hash:
//	         hash u64, number of pages u32, and per page key u64, rest u32, number
//	         of blocks u32, and per block u64, hash and letters
const (
	modelMagic   = "ndtmpl1\n"
	learnerMagic = "ndlrnr1\n"
)

// ErrDamaged says that what is read is no model, or no learner, or not whole.
var ErrDamaged = errors.New("template: damaged")

// AppendBinary appends the model's binary form. Equal models have the same.
func (m *Model) AppendBinary(dst []byte) ([]byte, error) {
	from := len(dst)
	dst = append(dst, modelMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(m.Sites()))
	if m != nil {
		for _, site := range slices.Sorted(maps.Keys(m.sites)) {
			set := m.sites[site]
			dst = binary.LittleEndian.AppendUint64(dst, site)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(set)))
			for _, h := range set {
				dst = binary.LittleEndian.AppendUint64(dst, h)
			}
		}
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[from:])), nil
}

// MarshalBinary is AppendBinary to nothing.
func (m *Model) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary makes m the model of a binary form. On an error, which is
// ErrDamaged, m stays as it was.
func (m *Model) UnmarshalBinary(blob []byte) error {
	in, err := open(blob, modelMagic)
	if err != nil {
		return err
	}
	sites := map[uint64][]uint64{}
	last := uint64(0)
	for i := range in.u32() {
		if in.bad {
			break
		}
		site, n := in.u64(), in.count(8)
		set := make([]uint64, n)
		for j := range set {
			set[j] = in.u64()
		}
		if in.bad || n == 0 || i > 0 && site <= last || !ascending(set) {
			return fmt.Errorf("%w: site %d of the model", ErrDamaged, i)
		}
		sites[site], last = set, site
	}
	if err := in.end(); err != nil {
		return err
	}
	m.sites = sites
	return nil
}

// AppendBinary appends the learner's binary form: what was sampled in one
// place can be merged in another.
func (l *Learner) AppendBinary(dst []byte) ([]byte, error) {
	from := len(dst)
	dst = append(dst, learnerMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(l.options.Share))
	for _, n := range []int{l.options.MinPages, l.options.SiteMax, l.options.Pages} {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	dst = binary.LittleEndian.AppendUint64(dst, l.limit)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l.sites)))
	for _, site := range slices.Sorted(maps.Keys(l.sites)) {
		pages := l.sites[site]
		dst = binary.LittleEndian.AppendUint64(dst, site)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(pages)))
		for _, p := range pages {
			dst = binary.LittleEndian.AppendUint64(dst, p.key)
			dst = binary.LittleEndian.AppendUint32(dst, p.rest)
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.blocks)))
			for _, e := range p.blocks {
				dst = binary.LittleEndian.AppendUint64(dst, uint64(e))
			}
		}
	}
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst[from:])), nil
}

// MarshalBinary is AppendBinary to nothing.
func (l *Learner) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary makes l the learner of a binary form. On an error, which is
// ErrDamaged, l stays as it was.
func (l *Learner) UnmarshalBinary(blob []byte) error {
	in, err := open(blob, learnerMagic)
	if err != nil {
		return err
	}
	out := Learner{sites: map[uint64][]page{}}
	out.options = Options{Share: math.Float64frombits(in.u64()), MinPages: int(in.u32()), SiteMax: int(in.u32()), Pages: int(in.u32())}
	out.limit = in.u64()
	if in.bad || out.options != out.options.filled() || out.options.Check() != nil {
		return fmt.Errorf("%w: options of the learner", ErrDamaged)
	}
	last := uint64(0)
	for i := range in.u32() {
		if in.bad {
			break
		}
		site, n := in.u64(), in.count(16)
		pages := make([]page, n)
		for j := range pages {
			p := page{key: in.u64(), rest: in.u32(), blocks: make([]entry, in.count(8))}
			for k := range p.blocks {
				p.blocks[k] = entry(in.u64())
				if k > 0 && p.blocks[k].hash() <= p.blocks[k-1].hash() {
					in.bad = true
				}
			}
			if len(p.blocks) > pageBlocks || j > 0 && pages[j-1].compare(p) >= 0 || p.key > out.limit {
				in.bad = true
			}
			if in.bad {
				break
			}
			pages[j] = p
		}
		if in.bad || n == 0 || n > out.options.SiteMax || i > 0 && site <= last {
			return fmt.Errorf("%w: site %d of the learner", ErrDamaged, i)
		}
		out.sites[site], last = pages, site
		out.pages += n
	}
	if err := in.end(); err != nil {
		return err
	}
	if out.pages > out.options.Pages {
		return fmt.Errorf("%w: %d pages of the learner", ErrDamaged, out.pages)
	}
	*l = out
	return nil
}

// cursor reads a binary form; bad says that it ended too early.
type cursor struct {
	left []byte
	bad  bool
}

// open checks what is around a binary form.
func open(blob []byte, magic string) (*cursor, error) {
	if len(blob) < len(magic)+8 || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %q", ErrDamaged, magic)
	}
	end := len(blob) - 8
	if xxh3.Hash(blob[:end]) != binary.LittleEndian.Uint64(blob[end:]) {
		return nil, fmt.Errorf("%w: its checksum is another", ErrDamaged)
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
		return fmt.Errorf("%w: it is of another length", ErrDamaged)
	}
	return nil
}

func ascending(set []uint64) bool {
	for i := 1; i < len(set); i++ {
		if set[i] <= set[i-1] {
			return false
		}
	}
	return true
}
