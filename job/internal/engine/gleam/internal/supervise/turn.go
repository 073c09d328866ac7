//go:build linux

package supervise

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// turn is a flow's turn to take slots of a cluster: of the user's runs on this
// host one has it, from before it looks for free slots until its workers stand on
// the agents, and the master knows that the slots are taken. Two runs that
// begin a flow at the same moment would both take the same.
type turn struct {
	lock   *flock.Flock // the kernel unlocks it with the end of the process
	wanted int          // slots
}

// takeTurn waits for the turn at so many slots of a cluster: for the lock of the
// file, which nobody but the user can hold, since its folder is made for him
// alone. It has the turn anyway after that patience: a run that hangs keeps no
// other from its work. Where the file cannot be locked there are no turns.
func takeTurn(ctx context.Context, log *slog.Logger, path string, wanted int, patience time.Duration) (*turn, error) {
	t := &turn{lock: flock.New(path, flock.SetPermissions(0o644)), wanted: wanted} // root's, too, may be locked by the user
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		_, err = t.lock.TryLockContext(waiting, 100*time.Millisecond)
	}
	switch {
	case ctx.Err() != nil:
		t.end()
		return nil, ctx.Err()
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		log.Warn("runs that begin a flow at the same moment may take the same slots", "error", err)
	}
	return t, nil
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

func (t *turn) end() { _ = t.lock.Close() } // nothing was written
