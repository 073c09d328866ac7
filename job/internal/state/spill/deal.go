package spill

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// A block is a header and the records of one dealer in one bucket, back to
// back: head, then with tails the tail's length as a uvarint and the tail. The
// header, little-endian: XXH3-64 of all that follows it; bucket and number of
// records, four bytes each.
const (
	headerBytes = 16
	blockBytes  = 64 << 10 // of a block at most, unless one record is larger
)

func seal(block []byte) {
	binary.LittleEndian.PutUint64(block, xxh3.Hash(block[8:]))
}

// bufferBytes bounds the blocks that the first dealer fills.
const bufferBytes = 64 << 20

// Dealer puts records into buckets, for one goroutine at a time.
type Dealer struct {
	to     *Buckets
	size   int     // of a block at most
	chunks []chunk // by bucket; nil when flushed
}

// chunk is a block that is being filled.
type chunk struct {
	block   []byte
	records uint32
}

// Dealer returns a new dealer, one for each goroutine that puts. From its
// first Put until Flush it takes at most 64 MiB; the second dealer at a time
// takes half of this, the third a third.
func (b *Buckets) Dealer() *Dealer { return &Dealer{to: b} }

// Put copies a record into a bucket. An error may be that of an earlier
// record, of any dealer.
func (d *Dealer) Put(bucket int, head, tail []byte) error {
	if d.chunks == nil {
		if err := d.begin(); err != nil {
			return err
		}
	}
	o := &d.to.options
	if uint(bucket) >= uint(len(d.chunks)) || len(head) != o.Head || len(tail) > 0 && (!o.Tail || len(tail) > maxTail) {
		return fmt.Errorf("spill: a record of %d and %d bytes for bucket %d: out of range", len(head), len(tail), bucket)
	}
	c := &d.chunks[bucket]
	need := len(head)
	if o.Tail {
		need += binary.MaxVarintLen32 + len(tail)
	}
	if len(c.block)+need > cap(c.block) {
		if err := d.room(bucket, need); err != nil {
			return err
		}
	}
	c.block = append(c.block, head...)
	if o.Tail {
		c.block = append(binary.AppendUvarint(c.block, uint64(len(tail))), tail...)
	}
	c.records++
	if len(c.block) >= d.size {
		return d.hand(bucket)
	}
	return nil
}

// begin makes the dealer an active one.
func (d *Dealer) begin() error {
	b := d.to
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	b.dealers++
	d.size = int(min(bufferBytes/b.dealers/int64(len(b.contents)), blockBytes))
	d.chunks = make([]chunk, len(b.contents))
	return nil
}

// room makes room for need bytes in a bucket's block, which grows up to d.size
// and is then handed over.
func (d *Dealer) room(bucket, need int) error {
	c := &d.chunks[bucket]
	if c.records > 0 && len(c.block)+need > d.size {
		if err := d.hand(bucket); err != nil {
			return err
		}
	}
	used := max(len(c.block), headerBytes)
	if used+need > cap(c.block) {
		grown := make([]byte, used, max(used+need, min(2*cap(c.block), d.size), min(512, d.size)))
		copy(grown, c.block)
		c.block = grown
	}
	return nil
}

// hand hands a bucket's block over.
func (d *Dealer) hand(bucket int) error {
	c := &d.chunks[bucket]
	binary.LittleEndian.PutUint32(c.block[8:], uint32(bucket))
	binary.LittleEndian.PutUint32(c.block[12:], c.records)
	if err := d.to.take(bucket, c.block, c.records); err != nil {
		return err
	}
	c.block, c.records = c.block[:headerBytes], 0
	if cap(c.block) > d.size { // for one large record
		c.block = nil
	}
	return nil
}

// Flush hands all records over and gives the dealer's memory back. Puts may
// follow.
func (d *Dealer) Flush() error {
	if d.chunks == nil {
		return nil
	}
	for i := range d.chunks {
		if d.chunks[i].records > 0 {
			if err := d.hand(i); err != nil {
				return err
			}
		}
	}
	d.chunks = nil
	d.to.mu.Lock()
	defer d.to.mu.Unlock()
	d.to.dealers--
	return d.to.err
}

// take writes a block to its file.
func (b *Buckets) take(bucket int, block []byte, records uint32) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	size := int64(len(block))
	f, at, err := b.reserve(bucket, size)
	if err != nil {
		return err
	}
	b.mu.Unlock()
	seal(block)
	_, err = f.WriteAt(block, at)
	b.mu.Lock()
	if err != nil {
		return b.fail(err)
	}
	c := &b.contents[bucket]
	c.runs = append(c.runs, run{at, size})
	c.records += int64(records)
	return nil
}

// reserve returns the file of a bucket and a place of size bytes in it; b.mu
// is held.
func (b *Buckets) reserve(bucket int, size int64) (file, int64, error) {
	i := bucket / b.perFile
	if b.files[i] == nil {
		f, err := b.create(b.options.Dir)
		if err != nil {
			return nil, 0, b.fail(err)
		}
		b.files[i] = &spillFile{file: f}
	}
	f := b.files[i]
	at := f.end
	f.end += size
	f.live += size
	return f.file, at, nil
}

// fail keeps the first error of writing for all who come later; b.mu is held.
func (b *Buckets) fail(err error) error {
	if b.err == nil {
		b.err = fmt.Errorf("spill: %w (free space or give --tmp another folder)", err)
	}
	return b.err
}
