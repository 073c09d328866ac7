package parquet_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

var errDisk = errors.New("no space left on device")

// fullDisk is the real file system, but its at-th write, sync or rename
// fails.
type fullDisk struct{ at, n int }

func (d *fullDisk) op() error {
	d.n++
	if d.n-1 == d.at {
		return errDisk
	}
	return nil
}

func (d *fullDisk) CreateTemp(dir, pattern string) (data.File, error) {
	f, err := data.OS.CreateTemp(dir, pattern)
	return &fullDiskFile{f, d}, err
}

func (d *fullDisk) Rename(from, to string) error {
	if err := d.op(); err != nil {
		return err
	}
	return data.OS.Rename(from, to)
}

func (d *fullDisk) Remove(path string) error { return data.OS.Remove(path) }
func (d *fullDisk) SyncDir(dir string) error { return data.OS.SyncDir(dir) }

type fullDiskFile struct {
	data.File
	disk *fullDisk
}

func (f *fullDiskFile) Write(p []byte) (int, error) {
	if err := f.disk.op(); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *fullDiskFile) Sync() error {
	if err := f.disk.op(); err != nil {
		return err
	}
	return f.File.Sync()
}

// TestFullDisk fails every operation in turn: the sinks return the error,
// never panic, and leave no file.
func TestFullDisk(t *testing.T) {
	source := filepath.Join(t.TempDir(), "source.parquet")
	rows := 30_000
	if testing.Short() {
		rows = 3000
	}
	writeFingerprints(t, source, rows, parquet.Options{})
	for name, write := range map[string]func(path string, o parquet.Options) error{
		"table": func(path string, o parquet.Options) error {
			w, err := parquet.Create(path, &data.Fingerprints, o)
			if err != nil {
				return err
			}
			for i := range rows {
				row := fingerprintRow(i)
				if err := w.Write(&row); err != nil {
					return errors.Join(err, w.Abort())
				}
			}
			return w.Commit()
		},
		"copy": func(path string, o parquet.Options) error {
			_, err := parquet.CopyFile(path, data.Split{Path: source, End: -1}, o, parquet.Changes{}, func(int, int64) bool { return true })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				dir := t.TempDir()
				err := write(filepath.Join(dir, "part.parquet"), parquet.Options{FS: &fullDisk{at: at}})
				entries, readErr := os.ReadDir(dir)
				if readErr != nil {
					t.Fatal(readErr)
				}
				if err == nil {
					if len(entries) != 1 || at < 3 {
						t.Errorf("after %d operations: %v", at, entries)
					}
					break
				}
				if !errors.Is(err, errDisk) || len(entries) > 0 {
					t.Errorf("operation %d fails: %v, left behind %v", at, err, entries)
				}
			}
		})
	}
}
