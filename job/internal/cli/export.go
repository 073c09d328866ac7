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
	var folder, workbook string
	var tables []string
	cmd := &cobra.Command{
		Use:   "export RUN --csv DIR | --xlsx FILE",
		Short: "Write a run's tables as CSV or Excel, for a spreadsheet",
		Long: `Writes the tables of a finished run for a spreadsheet: with --csv one file for
each table, in UTF-8 with a byte order mark; with --xlsx one Excel workbook with
a sheet for each table. Nulls are empty cells and fingerprints are hexadecimal.
The columns ` + strings.Join(notExported, " and ") + ` are left out.

Ids, titles and other text stay text, even if they look like a number or a
formula; CSV marks a formula with a ' in front. Excel shows 1,048,576 rows of a
sheet, so a larger table goes on in a second sheet. For large runs use SQL
(job/docs/queries.sql).

` + fill("Tables: "+strings.Join(exported, ", ")+", as far as the run has them."),
		Example: `  neardup export night1 --csv tables
  neardup export night1 --xlsx night1.xlsx --tables matches,clusters`,
		Args: need(1, message.Key("one run directory")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (folder == "") == (workbook == "") {
				return usageError{errors.New("name either a folder for CSV files with --csv DIR, or a workbook with --xlsx FILE")}
			}
			for _, name := range tables {
				if !slices.Contains(exported, name) {
					return usageError{fmt.Errorf("--tables %s: write some of %s", name, strings.Join(exported, ", "))}
				}
			}
			if workbook != "" {
				return exportWorkbook(cmd.Context(), std, args[0], workbook, tables)
			}
			return exportCSV(cmd.Context(), std, args[0], folder, tables)
		},
	}
	cmd.Flags().StringVar(&folder, "csv", "", "folder to write CSV files into")
	cmd.Flags().StringVar(&workbook, "xlsx", "", "Excel workbook to write")
	cmd.Flags().StringSliceVar(&tables, "tables", nil, "tables to write (default: all)")
	return cmd
}

// exportCSV writes a file for each table.
func exportCSV(ctx context.Context, std streams, run, folder string, tables []string) error {
	return export(run, tables, func(name string, parts []string) error {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return usageError{fmt.Errorf("--csv: %w: name a folder", err)}
		}
		path := filepath.Join(folder, name+".csv")
		rows, err := exportTable(ctx, path, parts)
		if err != nil {
			return err
		}
		return std.wrote(path, rows)
	})
}

func (std streams) wrote(what string, rows int64) error {
	_, err := fmt.Fprintf(std.out, "%s\t%s\n", show.Line(what), std.language.Count(rows, "row"))
	return err
}

// export has the tables of a finished run written, one after another.
func export(run string, tables []string, write func(name string, parts []string) error) error {
	if _, err := rundir.ReadManifest(run); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(run, rundir.SuccessFile)); err != nil {
		return fmt.Errorf("%s is not finished: the command that began it goes on with it, `neardup status` says how far it is", run)
	}
	for _, name := range exported {
		if len(tables) > 0 && !slices.Contains(tables, name) {
			continue
		}
		parts, err := rundir.Parts(run, name)
		if err == nil && len(parts) > 0 {
			err = write(name, parts)
		}
		if err != nil {
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
	rows, err = exportParts(ctx, parts, func(row []any) error {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = spreadsheet(value)
		}
		return out.Write(cells)
	})
	if err != nil {
		return rows, err
	}
	out.Flush()
	return rows, errors.Join(out.Error(), buffered.Flush())
}

// exportParts has the rows of a table written, behind their header; it returns how
// many there are.
func exportParts(ctx context.Context, parts []string, write func(row []any) error) (rows int64, err error) {
	var header []string
	for _, part := range parts {
		if rows, header, err = exportPart(ctx, write, part, rows, header); err != nil {
			break
		}
	}
	return rows, err
}

// exportPart writes the rows of a part, behind the header if it is the first.
func exportPart(ctx context.Context, write func(row []any) error, path string, rows int64, header []string) (_ int64, _ []string, err error) {
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
			cells := make([]any, len(header))
			for i, name := range header {
				cells[i] = name
			}
			err = write(cells)
		}
	case !slices.Equal(header, names):
		err = fmt.Errorf("%s has other columns than the parts before it: name a run that one program wrote", path)
	}
	cells := make([]any, len(columns))
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
				cells[i] = row[at]
			}
			rows++
			err = write(cells)
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
