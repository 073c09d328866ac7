package input

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Expand lists the splits of the inputs, as source.Expand does, and puts small files
// together, as source.Combine does. It skips run directories and libraries inside input
// folders, so that you can write runs into the folder of the dump and do not read them
// back the next time. ignored is called with the path of each file that is not read.
func Expand(inputs []string, in config.Input, ignored func(path string)) ([]data.Split, error) {
	splits, err := ExpandFiles(inputs, in, ignored)
	return source.Combine(splits, in.SplitBytes, in.ReaderOptions()), err
}

// ExpandFiles is Expand without that: no split has more than one file.
func ExpandFiles(inputs []string, in config.Input, ignored func(path string)) ([]data.Split, error) {
	return source.Expand(inputs, source.ExpandOptions{Format: in.Format, Encoding: in.Encoding, SplitBytes: in.SplitBytes, Ignored: ignored, Skip: isOwn})
}

// ExpandFingerprints lists the splits of fingerprint files. A run directory
// stands for its fingerprints table, once it is complete.
func ExpandFingerprints(inputs []string) ([]data.Split, error) {
	for _, in := range inputs {
		done, known := rundir.IsRun(in)
		if known && !done {
			return nil, fmt.Errorf("%s is a run that is not finished: finish it first, or name %s", in, filepath.Join(in, rundir.Fingerprints))
		}
	}
	return source.ExpandFingerprints(inputs)
}

// isOwn reports whether a folder is a run directory or a library.
func isOwn(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, library.ManifestFile))
	return err == nil || rundir.Is(folder)
}
