//go:build linux

package supervise

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// turn is a flow's turn to take slots of a cluster: of the runs of this host
// one has it, from before it looks for free slots until its workers stand on
// the agents, and the master knows that the slots are taken. Two runs that
// begin a flow at the same moment would both take the same.
type turn struct {
	l      net.Listener // holds the turn: the kernel ends it with the process
	wanted int          // slots
}

// takeTurn waits for the turn at so many slots of the master's cluster. It has
// it anyway after that patience: a run that hangs keeps no other from its work.
func takeTurn(ctx context.Context, master string, wanted int, patience time.Duration) (*turn, error) {
	for began := time.Now(); ; {
		l, err := net.Listen("unix", "@neardup-slots/"+master)
		if err == nil {
			return &turn{l: l, wanted: wanted}, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Since(began) > patience {
			return &turn{wanted: wanted}, nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// look ends the turn once all of the flow's workers have reported.
func (t *turn) look(all []attempt.Progress) {
	workers := 0
	for _, p := range all {
		if p.Stage != attempt.Driver {
			workers++
		}
	}
	if workers >= t.wanted {
		t.end()
	}
}

func (t *turn) end() {
	if t.l != nil {
		_ = t.l.Close() // nothing was written
		t.l = nil
	}
}
