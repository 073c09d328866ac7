package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

func newInspect(std streams) *cobra.Command {
	var rows int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Print what a run directory or a table of it holds",
		Long: `Prints a run directory's settings, progress, tables and whole summary, or a
table's metadata and first rows.`,
		Example: `  neardup inspect night1
  neardup inspect night1/matches/part-00000.parquet --rows 5`,
		Args: need(1, message.Key("one run directory or table")),
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			info, err := os.Stat(path)
			if errors.Is(err, fs.ErrNotExist) {
				return usageError{fmt.Errorf("%w: name a run directory or a table that is there", err)}
			}
			if err != nil {
				return err
			}
			if !info.IsDir() {
				err := inspectTable(std, path, rows, asJSON)
				if err != nil && filepath.Ext(path) != ".parquet" {
					err = usageError{err}
				}
				return err
			}
			if _, err := os.Stat(filepath.Join(path, rundir.ManifestFile)); err == nil {
				return inspectRun(std, path, asJSON)
			}
			parts, err := filepath.Glob(filepath.Join(path, "*.parquet"))
			nights, _ := filepath.Glob(filepath.Join(path, "night=*", "*.parquet")) // the same path
			if parts = append(parts, nights...); err != nil || len(parts) == 0 {
				return usageError{errors.Join(err, fmt.Errorf("%s is neither a run directory nor a folder of Parquet files: name one, or a table", path))}
			}
			for _, part := range parts {
				if err := inspectTable(std, part, rows, asJSON); err != nil {
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

	summary *job.Summary // of a finished run
}

type tableState struct {
	Table string `json:"table"`
	Files int    `json:"files"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

func inspectRun(std streams, path string, asJSON bool) error {
	status, err := readStatus(path)
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
	if s.Finished {
		s.summary = new(job.Summary)
		if err := rundir.ReadJSON(filepath.Join(path, rundir.SummaryFile), s.summary); err != nil {
			return err
		}
	}
	return std.printed(asJSON, s, s.print)
}

func (s runState) print(w io.Writer, l message.Language) error {
	var out show.Columns
	out.Row(l.Text("run directory"), s.Path, l.Text("(neardup %s, %s)", s.Command, l.Name(s.State)))
	out.Row(l.Text("settings"), s.Hash, l.Count(int64(s.Splits), "split"))
	for _, st := range s.Stages {
		out.Row(l.Text("stage %s", st.Stage), l.Text("%s done", l.Count(int64(st.Done), "task")), l.Text("%s in, %d out", l.Count(st.RowsIn, "row"), st.RowsOut))
	}
	for _, t := range s.Tables {
		out.Row(l.Text("table %s", t.Table), l.Count(t.Rows, "row"), l.Text("%s, %s", l.Count(int64(t.Files), "file"), show.Bytes(t.Bytes)))
	}
	if err := out.Write(w); err != nil || s.summary == nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return s.summary.PrintAll(w, l)
}

// inspectTable prints a table's metadata and its first rows.
func inspectTable(std streams, path string, rows int, asJSON bool) error {
	r, err := parquet.OpenValues(path)
	if err != nil {
		return err
	}
	return errors.Join(printRows(std.out, *std.language, path, r, rows, asJSON), r.Close())
}

// describe says what a table is.
func describe(l message.Language, info parquet.Info) string {
	if info.Table == "" {
		return l.Text("a table of another program, %s", l.Count(info.Rows, "row"))
	}
	return l.Text("%s, %s, neardup %s, settings %s", info.Table, l.Count(info.Rows, "row"), info.Version, info.ConfigHash)
}

// mostOfValue is how many characters of a value are printed for a person.
const mostOfValue = 160

// cell is a value of a column as it is printed for a person: of a long one the
// beginning, of a sketch, which nobody reads, a hash that tells it from others.
func cell(column string, value any) any {
	text, ok := value.(string)
	switch {
	case !ok || text == "":
		return value
	case column == "sketch":
		return fmt.Sprintf("#%08x", uint32(xxh3.HashString(text)))
	}
	return show.Excerpt([]byte(text), mostOfValue)
}

func printRows(w io.Writer, l message.Language, path string, r *parquet.ValueReader, rows int, asJSON bool) error {
	info := r.Info
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var out show.Columns
	if asJSON {
		err := enc.Encode(map[string]any{"type": "table", "path": path, "table": info.Table, "rows": info.Rows, "bits": info.Bits, "version": info.Version, "config_hash": info.ConfigHash})
		if err != nil {
			return err
		}
	} else {
		out.Row(path + ": " + describe(l, info))
		out.Texts(r.Names)
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
				object[r.Names[i]] = v
			}
			if err := enc.Encode(object); err != nil {
				return err
			}
			continue
		}
		for i, v := range row {
			row[i] = cell(r.Names[i], v)
		}
		out.Row(row...)
	}
	return out.Write(w)
}
