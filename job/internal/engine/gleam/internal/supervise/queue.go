//go:build linux

package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
)

// turn is a flow's turn to take slots of a cluster. One run at a time has it: from
// before it looks for free slots until all its workers have reported, when the
// master knows that the slots are taken. Without turns, two runs that begin a flow
// at the same moment would both take the same slots.
type turn struct {
	queue
	wanted int // slots
	stands bool
}

// queue decides whose turn it is. In a cluster with a network namespace it is
// served beside the master, for runs on all hosts (netns.Place). In one without, a
// locked file orders only this user's runs on this host (lock).
type queue interface {
	// Try reports, without blocking, whether the run has the turn, and describes
	// the runs that have the turn or slots.
	Try() (mine bool, holder string, err error)
	Stand()       // passes the turn on: this run has its slots
	Close() error // leaves the queue
}

var (
	_ queue = (*netns.Place)(nil)
	_ queue = (*lock)(nil)
)

// takeTurn waits for the turn to take so many slots. After r.Stall the run goes on
// without it, so that a run that hangs does not block the others. If the queue
// cannot be reached, takeTurn logs a warning and returns at once.
func (r *Run) takeTurn(ctx context.Context, wanted int) (*turn, error) {
	who := owner(r.Job.Dir.Path())
	if cluster.Namespace == nil {
		return takeTurn(ctx, r.Job.Log, newLock(netns.LockPath(r.Master), who), wanted, r.Stall)
	}
	place, err := cluster.Namespace.Queue(ctx, r.Master, who)
	if err != nil {
		return takeTurn(ctx, r.Job.Log, none{err}, wanted, r.Stall)
	}
	return takeTurn(ctx, r.Job.Log, place, wanted, r.Stall)
}

func takeTurn(ctx context.Context, log *slog.Logger, by queue, wanted int, patience time.Duration) (*turn, error) {
	const quiet = 2 * time.Second // a shorter wait is not logged
	wait := 5 * time.Millisecond  // the queue answers at once if nobody has the turn
	t := &turn{queue: by, wanted: wanted}
	told := ""
	for began := time.Now(); ; {
		mine, holder, err := t.Try()
		waited := time.Since(began)
		switch {
		case mine || waited > patience:
			return t, nil
		case err != nil:
			log.Warn("runs that begin a flow at the same moment may take the same slots", "error", err)
			return t, nil
		case waited > quiet && holder != told:
			told = holder
			log.Info("waiting for "+holder, "at most", patience)
		}
		if err := sleep(ctx, wait); err != nil {
			t.end()
			return nil, err
		}
		wait = min(2*wait, 100*time.Millisecond)
	}
}

// look passes the turn on once all of the flow's workers have reported.
func (t *turn) look(all []attempt.Progress) {
	workers := 0
	for _, p := range all {
		if p.Stage != attempt.Driver {
			workers++
		}
	}
	if workers >= t.wanted && !t.stands {
		t.stands = true
		t.Stand()
	}
}

func (t *turn) end() { _ = t.Close() } // nothing was written

// others describes the runs that are known to have slots or the turn; "" if none is.
func (t *turn) others() string {
	_, holder, _ := t.Try() // after an error none is known
	return holder
}

// owner names a run: its user, host and directory.
func owner(dir string) string {
	name := fmt.Sprintf("user %d", os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname() // the user and the folder say enough
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	return fmt.Sprintf("%s on %s (%s)", name, host, dir)
}

// lock is a queue by a locked file. Only this user can hold the lock, since the
// file's folder is the user's alone. The file contains the holder's name.
type lock struct {
	*flock.Flock // the kernel releases it when the process ends
	name         string
}

func newLock(path, name string) *lock {
	return &lock{flock.New(path, flock.SetPermissions(0o644)), name} // root's, too, may be locked by the user
}

func (l *lock) Try() (mine bool, holder string, err error) {
	if l.Locked() {
		return true, "", nil
	}
	if err := os.MkdirAll(filepath.Dir(l.Path()), 0o700); err != nil {
		return false, "", err
	}
	if mine, err = l.TryLock(); err != nil {
		return false, "", err
	}
	if mine {
		_ = os.WriteFile(l.Path(), []byte(l.name), 0o644) // for others' logs
		return true, "", nil
	}
	text, err := os.ReadFile(l.Path())
	info, serr := os.Stat(l.Path())
	if err = errors.Join(err, serr); err != nil {
		return false, "", err
	}
	return false, fmt.Sprintf("the run of %s since %s", text, info.ModTime().Format(time.RFC3339)), nil
}

func (l *lock) Stand() { _ = l.Close() } // nothing was written through it

// none stands for a queue that cannot be reached.
type none struct{ err error }

func (n none) Try() (bool, string, error) { return false, "", n.err }
func (none) Stand()                       {}
func (none) Close() error                 { return nil }
