//go:build linux

package wire_test

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/wire"
)

// A receiver learns that a part of what was sent to it did not come.
func ExampleLedger() {
	const attempt, step = 7, 1
	var rows bytes.Buffer
	send := wire.NewSender(wire.NewWriter(&rows), wire.Frame{Step: step, Attempt: attempt}, 1, nil)
	err := errors.Join(
		send.Put(0, append(send.Record(0), "one"...)), send.Flush(),
		send.Put(0, append(send.Record(0), "two"...)), send.Flush(),
		send.End(2))

	ledger := wire.NewLedger("segment", step, 1)
	lost := true
	err = errors.Join(err, wire.NewReader(&rows).Each(attempt, func(f wire.Frame, sum uint64) error {
		if lost {
			lost = false
			return nil
		}
		return ledger.Enter(f, sum)
	}))
	fmt.Println(err, ledger.Close())
	// Output: <nil> rows lost on the way: segment 0 sent 2 records in 2 frames, 1 in 1 came
}
