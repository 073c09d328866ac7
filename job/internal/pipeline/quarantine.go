package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
)

// quarantineRaw is the most raw bytes of a record that quarantine keeps.
const quarantineRaw = 64 << 10

// quarantineRow is one line of a quarantine file.
type quarantineRow struct {
	Source  string `json:"source"`             // path of the input
	Offset  int64  `json:"offset"`             // where the record starts, as Document.Offset
	Reason  string `json:"reason"`             // one of the Reason constants
	Error   string `json:"error,omitempty"`    // detail
	Lost    int64  `json:"lost,omitempty"`     // bytes of the file that it stands for, where that is damaged
	RawSize int    `json:"raw_size,omitempty"` // bytes of the record that were read
	Raw     []byte `json:"raw,omitempty"`      // the first of them, base64
}

// Quarantine writes the records that a task skipped, as JSON lines of quarantineRow.
// The file appears under its final name with Commit. It is not safe for concurrent
// use.
type Quarantine struct {
	file *data.AtomicFile
	name string // within the run directory
	enc  *json.Encoder
	rows int64

	always bool // also without a record: the first task's, so that a query of the folder finds a file
}

// CreateQuarantine starts the quarantine file of a task.
func CreateQuarantine(dir *rundir.Dir, task int) (*Quarantine, error) {
	name := rundir.PartName(task, ".jsonl")
	f, err := data.CreateAtomic(dir.Path(rundir.Quarantine, name))
	if err != nil {
		return nil, err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	return &Quarantine{file: f, name: filepath.Join(rundir.Quarantine, name), enc: enc, always: task == 0}, nil
}

// Add appends a skipped record.
func (q *Quarantine) Add(b *data.BadRecord) error {
	row := quarantineRow{Source: b.Source, Offset: b.Offset, Reason: b.Reason, Lost: b.Lost, RawSize: len(b.Raw), Raw: b.Raw[:min(len(b.Raw), quarantineRaw)]}
	if b.Err != nil {
		row.Error = b.Err.Error()
	}
	if err := q.enc.Encode(row); err != nil {
		return fmt.Errorf("quarantine: %w", err)
	}
	q.rows++
	return nil
}

// Outputs returns the names of the files that Commit leaves, at most one.
func (q *Quarantine) Outputs() []string {
	if q.rows == 0 && !q.always {
		return nil
	}
	return []string{q.name}
}

// Commit makes the file appear, or, without a record, leaves none but of the first task.
func (q *Quarantine) Commit() error {
	if len(q.Outputs()) == 0 {
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
