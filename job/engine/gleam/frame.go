package gleam

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// Everything that passes through gleam is a frame. Numbers are little-endian:
//
//	offset  size  what
//	     0     3  'N' 'D' 1
//	     3     1  kind
//	     4     1  stage that sent it
//	     5     3  zero
//	     8     8  attempt: frames of another attempt are refused
//	    16     4  task that sent it
//	    20     4  task that it is for
//	    24     4  records in the payload
//	    28     4  length of the payload
//	    32     n  payload
//	  32+n     8  XXH3-64 of all bytes before
const (
	frameHeader   = 32
	frameOverhead = frameHeader + 8
)

// Kinds of frames.
const (
	kindData  = 1 // records
	kindEnd   = 2 // ends what one task sends to another, with its account
	kindError = 3 // the task failed; a Failure in JSON
)

// Frames are sent once they hold frameBytes; maxFrame bounds what a receiver
// accepts.
const (
	frameBytes = 512 << 10
	maxFrame   = 4 << 20
)

// errFrame is returned for bytes that are no frame of the attempt.
var errFrame = errors.New("damaged frame")

type frame struct {
	kind    byte
	stage   stageID
	attempt uint64
	from    uint32
	to      uint32
	records uint32
	payload []byte
}

// begin appends the frame's header to dst; the payload follows, then seal.
func (f frame) begin(dst []byte) []byte {
	dst = append(dst, 'N', 'D', 1, f.kind, byte(f.stage), 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, f.attempt)
	dst = binary.LittleEndian.AppendUint32(dst, f.from)
	dst = binary.LittleEndian.AppendUint32(dst, f.to)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, 0)
}

// seal completes the frame that is all of b, and returns its checksum.
func seal(b []byte, records uint32) ([]byte, uint64) {
	binary.LittleEndian.PutUint32(b[24:], records)
	binary.LittleEndian.PutUint32(b[28:], uint32(len(b)-frameHeader))
	sum := xxh3.Hash(b)
	return binary.LittleEndian.AppendUint64(b, sum), sum
}

// encode returns the whole frame and its checksum.
func (f frame) encode() ([]byte, uint64) {
	return seal(append(f.begin(make([]byte, 0, frameOverhead+len(f.payload))), f.payload...), f.records)
}

// decodeFrame returns the frame that is all of b, its payload within b, and
// its checksum; errFrame if b is anything else.
func decodeFrame(b []byte, attempt uint64) (f frame, sum uint64, err error) {
	switch {
	case len(b) < frameOverhead:
		return f, 0, fmt.Errorf("%w: %d bytes", errFrame, len(b))
	case b[0] != 'N' || b[1] != 'D' || b[2] != 1 || b[5]|b[6]|b[7] != 0:
		return f, 0, fmt.Errorf("%w: it starts with %x", errFrame, b[:8])
	}
	body := b[:len(b)-8]
	if n := binary.LittleEndian.Uint32(b[28:]); uint64(n) != uint64(len(body)-frameHeader) {
		return f, 0, fmt.Errorf("%w: %d bytes of payload, its header says %d", errFrame, len(body)-frameHeader, n)
	}
	sum = xxh3.Hash(body)
	if sum != binary.LittleEndian.Uint64(b[len(body):]) {
		return f, 0, fmt.Errorf("%w: the checksum of %d bytes is wrong", errFrame, len(b))
	}
	f = frame{
		kind:    b[3],
		stage:   stageID(b[4]),
		attempt: binary.LittleEndian.Uint64(b[8:]),
		from:    binary.LittleEndian.Uint32(b[16:]),
		to:      binary.LittleEndian.Uint32(b[20:]),
		records: binary.LittleEndian.Uint32(b[24:]),
		payload: body[frameHeader:],
	}
	switch {
	case f.attempt != attempt:
		return f, 0, fmt.Errorf("%w: it is of another attempt", errFrame)
	case f.kind < kindData || f.kind > kindError:
		return f, 0, fmt.Errorf("%w: kind %d", errFrame, f.kind)
	}
	return f, sum, nil
}

// account is what one task sent to another: an END frame carries it, and the
// receiver compares it with what came. The sum of the frames' checksums does
// not depend on their order.
type account struct {
	frames  uint64
	records uint64
	sum     uint64
}

func (a *account) add(records uint32, sum uint64) {
	a.frames++
	a.records += uint64(records)
	a.sum += sum
}

// An END frame's payload is the account and how many document references its
// sender received, for the account of the whole flow.
const endBytes = 32

func (a account) append(dst []byte, references uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, a.frames)
	dst = binary.LittleEndian.AppendUint64(dst, a.records)
	dst = binary.LittleEndian.AppendUint64(dst, a.sum)
	return binary.LittleEndian.AppendUint64(dst, references)
}

func decodeEnd(b []byte) (a account, references uint64, err error) {
	if len(b) != endBytes {
		return a, 0, fmt.Errorf("%w: an end of %d bytes", errFrame, len(b))
	}
	a = account{
		frames:  binary.LittleEndian.Uint64(b),
		records: binary.LittleEndian.Uint64(b[8:]),
		sum:     binary.LittleEndian.Uint64(b[16:]),
	}
	return a, binary.LittleEndian.Uint64(b[24:]), nil
}

// ledger is a receiver's book: what came from each sender, and what each
// said at its end.
type ledger struct {
	stage      stageID // of the senders
	came       []account
	said       []*account
	references uint64
}

func newLedger(stage stageID, senders int) *ledger {
	return &ledger{stage: stage, came: make([]account, senders), said: make([]*account, senders)}
}

// enter books a data or END frame.
func (l *ledger) enter(f frame, sum uint64) error {
	if f.stage != l.stage || int(f.from) >= len(l.came) {
		return fmt.Errorf("%w: it comes from %s %d, where %d tasks of %s send", errFrame, f.stage, f.from, len(l.came), l.stage)
	}
	if f.kind == kindData {
		l.came[f.from].add(f.records, sum)
		return nil
	}
	a, references, err := decodeEnd(f.payload)
	if err != nil {
		return err
	}
	if l.said[f.from] != nil {
		return fmt.Errorf("%w: %s %d ended twice", errFrame, l.stage, f.from)
	}
	l.said[f.from] = &a
	l.references += references
	return nil
}

// close returns an error unless every sender ended and all of it came.
func (l *ledger) close() error {
	for i, said := range l.said {
		came := l.came[i]
		switch {
		case said == nil:
			return fmt.Errorf("%w: %s %d did not end: %d records came", errIncomplete, l.stage, i, came.records)
		case *said != came:
			return fmt.Errorf("%w: %s %d sent %d records in %d frames, %d in %d came", errIncomplete, l.stage, i, said.records, said.frames, came.records, came.frames)
		}
	}
	return nil
}

// errIncomplete is returned when a part of what was sent did not come.
var errIncomplete = errors.New("rows lost on the way")
