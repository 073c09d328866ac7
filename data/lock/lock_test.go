package lock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/neardup/neardup/data/lock"
)

func take(t *testing.T, path string, o lock.Options) *lock.Lock {
	t.Helper()
	l, err := lock.Take(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Who waits is told of who holds the lock, again and again, and gives up after
// the limit; who is gone is not named.
func TestHolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), ".lock")
		held := take(t, path, lock.Options{})
		own := fmt.Sprintf("process %d of ", os.Getpid())
		if got := lock.Holders(path); !strings.HasPrefix(got, own) || !strings.Contains(got, "since 2") {
			t.Errorf("held by %q", got)
		}
		var told []string
		_, err := lock.Take(t.Context(), path, lock.Options{Shared: true, Every: time.Millisecond, Limit: time.Second, Waiting: func(holders string, _ time.Duration) { told = append(told, holders) }})
		if !errors.Is(err, lock.ErrHeld) || !strings.Contains(err.Error(), own) || len(told) < 2 || !strings.HasPrefix(told[0], own) {
			t.Errorf("%v, told %q", err, told)
		}
		if _, err := lock.Take(t.Context(), path, lock.Options{Limit: -1}); !errors.Is(err, lock.ErrHeld) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = lock.Take(ctx, path, lock.Options{Waiting: func(string, time.Duration) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := held.Unlock(); err != nil {
			t.Fatal(err)
		}
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		gone := fmt.Sprintf("process %d of x on %s, since y: neardup\n", 1<<30, host)
		if err := os.WriteFile(path, []byte(gone+"process 7 of x on elsewhere, since y: neardup\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lock.Holders(path); got != "process 7 of x on elsewhere, since y: neardup" {
			t.Errorf("held by %q", got)
		}
		a, b := take(t, path, lock.Options{Shared: true}), take(t, path, lock.Options{Shared: true})
		if got := lock.Holders(path); strings.Count(got, own) != 2 {
			t.Errorf("held by %q", got)
		}
		if err := errors.Join(a.Unlock(), b.Unlock()); err != nil {
			t.Fatal(err)
		}
	})
}

// Only who may write in the folder may open the file, also one of an earlier
// program.
func TestMode(t *testing.T) {
	for folder, want := range map[os.FileMode]os.FileMode{0o755: 0o600, 0o775: 0o660, 0o777: 0o666, 0o700: 0o600} {
		dir := t.TempDir()
		path := filepath.Join(dir, ".lock")
		if err := errors.Join(os.Chmod(dir, folder), os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		if err := take(t, path, lock.Options{}).Unlock(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("in a folder of mode %v: %v, %v, want %v", folder, info.Mode(), err, want)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	path := filepath.Join(dir, ".lock")
	l, err := lock.Take(context.Background(), path, lock.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lock.Take(context.Background(), path, lock.Options{Limit: -1})
	fmt.Println(errors.Is(err, lock.ErrHeld))
	fmt.Println(l.Unlock(), os.RemoveAll(dir))
	// Output:
	// true
	// <nil> <nil>
}
