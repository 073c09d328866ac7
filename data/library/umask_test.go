//go:build unix

package library_test

import (
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/neardup/neardup/data/library"
)

// Folders have the rights that the umask leaves, so that a group can keep a
// library together.
func TestFoldersFollowTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o002))
	dir := filepath.Join(t.TempDir(), "lib")
	l := lock(t, dir, library.Options{})
	if err := l.KeepTemplates([]byte("templates")); err != nil {
		t.Fatal(err)
	}
	if _, err := add(t.Context(), l, "2026-11-01", []int{1, 2}, "a", "b"); err != nil {
		t.Fatal(err)
	}
	folders := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm() != 0o775 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		folders++
		return err
	})
	if err != nil || folders < 6 {
		t.Errorf("%d folders, %v", folders, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
