//go:build unix

package sorted_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/neardup/neardup/data/lookup/sorted"
)

// The folder has the rights that the umask leaves, also when Put makes it again.
func TestFolderFollowsTheUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o002))
	dir := filepath.Join(t.TempDir(), "index")
	s, err := sorted.Open(dir, schemaOf(64), sorted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []bool{false, true} {
		if again {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := s.Put(t.Context(), "p", one); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o775 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
