// Package intake is the stages fingerprint and read, which take the input in. The task
// of a split reads its documents and fingerprints them, or reads fingerprint files. It
// writes what later stages read: views, the frames of short texts, signatures, and
// texts that had to be extracted. Then the stage sums up what was skipped and why, names
// damaged files, and decides by input.max_bad whether the run may go on without what
// is lost.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/stage/boilerplate"
	"github.com/neardup/neardup/job/internal/summary"
)

// ErrNoDocuments is returned when no record of the input is a document.
var ErrNoDocuments = errors.New("no document")

// ErrTooManyBad is returned when more records were unusable than max_bad
// allows.
var ErrTooManyBad = errors.New("too many unusable records")

// Intake is the result of reading an input, in a run or to learn from a dump.
type Intake struct {
	Log     *slog.Logger
	Input   config.Input
	Options data.ReaderOptions // with which it was read
	Splits  []data.Split
	Records []rundir.TaskRecord // by split: the record of the task that read it
	Sum     *summary.Summary    // to which Check adds
	Look    string              // folder in which to look at unusable records, for messages
}

// Check adds the records to the summary, and warns about files. It returns
// ErrNoDocuments if nothing is a document, and ErrTooManyBad if more is unusable than
// input.max_bad allows.
func (in *Intake) Check() error {
	exceeded, err := in.Input.BadLimit()
	if err != nil {
		return err
	}
	s := in.Sum
	for _, rec := range in.Records {
		for _, note := range rec.Files {
			if note.Kind == rundir.FileTruncated {
				in.Log.Warn("a file ends within a record: fetch it again, the run has what stands before that", "file", note.File)
			}
		}
		s.Documents += rec.RowsOut
		s.Records += rec.RowsIn
		s.Bytes += rec.Bytes
		stage.AddCounts(s.Skipped, rec.Skipped)
	}
	in.garbled()
	lacks := "" // what a file lacks that gave nothing
	for i, rec := range in.Records {
		for reason, n := range rec.Skipped {
			if in.IsBad(i, reason) {
				s.Bad += n
			}
		}
		for _, note := range rec.Files {
			if lacks == "" && rec.RowsOut == 0 && (note.Kind == rundir.FileUnread || note.Kind == rundir.FileMissing) && !source.Extracts(in.Splits[i].Format) {
				lacks = fmt.Sprintf("; %s: %s", note.File, note.What)
			}
		}
	}
	if s.Documents == 0 {
		return in.noDocuments()
	}
	err = in.unread(exceeded)
	if limit := exceeded(s.Bad, s.Records, s.Bad); limit != "" {
		err = fmt.Errorf("%w: %s of %s%s, more than %s%s: look into %s, mend the input, or let them pass with --max-bad %d",
			ErrTooManyBad, show.Number(s.Bad), show.Count(s.Records, "record"), show.Counts(" (skipped: ", s.Skipped, ")"), limit, lacks, in.Look, s.Bad)
	}
	if err != nil {
		return err
	}
	in.warn("files lack a column and are read without it, their records without a text are skipped: mend them, or leave them out", "problem", rundir.FileMissing)
	return nil
}

// garbled warns if texts make no sense in the encoding that the settings name.
func (in *Intake) garbled() {
	garbled, first := int64(0), ""
	for _, rec := range in.Records {
		if garbled += rec.Garbled; first == "" && rec.Garbled > 0 {
			first = rec.Source
		}
	}
	if garbled > 0 {
		in.Log.Warn("the input is not in the encoding that --encoding names: leave the flag out, and the encoding is detected", "encoding", in.Input.Encoding, "documents", garbled, "of", in.Sum.Documents, "first", first)
	}
}

// IsBad reports whether records of a split that were skipped for that reason count
// towards input.max_bad. A record without a text counts in a table or JSON, where
// the settings may name the wrong column. It does not among pages, many of which
// have no text.
func (in *Intake) IsBad(split int, reason string) bool {
	return config.Unusable(reason) || reason == data.ReasonNoText && !source.Extracts(in.Splits[split].Format)
}

// unread warns about files that are damaged or cannot be read. It returns
// ErrTooManyBad if more of the input is lost with them than exceeded allows.
func (in *Intake) unread(exceeded func(bad, total, count int64) string) error {
	lost, s := int64(0), in.Sum
	var first summary.Unread
	files := make(map[string]bool)
	for i, rec := range in.Records {
		for _, note := range rec.Files {
			file := summary.Unread{File: note.File, Problem: note.What, Lost: note.Lost}
			switch note.Kind {
			case rundir.FileUnread:
				s.Unreadable = append(s.Unreadable, file)
				in.Log.Warn("a file cannot be read, and the run has none of its records", "file", file.File, "problem", file.Problem)
			case rundir.FileDamaged:
				s.Damaged = append(s.Damaged, file)
				in.Log.Warn("a file is damaged, and the run has nothing of what is lost", "file", file.File, "lost", show.Bytes(file.Lost), "of", show.Bytes(in.size(i, file.File)), "problem", file.Problem)
			default:
				continue
			}
			if lost += file.Lost; len(files) == 0 {
				first = file
			}
			files[file.File] = true
		}
	}
	s.Lost = lost
	n := int64(len(files))
	if limit := exceeded(lost, s.Bytes, n); limit != "" {
		return fmt.Errorf("%w: %s, %s of the input's %s, cannot be read, more than %s: %s: %s; or let them pass with --max-bad %d",
			ErrTooManyBad, show.Count(n, "file"), show.Bytes(lost), show.Bytes(s.Bytes), limit, first.File, first.Problem, max(s.Bad, n))
	}
	return nil
}

// size returns how many bytes of a file are in a split.
func (in *Intake) size(split int, file string) int64 {
	if len(in.Splits[split].Files) > 0 {
		for one := range in.Splits[split].OfFiles() {
			if one.Path == file {
				return one.Size
			}
		}
	}
	return in.Records[split].Bytes
}

// noDocuments returns ErrNoDocuments with the reason.
func (in *Intake) noDocuments() error {
	if in.Sum.Records == 0 {
		return fmt.Errorf("%w: the input is empty: name a file that has some", ErrNoDocuments)
	}
	err := fmt.Errorf("%w in %s: %s", ErrNoDocuments, show.Count(in.Sum.Records, "record"), show.Counts("", in.Sum.Skipped, ""))
	for _, rec := range in.Records {
		for _, note := range rec.Files {
			if note.Kind == rundir.FileDamaged {
				return fmt.Errorf("%w: %s: %s", err, note.File, note.What)
			}
		}
	}
	return source.Textless(err, in.Splits[0], in.Input.ReaderOptions())
}

// warn logs one warning for each thing that notes of a kind say, with the number of
// files that say it.
func (in *Intake) warn(message, what, kind string) {
	sources := make(map[string][]string)
	for _, rec := range in.Records {
		for _, note := range rec.Files {
			if note.Kind == kind {
				sources[note.What] = append(sources[note.What], note.File)
			}
		}
	}
	for _, thing := range slices.Sorted(maps.Keys(sources)) {
		files := slices.Compact(sources[thing])
		in.Log.Warn(message, what, thing, "files", len(files), "first", files[0])
	}
}

// Fingerprinted sums up the fingerprint tasks.
func Fingerprinted(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	r.Job.Fingerprinted()
	boilerplate.LeftOut(r, records)
	for _, rec := range records {
		r.Sum.None.Plus(rec.None)
		stage.AddCounts(r.Sum.LengthClasses, rec.Counts)
		stage.AddCounts(r.Sum.Languages, rec.Languages)
	}
	return Documents(r, records)
}

// Documents sums up the tasks that read the documents of the input for the first
// time. After ErrTooManyBad a resumed run reads damaged files again.
func Documents(r *stage.Run, records []rundir.TaskRecord) error {
	in := &Intake{Log: r.Log, Input: r.Config.Input, Splits: r.Job.Splits, Records: records, Sum: r.Sum, Look: r.Dir.Path(rundir.Quarantine)}
	if in.Input.Encoding == "" { // it was told from the bytes, and may be wrong
		in.warn("files are not UTF-8, and were decoded: --encoding overrides", "encoding", rundir.FileEncoding)
	}
	for _, rec := range records {
		r.Sum.CutPages += rec.Cut
		r.Sum.Unchecked += rec.Unchecked
	}
	err := in.Check()
	if errors.Is(err, ErrTooManyBad) {
		return errors.Join(err, forgetUnread(r, records))
	}
	return err
}

// forgetUnread removes the records of tasks whose files are damaged, so that a resumed
// run reads these files again. They may be repaired by then.
func forgetUnread(r *stage.Run, records []rundir.TaskRecord) (err error) {
	for _, rec := range records {
		if rec.Lost > 0 || slices.ContainsFunc(rec.Files, func(n rundir.FileNote) bool { return n.Kind == rundir.FileUnread }) {
			err = errors.Join(err, os.Remove(r.Dir.RecordPath(rec.Stage, rec.Task)))
		}
	}
	return err
}

// FingerprintsRead sums up the tasks that read fingerprint files.
func FingerprintsRead(_ context.Context, r *stage.Run, records []rundir.TaskRecord) error {
	for _, rec := range records {
		r.Sum.Documents += rec.RowsOut
		stage.AddCounts(r.Sum.LengthClasses, rec.Counts)
	}
	r.Sum.Records = r.Sum.Documents
	return nil
}
