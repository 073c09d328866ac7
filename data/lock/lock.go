// Package lock locks a folder by a file in it, and says who has it: the file has
// a line for each holder. The lock is the operating system's, and goes with its
// process; the lines only tell. It never waits in silence.
package lock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld is returned for a lock that others hold.
var ErrHeld = errors.New("another process holds it")

// Options of Take.
type Options struct {
	Shared bool // with others that take it so
	// Waiting, when not nil, is called when others hold the lock, at once and
	// then every minute, with who they are, as far as that is known, and how long
	// it has been waited for.
	Waiting func(holders string, waited time.Duration)
	// Limit is how long the lock is waited for; 0: until the context ends, less
	// than 0: not at all.
	Limit time.Duration
	// Every is the time between two calls of Waiting; 0: a minute.
	Every time.Duration
}

// Lock is a lock that this process holds.
type Lock struct{ file *flock.Flock }

// retry is how often a lock that another process holds is tried again.
const retry = 100 * time.Millisecond

// Take takes the lock of the file at path, which is made. It has the permissions
// that its folder gives to write there: who may only read the folder cannot open
// the file, and so cannot hold the lock against those who write. An error of a
// process that may not is fs.ErrPermission.
func Take(ctx context.Context, path string, o Options) (*Lock, error) {
	mode := modeOf(filepath.Dir(path))
	if info, err := os.Stat(path); err == nil && info.Mode().Perm() != mode {
		_ = os.Chmod(path, mode) // its owner's to do
	}
	l := &Lock{flock.New(path, flock.SetPermissions(mode))}
	try := l.file.TryLock
	if o.Shared {
		try = l.file.TryRLock
	}
	every := o.Every
	if every <= 0 {
		every = time.Minute
	}
	began, told := time.Now(), time.Time{}
	for {
		got, err := try()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if got {
			l.sign(path, o.Shared)
			return l, nil
		}
		waited := time.Since(began)
		if o.Limit < 0 || o.Limit > 0 && waited >= o.Limit {
			return nil, fmt.Errorf("%s: %w: %s", path, ErrHeld, Holders(path))
		}
		if o.Waiting != nil && time.Since(told) >= every {
			o.Waiting(Holders(path), waited.Round(time.Second))
			told = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		case <-time.After(retry):
		}
	}
}

// modeOf is rw for those who may write in a folder.
func modeOf(folder string) fs.FileMode {
	mode := fs.FileMode(0o600)
	info, err := os.Stat(folder)
	if err != nil {
		return mode
	}
	for _, class := range []fs.FileMode{0o020, 0o002} {
		if info.Mode().Perm()&class != 0 {
			mode |= class | class<<1
		}
	}
	return mode
}

// sign writes a line for this process. It is no error if it cannot.
func (l *Lock) sign(path string, shared bool) {
	flags := os.O_WRONLY | os.O_TRUNC
	if shared {
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return
	}
	name := fmt.Sprintf("user %d", os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	_, _ = fmt.Fprintf(f, "process %d of %s on %s, since %s: %s\n", os.Getpid(), name, host, time.Now().Format(time.RFC3339), filepath.Base(os.Args[0]))
	_ = f.Close()
}

// Holders says who holds the lock of the file at path, as far as the file tells:
// those of this host that have ended are left out.
func Holders(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "nobody knows who"
	}
	host, _ := os.Hostname()
	var lines []string
	for line := range strings.Lines(string(text)) {
		var pid int
		_, err := fmt.Sscanf(line, "process %d of", &pid)
		if line = strings.TrimSpace(line); err != nil || strings.Contains(line, " on "+host+", ") && !runs(pid) {
			continue
		}
		lines = append(lines, line)
	}
	const most = 3
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	if len(lines) == 0 {
		return "nobody knows who: a process that is no neardup, or of another host"
	}
	return strings.Join(lines, "; ")
}

// runs reports whether a process of this host runs, where that can be told.
func runs(pid int) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// Unlock gives the lock up.
func (l *Lock) Unlock() error { return l.file.Unlock() }
