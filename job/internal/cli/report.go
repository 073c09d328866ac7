package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/report"
	"github.com/neardup/neardup/job/internal/show"
)

func newReport(std streams) *cobra.Command {
	var page string
	var index, narrow bool
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Show a finished run on a page",
		Long: `Writes one page of HTML about a finished run and prints its path. It follows
the order of a morning: what changed since last night, against the nights
before; sources that lost much; growing and large clusters; pairs to read, near
the limit on both sides; what the clean dump left out and for which document;
then input, join, library and settings, with texts side by side. Of an earlier
night's document it has the text while that night's run directory stands beside
RUN. Of a run against a reference it shows what was found by set, the texts that
most documents have, and hits to read.

The page needs no network. It has a search, sorts its tables, and takes half a
megabyte at most. It is report.html in RUN, or what --html names; - is standard
output. With --index the argument is the folder of the runs, and the page lists
them all: index.html there.`,
		Example: `  neardup report night1
  neardup report night1 --html - > night1.html
  neardup report --index runs`,
		Args: need(1, message.Key("one run directory, or with --index the folder of the runs")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if index {
				x, err := report.ReadIndex(args[0])
				if errors.Is(err, fs.ErrNotExist) {
					err = fmt.Errorf("%w: name the folder of the runs", err)
				}
				if err != nil {
					return usageError{err}
				}
				return std.writeReport(cmp.Or(page, filepath.Join(args[0], "index.html")), func(w io.Writer) error { return x.WriteHTML(w, *std.language) })
			}
			pass, done := newScreen(std.err, *std.language, false, false).progress("report")
			r, err := report.Open(cmd.Context(), args[0], report.Options{Narrow: narrow, Pass: pass})
			done()
			if err != nil {
				return err
			}
			return std.writeReport(cmp.Or(page, filepath.Join(args[0], report.PageFile)), func(w io.Writer) error { return r.WriteHTML(w, *std.language) })
		},
	}
	cmd.Flags().BoolVar(&index, "index", false, "list all runs of a folder")
	cmd.Flags().BoolVar(&narrow, "narrow", false, "only what the run found: no wider search")
	bindHTML(cmd.Flags(), &page)
	return cmd
}

// writeReport writes a page to path, and says where it is; - is standard output.
func (std streams) writeReport(path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(std.out)
	}
	if err := writePage(path, write); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, show.Line(path))
	return err
}
