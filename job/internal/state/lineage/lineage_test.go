package lineage_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/neardup/neardup/job/internal/state/lineage"
)

func TestLineageComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), lineage.File)
	want := map[uint64]lineage.Lineage{1 << 33: {Component: "2026-11-01/a", Versions: "2026-11-02/b"}, 0: {}}
	if err := lineage.Write(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := lineage.Read(path); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
