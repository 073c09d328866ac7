package gunzip

import "encoding/binary"

// fast unpacks literals and copies while there are spareIn bytes of src and
// there is room, up to the first that is not of these, or wrong.
func (z *Reader) fast() {
	if len(z.src)-z.pos < spareIn {
		return
	}
	if hasFast {
		unpack(z)
		return
	}
	b, n := z.bits, z.n
	src, pos, buf, w := z.src, z.pos, z.buf, z.w
	end := len(buf) - spareOut
	for pos <= len(src)-spareIn && w < end {
		b |= binary.LittleEndian.Uint64(src[pos:]) << (n & 63)
		pos += int(63-n) >> 3
		n |= 56
		e := z.lit[b&litMask]
		for e&literal != 0 && n >= litBits {
			binary.LittleEndian.PutUint16(buf[w:], uint16(e>>valueShift))
			w += int(e >> countShift & 3)
			b >>= e & 63
			n -= uint(e & bitsMask)
			e = z.lit[b&litMask]
		}
		if n < lengthBits+distanceBits {
			continue
		}
		if e = z.lit.entry(b); e&(literal|exceptional) != 0 {
			break
		}
		after := b >> (e & 63)
		d := z.dist.entry(after)
		length, distance := e.value(b), d.value(after)
		if d&exceptional != 0 || distance > w-z.began {
			break
		}
		b = after >> (d & 63)
		n -= uint(e&bitsMask + d&bitsMask)
		if distance >= length {
			copy(buf[w:w+length], buf[w-distance:])
			w += length
			continue
		}
		for range length {
			buf[w] = buf[w-distance]
			w++
		}
	}
	z.bits, z.n, z.pos, z.w = b, n, pos, w
}
