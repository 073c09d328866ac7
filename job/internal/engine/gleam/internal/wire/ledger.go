//go:build linux

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrIncomplete is returned when not everything that was sent arrived.
var ErrIncomplete = errors.New("rows lost on the way")

// account counts the Data frames of one task to another. The sender puts it into
// its End frame; the receiver keeps its own and compares. The checksums are added,
// so their sum does not depend on the order of the frames.
type account struct {
	frames, records, sum uint64
}

func (a *account) add(records uint32, sum uint64) {
	a.frames++
	a.records += uint64(records)
	a.sum += sum
}

// An End frame's payload is four u64: the account, and a count that the sender made
// of its own input. With the sum of these counts the driver checks the whole flow.
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

// Ledger is a receiver's record of what arrived from each sender, and of what each
// sender says it sent. It is not safe for concurrent use.
type Ledger struct {
	name    string
	step    byte
	came    []account
	said    []*account
	counted uint64
}

// NewLedger returns the ledger of a task that receives from so many senders, the
// tasks of step; name is that step's, for errors.
func NewLedger(name string, step byte, senders int) *Ledger {
	return &Ledger{name: name, step: step, came: make([]account, senders), said: make([]*account, senders)}
}

// Enter records a Data or End frame with its checksum. The error is ErrFrame if the
// frame comes from another step or from a sender that does not exist, or if it is a
// sender's second End.
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

// Counted is the sum of the counts in the senders' End frames.
func (l *Ledger) Counted() uint64 { return l.counted }

// Close returns ErrIncomplete unless every sender's End frame came and all that the
// senders say they sent arrived.
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
