package job

import (
	"testing"

	"github.com/neardup/neardup/data"
)

// Small files are counted, pieces of large ones and standard input are not.
func TestSmallFiles(t *testing.T) {
	n, size := smallFiles([]data.Split{{Size: 0}, {Size: 400}, {Size: smallFile - 1}, {Size: smallFile}, {Size: 1 << 30, Start: 1 << 20, End: 1<<20 + 10}, {Size: -1, End: -1}})
	if n != 3 || size != 400+smallFile-1 {
		t.Errorf("%d small files of %d bytes, want 3 of %d", n, size, 400+smallFile-1)
	}
}
