package data

import (
	"encoding/json"
	"errors"
	"fmt"
)

// quarantineRaw is how many raw bytes of a record Quarantine keeps unless
// told otherwise.
const quarantineRaw = 64 << 10

// QuarantineRow is one line of a quarantine file.
type QuarantineRow struct {
	Source  string `json:"source"`             // path of the input
	Offset  int64  `json:"offset"`             // where the record starts, as Document.Offset
	Reason  string `json:"reason"`             // one of the Reason constants
	Error   string `json:"error,omitempty"`    // detail
	RawSize int    `json:"raw_size,omitempty"` // bytes of the record that were read
	Raw     []byte `json:"raw,omitempty"`      // the first of them, base64
}

// Quarantine keeps the records that a task skipped: JSONL, one QuarantineRow
// a line, which appears under its final name at Commit. It is used by one
// goroutine at a time.
type Quarantine struct {
	file *AtomicFile
	enc  *json.Encoder
	max  int
	rows int64
}

// CreateQuarantine starts the quarantine file of a task. maxRaw caps the raw
// bytes kept of a record; 0 means 64 KiB, a negative number keeps none.
func CreateQuarantine(path string, maxRaw int) (*Quarantine, error) {
	return createQuarantineIn(OS, path, maxRaw)
}

// createQuarantineIn is CreateQuarantine on another file system.
func createQuarantineIn(fsys FS, path string, maxRaw int) (*Quarantine, error) {
	f, err := CreateAtomicIn(fsys, path)
	if err != nil {
		return nil, err
	}
	if maxRaw == 0 {
		maxRaw = quarantineRaw
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	return &Quarantine{file: f, enc: enc, max: max(maxRaw, 0)}, nil
}

// Add appends a skipped record.
func (q *Quarantine) Add(b *BadRecord) error {
	row := QuarantineRow{Source: b.Source, Offset: b.Offset, Reason: b.Reason, RawSize: len(b.Raw), Raw: b.Raw[:min(len(b.Raw), q.max)]}
	if b.Err != nil {
		row.Error = b.Err.Error()
	}
	if err := q.enc.Encode(row); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	q.rows++
	return nil
}

// Rows is the number of records added.
func (q *Quarantine) Rows() int64 { return q.rows }

// Commit makes the file appear, or, without a record, leaves none.
func (q *Quarantine) Commit() error {
	if q.rows == 0 {
		return q.Abort()
	}
	if err := q.file.Commit(); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	return nil
}

// Abort drops what was added. After Commit it does nothing.
func (q *Quarantine) Abort() error {
	if err := q.file.Abort(); err != nil {
		return errors.Join(errors.New("quarantine"), err)
	}
	return nil
}
