package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// errFound ends a verification of a run or of an index that found something.
var errFound = errors.New("files are not what was written")

func newVerify(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify RUN|LIBRARY|INDEX",
		Short: "Compare a run, library or index with what was written",
		Long: `Reads every file of a run directory, finished or not, of a library, or of the
folder that look-ups keep their index in, and compares it with the size and the
digest that were noted when it was written. It changes nothing.`,
		Example: `  neardup verify runs/2026-11-20
  neardup verify lib/`,
		Args: need(1, message.Key("one run directory, library or index")),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			switch {
			case rundir.Is(path) || has(path, rundir.ManifestFile):
				return verifyRun(cmd, std, path, asJSON)
			case !has(path, library.ManifestFile) && sorted.Is(path):
				return verifyIndex(cmd, std, path, asJSON)
			}
			return verifyLibrary(cmd, std, path, asJSON) // or says that it is none
		},
	}
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

// has reports whether there is a file of that name in a folder.
func has(folder, name string) bool {
	_, err := os.Stat(filepath.Join(folder, name))
	return err == nil
}

func verifyRun(cmd *cobra.Command, std streams, path string, asJSON bool) error {
	reading, done := newScreen(std.err, *std.language, asJSON, false).progress(cmd.Name())
	defer done()
	v, err := job.VerifyRun(cmd.Context(), path, reading)
	done()
	if err != nil {
		return err
	}
	if err := std.printed(asJSON, v, v.Print); err != nil || v.Sound {
		return err
	}
	if v.Finished {
		return fmt.Errorf("%w: run it again with another --out, or remove the folder first", errFound)
	}
	return fmt.Errorf("%w: the same command goes on with the run, and makes them again", errFound)
}

// verifiedIndex is what was found of an index.
type verifiedIndex sorted.Verified

func (v verifiedIndex) print(w io.Writer, l message.Language) error {
	for _, line := range v.Damaged {
		if _, err := fmt.Fprintln(w, show.Line(l.Error(errors.New(line)))); err != nil {
			return err
		}
	}
	if len(v.Damaged) > 0 {
		return nil
	}
	_, err := fmt.Fprintln(w, l.Text("sound: %s in %s", show.Bytes(v.Bytes), l.Count(int64(v.Files), "file")))
	return err
}

func verifyIndex(cmd *cobra.Command, std streams, path string, asJSON bool) error {
	found, err := sorted.Verify(cmd.Context(), path)
	if err != nil {
		return err
	}
	v := verifiedIndex(found)
	if err := std.printed(asJSON, v, v.print); err != nil || len(v.Damaged) == 0 {
		return err
	}
	return fmt.Errorf("%w: remove these files, and the next look-up makes them again", errFound)
}
