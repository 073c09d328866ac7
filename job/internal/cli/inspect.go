package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/rundir"
)

func newInspect(std streams) *cobra.Command {
	var rows int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Print what a run directory or a table of it holds",
		Long: `Prints a run directory's settings, progress and tables, or a table's metadata
and first rows.`,
		Example: `  neardup inspect night1
  neardup inspect night1/matches/part-00000.parquet --rows 5`,
		Args: need(1, "one run directory or table"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			if !info.IsDir() {
				return inspectTable(std.out, path, rows, asJSON)
			}
			if _, err := os.Stat(filepath.Join(path, rundir.ManifestFile)); err == nil {
				return inspectRun(std.out, path, asJSON)
			}
			parts, err := filepath.Glob(filepath.Join(path, "*.parquet"))
			if err != nil || len(parts) == 0 {
				return errors.Join(err, fmt.Errorf("%s is neither a run directory nor a folder of Parquet files", path))
			}
			for _, part := range parts {
				if err := inspectTable(std.out, part, rows, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&rows, "rows", "n", 10, "rows to print of a table")
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

// runState is a run directory as inspect prints it.
type runState struct {
	*runStatus
	Hash     string          `json:"config_hash"`
	Finished bool            `json:"finished"`
	Splits   int             `json:"splits"`
	Tables   []tableState    `json:"tables"`
	Config   json.RawMessage `json:"config"`
}

type tableState struct {
	Table string `json:"table"`
	Files int    `json:"files"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

func inspectRun(w io.Writer, path string, asJSON bool) error {
	status, err := readStatus(path, time.Now())
	if err != nil {
		return err
	}
	m := status.manifest
	s := runState{runStatus: status, Hash: m.ConfigHash, Finished: status.State == stateFinished, Splits: len(m.Splits), Config: m.Config}
	for _, table := range rundir.Tables {
		parts, err := rundir.Parts(path, table)
		if err != nil {
			return err
		}
		t := tableState{Table: table, Files: len(parts)}
		for _, part := range parts {
			info, err := parquet.ReadInfo(part)
			if err != nil {
				return err
			}
			file, err := os.Stat(part)
			if err != nil {
				return err
			}
			t.Rows += info.Rows
			t.Bytes += file.Size()
		}
		if t.Files > 0 {
			s.Tables = append(s.Tables, t)
		}
	}
	return printed(w, asJSON, s, s.print)
}

func (s runState) print(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(out, "run directory\t%s\t(neardup %s, %s)\n", s.Path, s.Command, s.State)
	fmt.Fprintf(out, "settings\t%s\t%d splits\n", s.Hash, s.Splits)
	for _, st := range s.Stages {
		fmt.Fprintf(out, "stage %s\t%d tasks done\t%d rows in, %d out\n", st.Stage, st.Done, st.RowsIn, st.RowsOut)
	}
	for _, t := range s.Tables {
		fmt.Fprintf(out, "table %s\t%d rows\t%d files, %s\n", t.Table, t.Rows, t.Files, job.Bytes(t.Bytes))
	}
	return out.Flush()
}

// inspectTable prints a table's metadata and its first rows.
func inspectTable(w io.Writer, path string, rows int, asJSON bool) error {
	info, err := parquet.ReadInfo(path)
	if err != nil {
		return err
	}
	r, err := parquet.OpenValues(path)
	if err != nil {
		return err
	}
	return errors.Join(printRows(w, path, info, r, rows, asJSON), r.Close())
}

// describe says what a table is.
func describe(info parquet.Info) string {
	if info.Table == "" {
		return fmt.Sprintf("a table of another program, %d rows", info.Rows)
	}
	return fmt.Sprintf("%s, %d rows, neardup %s, settings %s", info.Table, info.Rows, info.Version, info.ConfigHash)
}

// maxCell is how many characters of a value are printed for a person.
const maxCell = 160

// cell is a value as it is printed for a person: on one line, and not all of a
// long one.
func cell(v string) string {
	v = strings.NewReplacer("\t", " ", "\n", " ").Replace(v[:min(len(v), maxCell*utf8.UTFMax)])
	n := 0
	for i := range v {
		if n++; n > maxCell {
			return v[:i] + "…"
		}
	}
	return v
}

func printRows(w io.Writer, path string, info parquet.Info, r *parquet.ValueReader, rows int, asJSON bool) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if asJSON {
		err := enc.Encode(map[string]any{"type": "table", "path": path, "table": info.Table, "rows": info.Rows, "bits": info.Bits, "version": info.Version, "config_hash": info.ConfigHash})
		if err != nil {
			return err
		}
	} else {
		if _, err := fmt.Fprintf(w, "%s: %s\n", path, describe(info)); err != nil {
			return err
		}
		fmt.Fprintln(out, strings.Join(r.Names(), "\t"))
	}
	for range rows {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i, v := range row {
			if v == nil {
				row[i] = ""
			}
		}
		if asJSON {
			object := map[string]any{"type": "row"}
			for i, v := range row {
				object[r.Names()[i]] = v
			}
			if err := enc.Encode(object); err != nil {
				return err
			}
			continue
		}
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cell(fmt.Sprint(v))
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}
