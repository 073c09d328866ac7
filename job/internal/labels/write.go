package labels

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// header is the columns of a file that this package writes.
var header = []string{columnA, columnB, columnVerdict, columnWho, columnWhen, columnWhy}

func (r *Row) values() []string {
	when := ""
	if !r.When.IsZero() {
		when = r.When.UTC().Format(time.RFC3339)
	}
	return []string{r.A, r.B, r.Answer.String(), r.Who, when, r.Why}
}

// Append adds rows to the end of a file, which is JSON lines if its name ends
// in .jsonl, else CSV, and begun with a header if it is not there. What the
// file has stays as it is. The rows are on disk when it returns.
func Append(path string, rows ...Row) (err error) {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	info, err := out.Stat()
	if err != nil {
		return err
	}
	var text strings.Builder
	if size := info.Size(); size > 0 {
		if err := sameColumns(path, out); err != nil {
			return err
		}
		last := make([]byte, 1)
		if _, err := out.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text.WriteByte('\n')
		}
	}
	if err := write(&text, strings.HasSuffix(path, ".jsonl"), info.Size() == 0, rows); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return err
	}
	return out.Sync()
}

// sameColumns is an error unless a file that is there has the columns that
// would be appended.
func sameColumns(path string, in io.ReaderAt) error {
	if strings.HasSuffix(path, ".jsonl") {
		return nil
	}
	const most = 4096
	have, err := csv.NewReader(io.NewSectionReader(in, 0, most)).Read()
	if err == nil {
		have[0] = strings.TrimPrefix(have[0], "\ufeff")
	}
	if err != nil || !slices.Equal(have, header) {
		return fmt.Errorf("labels: %s has other columns than %s: name a new file", path, strings.Join(header, ","))
	}
	return nil
}

// write writes rows as JSON lines, or as CSV with a header if it begins a file.
func write(w io.Writer, lines, begins bool, rows []Row) error {
	if lines {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i := range rows {
			row := map[string]string{}
			for j, v := range rows[i].values() {
				if v != "" || header[j] == columnVerdict {
					row[header[j]] = v
				}
			}
			if err := enc.Encode(row); err != nil {
				return err
			}
		}
		return nil
	}
	out := csv.NewWriter(w)
	if begins {
		_ = out.Write(header)
	}
	for i := range rows {
		_ = out.Write(rows[i].values())
	}
	out.Flush()
	return out.Error()
}
