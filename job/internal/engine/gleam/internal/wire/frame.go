//go:build linux

// Package wire defines what travels through gleam: frames with a checksum, the rows
// that carry them, and the accounts by which a receiver knows that everything
// arrived. gleam can lose rows and report success; these accounts notice it.
//
// A Sender packs a task's records into frames, one stream of frames for each
// destination, and keeps an account of each: frames, records, and the sum of the
// frames' checksums. Its last frame to a destination, End, carries the account.
//
//	sender 0 ─ Data Data … End(3 frames, 900 records, sum) ─┐
//	sender 1 ─ Data … End(1 frame, 12 records, sum) ────────┼─► Ledger of the receiver
//	sender 2 ─ … no End ────────────────────────────────────┘   Close: ErrIncomplete
//
// The receiver enters each frame into its Ledger. Closing the ledger succeeds only
// if every sender's End came and each account equals what came. The order in which
// frames arrive does not matter.
//
// The package does not import gleam, and does not interpret payloads.
package wire

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
//	     4     1  step of the flow that sent it
//	     5     3  zero
//	     8     8  attempt: frames of another attempt are refused
//	    16     4  task that sent it
//	    20     4  task that it is for
//	    24     4  records in the payload
//	    28     4  length of the payload
//	    32     n  payload
//	  32+n     8  XXH3-64 of all bytes before
const (
	header   = 32
	overhead = header + 8
)

// Kinds of frames.
const (
	Data  = 1 // records
	End   = 2 // the last frame of one task to another, with the account of the others
	Error = 3 // the task failed; the payload says how
)

// A frame is sent once it has FrameBytes. A receiver refuses rows that are longer
// than maxFrame allows.
const (
	FrameBytes = 512 << 10
	maxFrame   = 4 << 20
)

// ErrFrame is returned for bytes that are not a valid frame of this attempt. Callers
// wrap it for a payload that they cannot decode.
var ErrFrame = errors.New("damaged frame")

// Frame is one frame. The Payload of a decoded frame shares memory with the bytes
// that Decode was given.
type Frame struct {
	Kind     byte
	Step     byte // the step of the flow that sent it
	Attempt  uint64
	From, To uint32 // numbers of the tasks that send and receive it
	Records  uint32 // in the payload
	Payload  []byte
}

// begin appends the frame's header to dst. The caller appends the payload and then
// calls seal.
func (f Frame) begin(dst []byte) []byte {
	dst = append(dst, 'N', 'D', 1, f.Kind, f.Step, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, f.Attempt)
	dst = binary.LittleEndian.AppendUint32(dst, f.From)
	dst = binary.LittleEndian.AppendUint32(dst, f.To)
	return binary.LittleEndian.AppendUint64(dst, 0) // seal puts records and length here
}

// seal completes the frame in b, which holds header and payload: it fills in both
// lengths and appends the checksum, which it also returns.
func seal(b []byte, records uint32) ([]byte, uint64) {
	binary.LittleEndian.PutUint32(b[24:], records)
	binary.LittleEndian.PutUint32(b[28:], uint32(len(b)-header))
	sum := xxh3.Hash(b)
	return binary.LittleEndian.AppendUint64(b, sum), sum
}

// Encode returns the whole frame and its checksum.
func (f Frame) Encode() ([]byte, uint64) {
	return seal(append(f.begin(make([]byte, 0, overhead+len(f.Payload))), f.Payload...), f.Records)
}

// Decode decodes b, which must be one whole frame of the attempt, and returns it
// with its checksum. Anything else is ErrFrame.
func Decode(b []byte, attempt uint64) (f Frame, sum uint64, err error) {
	switch {
	case len(b) < overhead:
		return f, 0, fmt.Errorf("%w: %d bytes", ErrFrame, len(b))
	case b[0] != 'N' || b[1] != 'D' || b[2] != 1 || b[5]|b[6]|b[7] != 0:
		return f, 0, fmt.Errorf("%w: it starts with %x", ErrFrame, b[:8])
	}
	body := b[:len(b)-8]
	if n := binary.LittleEndian.Uint32(b[28:]); uint64(n) != uint64(len(body)-header) {
		return f, 0, fmt.Errorf("%w: %d bytes of payload, its header says %d", ErrFrame, len(body)-header, n)
	}
	sum = xxh3.Hash(body)
	if sum != binary.LittleEndian.Uint64(b[len(body):]) {
		return f, 0, fmt.Errorf("%w: the checksum of %d bytes is wrong", ErrFrame, len(b))
	}
	f = Frame{
		Kind:    b[3],
		Step:    b[4],
		Attempt: binary.LittleEndian.Uint64(b[8:]),
		From:    binary.LittleEndian.Uint32(b[16:]),
		To:      binary.LittleEndian.Uint32(b[20:]),
		Records: binary.LittleEndian.Uint32(b[24:]),
		Payload: body[header:],
	}
	switch {
	case f.Attempt != attempt:
		return f, 0, fmt.Errorf("%w: it is of another attempt", ErrFrame)
	case f.Kind < Data || f.Kind > Error:
		return f, 0, fmt.Errorf("%w: kind %d", ErrFrame, f.Kind)
	}
	return f, sum, nil
}
