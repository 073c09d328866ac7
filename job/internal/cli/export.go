package cli

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// exported are the tables that export writes, in this order.
var exported = []string{rundir.Fingerprints, rundir.Matches, rundir.Pairs, rundir.Clusters, rundir.Removed, rundir.Seen, rundir.Against, rundir.Drift, rundir.Growth}

// notExported are columns that no person reads.
var notExported = []string{"sketch", "letters"}

func newExport(std streams) *cobra.Command {
	var folder string
	var tables []string
	cmd := &cobra.Command{
		Use:   "export RUN --csv DIR",
		Short: "Write a run's tables as CSV, for a spreadsheet",
		Long: `Writes each table of a finished run as one file of CSV into a folder: UTF-8
with a byte order mark, which spreadsheets want, nulls empty, fingerprints in
hexadecimal, without the columns ` + strings.Join(notExported, " and ") + `. Text that a
spreadsheet would take for a formula gets a ' in front. A spreadsheet shows
1,048,576 rows; take SQL for more (job/docs/queries.sql).

` + fill("Tables: "+strings.Join(exported, ", ")+", as far as the run has them."),
		Example: `  neardup export night1 --csv tables
  neardup export night1 --csv tables --tables matches,clusters`,
		Args: need(1, message.Key("one run directory")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder == "" {
				return usageError{errors.New("name the folder of the files with --csv DIR")}
			}
			for _, name := range tables {
				if !slices.Contains(exported, name) {
					return usageError{fmt.Errorf("--tables %s: write some of %s", name, strings.Join(exported, ", "))}
				}
			}
			return export(cmd.Context(), std.out, args[0], folder, tables)
		},
	}
	cmd.Flags().StringVar(&folder, "csv", "", "folder to write the files into")
	cmd.Flags().StringSliceVar(&tables, "tables", nil, "tables to write (default: all)")
	return cmd
}

// export writes the tables of a run, and prints what it wrote.
func export(ctx context.Context, w io.Writer, run, folder string, tables []string) error {
	if _, err := rundir.ReadManifest(run); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(run, rundir.SuccessFile)); err != nil {
		return fmt.Errorf("%s is not finished: the command that began it goes on with it, `neardup status` says how far it is", run)
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, name := range exported {
		if len(tables) > 0 && !slices.Contains(tables, name) {
			continue
		}
		parts, err := rundir.Parts(run, name)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			continue
		}
		path := filepath.Join(folder, name+".csv")
		rows, err := exportTable(ctx, path, parts)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\t%s\n", show.Line(path), show.Count(rows, "row")); err != nil {
			return err
		}
	}
	return nil
}

// exportTable writes the parts of a table into one file, which appears when it
// is complete.
func exportTable(ctx context.Context, path string, parts []string) (rows int64, err error) {
	file, err := data.CreateAtomic(path)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Abort())
		} else {
			err = file.Commit()
		}
	}()
	const byteOrderMark = "\ufeff"
	buffered := bufio.NewWriter(file)
	if _, err := buffered.WriteString(byteOrderMark); err != nil {
		return 0, err
	}
	out := csv.NewWriter(buffered)
	var header []string
	for _, part := range parts {
		if rows, header, err = exportPart(ctx, out, part, rows, header); err != nil {
			return rows, err
		}
	}
	out.Flush()
	return rows, errors.Join(out.Error(), buffered.Flush())
}

// exportPart writes the rows of a part, behind the header if it is the first.
func exportPart(ctx context.Context, out *csv.Writer, path string, rows int64, header []string) (_ int64, _ []string, err error) {
	in, err := parquet.OpenValues(path)
	if err != nil {
		return rows, header, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var columns []int
	var names []string
	for i, name := range in.Names {
		if !slices.Contains(notExported, name) {
			columns, names = append(columns, i), append(names, name)
		}
	}
	switch {
	case header == nil:
		if header = names; len(header) > 0 {
			err = out.Write(header)
		}
	case !slices.Equal(header, names):
		err = fmt.Errorf("%s has other columns than the parts before it: name a run that one program wrote", path)
	}
	cells := make([]string, len(columns))
	for err == nil {
		if rows%1024 == 0 && ctx.Err() != nil {
			return rows, header, ctx.Err()
		}
		var row []any
		if row, err = in.Read(); errors.Is(err, io.EOF) {
			return rows, header, nil
		}
		if err == nil {
			for i, at := range columns {
				cells[i] = spreadsheet(row[at])
			}
			rows++
			err = out.Write(cells)
		}
	}
	return rows, header, err
}

// spreadsheet is a value as a cell has it. What comes from a crawl must be no
// formula: a ' in front makes it text.
func spreadsheet(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		if v != "" && strings.ContainsRune("=+-@\t\r", rune(v[0])) {
			return "'" + v
		}
		return v
	}
	return fmt.Sprint(value)
}
