package template

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zeebo/xxh3"
)

// magic begins the binary form, which is little-endian and ends with the xxh3 of
// all before it: the number of sites u32, then per site, in order of its hash,
// the hash u64, the number of blocks u32, and their hashes u64 of 48 bits.
const magic = "ndtmpl1\n"

// errDamaged says that what is read is no model, or not whole.
var errDamaged = errors.New("template: damaged")

// MarshalBinary returns the model's binary form. Equal models have the same.
func (m *Model) MarshalBinary() ([]byte, error) {
	dst := []byte(magic)
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
	return binary.LittleEndian.AppendUint64(dst, xxh3.Hash(dst)), nil
}

// UnmarshalBinary makes m the model of a binary form. On an error, which is
// errDamaged, m stays as it was.
func (m *Model) UnmarshalBinary(blob []byte) error {
	in, err := open(blob)
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
			return fmt.Errorf("%w: site %d of the model", errDamaged, i)
		}
		sites[site], last = set, site
	}
	if err := in.end(); err != nil {
		return err
	}
	m.sites = sites
	return nil
}

// cursor reads a binary form; bad says that it ended too early.
type cursor struct {
	left []byte
	bad  bool
}

// open checks what is around a binary form.
func open(blob []byte) (*cursor, error) {
	if len(blob) < len(magic)+8 || string(blob[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %q", errDamaged, magic)
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

func ascending(set []uint64) bool {
	for i := 1; i < len(set); i++ {
		if set[i] <= set[i-1] {
			return false
		}
	}
	return true
}
