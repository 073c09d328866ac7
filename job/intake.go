package job

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// errNoDocuments is returned when no record of the input is a document.
var errNoDocuments = errors.New("no document")

// errTooManyBad is returned when more records were unusable than max_bad
// allows.
var errTooManyBad = errors.New("too many unusable records")

// intake is what was read of an input, for a run or for what is learned from a
// dump.
type intake struct {
	log     *slog.Logger
	input   config.Input
	options data.ReaderOptions // of who reads it
	splits  []data.Split
	records []rundir.TaskRecord // of those who read them
	sum     *Summary            // that this is added to
	look    string              // where the unusable records are to be seen
}

// check sums up the records, and warns of files. It returns errNoDocuments, or
// errTooManyBad if more cannot be used than input.max_bad allows.
func (in *intake) check() error {
	exceeded, err := in.input.BadLimit()
	if err != nil {
		return err
	}
	s := in.sum
	for _, rec := range in.records {
		if rec.Skipped[data.ReasonTruncated] > 0 {
			in.log.Warn("a file ends within a record: fetch it again, the run has what stands before that", "file", rec.Source)
		}
		s.Documents += rec.RowsOut
		s.Records += rec.RowsIn
		s.Bytes += rec.Bytes
		addCounts(s.Skipped, rec.Skipped)
	}
	in.garbled()
	lacks := "" // what a file lacks that gave nothing
	for i, rec := range in.records {
		for reason, n := range rec.Skipped {
			if in.isBad(i, reason) {
				s.Bad += n
			}
		}
		problem := rec.Unread
		if len(rec.Missing) > 0 {
			problem = rec.Missing[0]
		}
		if lacks == "" && problem != "" && rec.RowsOut == 0 && !source.Extracts(in.splits[i].Format) {
			lacks = fmt.Sprintf("; %s: %s", rec.Source, problem)
		}
	}
	if s.Documents == 0 {
		return in.noDocuments()
	}
	err = in.unread(exceeded)
	if limit := exceeded(s.Bad, s.Records, s.Bad); limit != "" {
		err = fmt.Errorf("%w: %s of %s%s, more than %s%s: look into %s, mend the input, or let them pass with --max-bad %d",
			errTooManyBad, show.Number(s.Bad), show.Count(s.Records, "record"), counts(" (skipped: ", s.Skipped, ")"), limit, lacks, in.look, s.Bad)
	}
	if err != nil {
		return err
	}
	in.warn("files lack a column and are read without it, their records without a text are skipped: mend them, or leave them out", "problem",
		func(rec *rundir.TaskRecord) []string { return rec.Missing })
	return nil
}

// garbled warns if the encoding that was asked for is not that of the input.
func (in *intake) garbled() {
	garbled, first := int64(0), ""
	for _, rec := range in.records {
		if garbled += rec.Garbled; first == "" && rec.Garbled > 0 {
			first = rec.Source
		}
	}
	if garbled > 0 {
		in.log.Warn("documents have characters that are none in the encoding that was asked for: leave --encoding out, and it is told from the text", "encoding", in.input.Encoding, "documents", garbled, "of", in.sum.Documents, "first", first)
	}
}

// isBad reports whether records of a split that were skipped for that reason
// count towards input.max_bad. Of a table or JSON without texts a column may be
// misnamed; of pages many have none.
func (in *intake) isBad(split int, reason string) bool {
	return config.Unusable(reason) || reason == data.ReasonNoText && !source.Extracts(in.splits[split].Format)
}

// unread names the files that are damaged, unless so much of the input is lost
// with them that it is not to go on.
func (in *intake) unread(exceeded func(bad, total, count int64) string) error {
	lost, s := int64(0), in.sum
	var first unread
	files := make(map[string]bool)
	for _, rec := range in.records {
		file := unread{File: rec.Source, Problem: rec.Unread, Lost: rec.Bytes}
		switch {
		case rec.Unread != "":
			file.Lost = max(file.Lost, 1) // an empty file is lost too
			s.Unreadable = append(s.Unreadable, file)
			in.log.Warn("a file cannot be read, and the run has none of its records", "file", rec.Source, "problem", rec.Unread)
		case rec.Lost > 0:
			file.Problem, file.Lost = rec.Damage, rec.Lost
			s.Damaged = append(s.Damaged, file)
			in.log.Warn("a file is damaged, and the run has nothing of what is lost", "file", rec.Source, "lost", show.Bytes(rec.Lost), "of", show.Bytes(rec.Bytes), "problem", rec.Damage)
		default:
			continue
		}
		if lost += file.Lost; len(files) == 0 {
			first = file
		}
		files[rec.Source] = true
	}
	s.Lost = lost
	n := int64(len(files))
	if limit := exceeded(lost, s.Bytes, n); limit != "" {
		return fmt.Errorf("%w: %s, %s of the input's %s, cannot be read, more than %s: %s: %s; or let them pass with --max-bad %d",
			errTooManyBad, show.Count(n, "file"), show.Bytes(lost), show.Bytes(s.Bytes), limit, first.File, first.Problem, max(s.Bad, n))
	}
	return nil
}

// noDocuments says why an input has no document.
func (in *intake) noDocuments() error {
	if in.sum.Records == 0 {
		return fmt.Errorf("%w: the input is empty: name a file that has some", errNoDocuments)
	}
	err := fmt.Errorf("%w in %s: %s", errNoDocuments, show.Count(in.sum.Records, "record"), counts("", in.sum.Skipped, ""))
	for _, rec := range in.records {
		if rec.Lost > 0 {
			return fmt.Errorf("%w: %s: %s", err, rec.Source, rec.Damage)
		}
	}
	return source.Textless(err, in.splits[0], in.input.ReaderOptions())
}

// warn warns of files, by what each is named for: one line for each such thing.
func (in *intake) warn(message, what string, named func(*rundir.TaskRecord) []string) {
	sources := make(map[string][]string)
	for i := range in.records {
		for _, thing := range named(&in.records[i]) {
			sources[thing] = append(sources[thing], in.records[i].Source)
		}
	}
	for _, thing := range slices.Sorted(maps.Keys(sources)) {
		files := slices.Compact(sources[thing])
		in.log.Warn(message, what, thing, "files", len(files), "first", files[0])
	}
}
