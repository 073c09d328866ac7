//go:build linux

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrIncomplete is returned when a part of what was sent did not come.
var ErrIncomplete = errors.New("rows lost on the way")

// account is what one task sent to another: an End frame carries it, and the
// receiver compares it with what came. The sum of the frames' checksums does
// not depend on their order.
type account struct {
	frames, records, sum uint64
}

func (a *account) add(records uint32, sum uint64) {
	a.frames++
	a.records += uint64(records)
	a.sum += sum
}

// An End frame's payload is the account and what its sender counted of its own
// input, for the account of the whole flow.
const endBytes = 32

func (a account) append(dst []byte, counted uint64) []byte {
	for _, n := range [...]uint64{a.frames, a.records, a.sum, counted} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	return dst
}

func decodeEnd(b []byte) (a account, counted uint64, err error) {
	if len(b) != endBytes {
		return a, 0, fmt.Errorf("%w: an end of %d bytes", ErrFrame, len(b))
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	return account{frames: at(0), records: at(1), sum: at(2)}, at(3), nil
}

// Ledger is a receiver's ledger: what came from each sender, and what each said
// at its end. It is not safe for concurrent use.
type Ledger struct {
	name    string
	step    byte
	came    []account
	said    []*account
	counted uint64
}

// NewLedger returns the ledger of a receiver to which so many tasks of a step
// send; name is the step's, for errors.
func NewLedger(name string, step byte, senders int) *Ledger {
	return &Ledger{name: name, step: step, came: make([]account, senders), said: make([]*account, senders)}
}

// Enter books a Data or End frame with its checksum; ErrFrame if it has no
// place in the ledger.
func (l *Ledger) Enter(f Frame, sum uint64) error {
	if f.Step != l.step || int(f.From) >= len(l.came) {
		return fmt.Errorf("%w: it comes from step %d, task %d, where %d tasks of %s (step %d) send", ErrFrame, f.Step, f.From, len(l.came), l.name, l.step)
	}
	if f.Kind == Data {
		l.came[f.From].add(f.Records, sum)
		return nil
	}
	a, counted, err := decodeEnd(f.Payload)
	if err != nil {
		return err
	}
	if l.said[f.From] != nil {
		return fmt.Errorf("%w: %s %d ended twice", ErrFrame, l.name, f.From)
	}
	l.said[f.From] = &a
	l.counted += counted
	return nil
}

// Counted is the sum of what the senders said they counted.
func (l *Ledger) Counted() uint64 { return l.counted }

// Close returns ErrIncomplete unless every sender ended and all of it came.
func (l *Ledger) Close() error {
	for i, said := range l.said {
		came := l.came[i]
		switch {
		case said == nil:
			return fmt.Errorf("%w: %s %d did not end: %d records came", ErrIncomplete, l.name, i, came.records)
		case *said != came:
			return fmt.Errorf("%w: %s %d sent %d records in %d frames, %d in %d came", ErrIncomplete, l.name, i, said.records, said.frames, came.records, came.frames)
		}
	}
	return nil
}
