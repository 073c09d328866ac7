package write

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/job/internal/state/lineage"
	"github.com/neardup/neardup/job/internal/state/losses"
	"github.com/neardup/neardup/job/internal/state/pairs"
	"github.com/neardup/neardup/job/internal/state/places"
	"github.com/neardup/neardup/job/internal/state/texts"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/template"
)

// Names of the counts in the record of a task of the stage write.
const (
	countMatches   = "matches"
	countClusters  = "clusters"
	countPairs     = "pairs"
	countInHistory = "in_history" // documents that the clean dump leaves out since an earlier night has them

	countText        = "text"         // bytes of the texts of all documents
	countSaved       = "saved"        // bytes of the texts that the clean dump leaves out
	countSavedWide   = "saved_wide"   // characters of these texts that are Han, Kana or Hangul
	countSavedOthers = "saved_others" // other characters of these texts
)

// Stage is the stage as an engine knows it.
var Stage = engine.Stage{Name: stage.Write, Task: writeTables, Reads: reads, Counts: counts, Normalizes: true}

// reads is the Reads of the stage: it reads the documents only for a clean dump.
func reads(job *engine.Job, task int) bool { return job.Cleans() && job.ReadsAgain(task) }

// counts is the unit of its progress: bytes if it reads documents for a clean dump,
// else splits.
func counts(job *engine.Job) engine.Unit {
	if job.Cleans() {
		return engine.Bytes
	}
	return engine.Splits
}

// fromRun is the value of match_from if the match is in the same run.
const fromRun = "run"

// writer writes the tables and the clean dump of one split.
type writer struct {
	job     *engine.Job
	task    int
	rec     *rundir.TaskRecord
	split   *decision.Split
	names   *decision.Names
	places  *places.Places
	seen    history.Documents          // nil without a library
	lineage map[uint64]lineage.Lineage // by first document: ids of components and versions; only with a library
	gone    []uint64                   // a bit for each row that the clean dump leaves out
	removed int64                      // number of such rows
	sampled []int64                    // rows to come whose texts are written once more
	losses  *losses.Losses             // what sites lose to the clean dump
}

// writeTables is the task of the stage write. It writes a split's parts of the tables
// of matches, pairs and clusters, its clean dump, and the table of what that leaves
// out.
func writeTables(ctx context.Context, job *engine.Job, rec *rundir.TaskRecord, workers int) (err error) {
	w := &writer{job: job, task: rec.Task, rec: rec, losses: losses.New()}
	if w.split, err = decision.Read(job.Dir.Path(rundir.StatePart(decision.Folder, w.task))); err != nil {
		return err
	}
	if w.names, err = decision.ReadNames(job.Dir.Path(rundir.StatePart(decision.NamesFolder, w.task))); err != nil {
		return err
	}
	if w.places, err = places.Read(job.Dir.Path(rundir.State, places.File)); err != nil {
		return err
	}
	if job.Config.Library.Path != "" {
		if w.seen, err = history.ReadDocuments(job.Dir.Path(rundir.StatePart(history.Folder, w.task))); err != nil {
			return err
		}
		if w.lineage, err = lineage.Read(job.Dir.Path(rundir.State, lineage.File)); err != nil {
			return err
		}
	}
	if err := w.tables(ctx); err != nil {
		return err
	}
	if job.Config.Match.AllPairs {
		if err := w.pairs(ctx); err != nil {
			return err
		}
	}
	if !job.Cleans() {
		return nil
	}
	if err := w.clean(ctx, workers); err != nil {
		return err
	}
	name := rundir.StatePart(losses.Folder, w.task)
	rec.Outputs = append(rec.Outputs, name)
	return w.losses.Write(job.Dir.Path(name))
}

// output adds a part of a table to the outputs of the task's record. The part need
// not be complete yet.
func (w *writer) output(path string) {
	w.rec.Outputs = append(w.rec.Outputs, nameOf(path))
}

// nameOf is the path of a part within the run directory.
func nameOf(path string) string {
	return filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
}

// tables writes the parts of matches and clusters and, with a clean dump, of removed.
// It also notes in w.gone which rows the clean dump leaves out.
func (w *writer) tables(ctx context.Context) (err error) {
	matches, err := startPart(w, rundir.Matches, &data.Matches)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, matches.Abort()) }()
	clusters, err := startPart(w, rundir.Clusters, &data.Clusters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clusters.Abort()) }()
	var removals *parquet.TableWriter[data.RemovedRow] // nil without a clean dump
	if w.job.Cleans() {
		if removals, err = startPart(w, rundir.Removed, &data.Removed); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, removals.Abort()) }()
	}

	var d decision.Decision
	var match data.MatchRow
	var cluster data.ClusterRow
	var removed data.RemovedRow
	for i := range w.split.Len() {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		w.split.At(i, &d)
		x, err := w.idsOf(&d)
		if err != nil {
			return err
		}
		if d.Match != decision.None || d.InHistory {
			match = w.match(&d, &x)
			if err := matches.Write(&match); err != nil {
				return err
			}
		}
		if removals != nil && d.Removal != decision.Stays {
			w.drop(d.Doc)
			if d.Removal == decision.InHistory {
				w.rec.Counts[countInHistory]++
			}
			removed = w.removal(&d, &x)
			w.losses.Removed(&removed)
			if err := removals.Write(&removed); err != nil {
				return err
			}
		}
		if !d.Listed {
			continue
		}
		cluster = data.ClusterRow{DocID: x.doc, ClusterID: x.cluster, Component: x.component, Versions: x.versions, Size: int32(d.Size), Representative: d.Representative, FirstSeen: w.firstSeen(d.Doc), Site: template.Site(x.doc), Row: w.places.Row(d.Doc), Night: w.night()}
		w.losses.Member(&cluster)
		if err := clusters.Write(&cluster); err != nil {
			return err
		}
	}
	w.rec.Counts[countMatches], w.rec.Counts[countClusters] = matches.Rows(), clusters.Rows()
	if removals != nil {
		w.removed = removals.Rows()
		err = removals.Commit()
	}
	return errors.Join(matches.Commit(), clusters.Commit(), err)
}

// startPart starts the split's part of a table.
func startPart[R any](w *writer, table string, rows *data.Table[R]) (*parquet.TableWriter[R], error) {
	path, err := w.job.Dir.Part(table, w.task, ".parquet")
	if err != nil {
		return nil, err
	}
	w.output(path)
	return parquet.Create(path, rows, w.job.TableOptions())
}

func (w *writer) drop(doc uint64) {
	row := doc - w.split.First
	for row/64 >= uint64(len(w.gone)) {
		w.gone = append(w.gone, 0)
	}
	w.gone[row/64] |= 1 << (row % 64)
}

func (w *writer) dropped(row int64) bool {
	return row/64 < int64(len(w.gone)) && w.gone[row/64]>>(row%64)&1 != 0
}

// ids are the ids that the tables have for a document.
type ids struct{ doc, match, cluster, component, versions, kept []byte }

// idsOf returns the ids for the next decision. With a library, those of component,
// versions and cluster are the ids that last through all nights.
func (w *writer) idsOf(d *decision.Decision) (x ids, err error) {
	err = d.Names(func(doc uint64) error {
		id, err := w.names.Next(doc)
		if doc == d.Doc {
			x.doc = id
		}
		if doc == d.Match {
			x.match = id
		}
		if doc == d.Cluster {
			x.cluster = id
		}
		if doc == d.Component {
			x.component = id
		}
		if doc == d.Versions {
			x.versions = id
		}
		if doc == d.Kept.Doc {
			x.kept = id
		}
		return err
	})
	if w.seen == nil || !d.Listed {
		return x, err
	}
	x.component, x.versions = []byte(w.lineage[d.Component].Component), []byte(w.lineage[d.Versions].Versions)
	if d.Cluster != decision.None {
		x.cluster = []byte(history.FoundedCluster(w.night(), x.cluster))
	} else if k := w.seen[d.Doc].Kept; k != nil {
		x.cluster = []byte(k.Cluster())
	}
	return x, err
}

// match returns the row of a document's best match.
func (w *writer) match(d *decision.Decision, x *ids) data.MatchRow {
	if d.InHistory {
		e := w.seen[d.Doc].Match
		row := data.MatchRow{
			DocID: x.doc, Site: template.Site(x.doc), MatchID: []byte(e.ID), MatchFrom: e.Night, FirstSeen: e.FirstSeen,
			Distance: int32(e.Distance), Similarity: w.similarity(e.Distance), Jaccard: math.NaN(), Containment: math.NaN(),
			Row: w.places.Row(d.Doc), MatchRow: data.NoRow, Night: w.night(),
		}
		row.Estimate, row.Verdict = w.told(e)
		return row
	}
	row := w.row(x.doc, x.match, d.Distance, d.Evidence, d.Overlap)
	row.Row, row.MatchRow = w.places.Row(d.Doc), w.places.Row(d.Match)
	return row
}

// firstSeen returns the night in which the library first had a document's id; this
// night if it had not.
func (w *writer) firstSeen(doc uint64) string {
	if e := w.seen[doc]; e != nil && e.FirstSeen != "" {
		return e.FirstSeen
	}
	return w.night()
}

func (w *writer) night() string { return w.job.Config.Library.Night }

// row returns the row of a pair, without row numbers.
func (w *writer) row(id, match []byte, distance uint8, e data.Evidence, o data.Overlap) data.MatchRow {
	row := data.MatchRow{
		DocID: id, Site: template.Site(id), MatchID: match, MatchFrom: fromRun, Distance: int32(distance), Similarity: w.similarity(int(distance)),
		Estimate: math.NaN(), Jaccard: float64(o.Jaccard), Containment: float64(o.Containment), Verdict: e.Reason.String(), Night: w.night(),
	}
	if w.job.Config.Match.Sketched() {
		row.Estimate = mapper.EstimatedJaccard(e)
	}
	return row
}

// told returns what the tables say of the verdict on a match in an earlier night.
func (w *writer) told(e *history.Match) (estimate float64, verdict string) {
	switch {
	case e.Reason == history.Unchanged:
		return math.NaN(), history.Unchanged
	case w.job.Config.Match.Sketched():
		return e.Similarity, e.Reason
	}
	return math.NaN(), data.ByDistance.String()
}

// sameID is the verdict on a later document of an id.
const sameID = "same id"

// removal returns the row of a document that the clean dump leaves out.
func (w *writer) removal(d *decision.Decision, x *ids) data.RemovedRow {
	row := data.RemovedRow{
		DocID: x.doc, Reason: d.Removal.String(), ClusterID: x.cluster, Distance: data.NoDistance, Similarity: math.NaN(),
		Estimate: math.NaN(), Jaccard: math.NaN(), Containment: math.NaN(), Site: template.Site(x.doc),
		Row: w.places.Row(d.Doc), KeptRow: data.NoRow, Night: w.night(),
	}
	switch d.Removal {
	case decision.Deleted:
		return row
	case decision.InHistory:
		k := w.seen[d.Doc].Kept
		row.KeptID, row.KeptFrom, row.Distance, row.Similarity = []byte(k.ID), k.Night, int32(k.Distance), w.similarity(k.Distance)
		row.Estimate, row.Verdict = w.told(k)
	default:
		p := w.row(x.doc, x.kept, d.Kept.Distance, d.Kept.Evidence, d.Kept.Overlap)
		row.KeptID, row.KeptFrom, row.KeptRow, row.Distance, row.Similarity = x.kept, fromRun, w.places.Row(d.Kept.Doc), p.Distance, p.Similarity
		row.Estimate, row.Jaccard, row.Containment, row.Verdict = p.Estimate, p.Jaccard, p.Containment, p.Verdict
		if d.Removal == decision.DuplicateID {
			row.Verdict = sameID
		}
	}
	row.KeptSite = template.Site(row.KeptID)
	return row
}

func (w *writer) similarity(distance int) float64 {
	return 1 - float64(distance)/float64(w.job.Config.Features.Bits)
}

// pairs writes the part of the table of all pairs.
func (w *writer) pairs(ctx context.Context) (err error) {
	body, err := state.Read(w.job.Dir.Path(rundir.StatePart(pairs.Folder, w.task)), pairs.FileKind)
	if err != nil {
		return err
	}
	out, err := startPart(w, rundir.Pairs, &data.Matches)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	var id []byte
	var row data.MatchRow
	for i, last := 0, decision.None; len(body) > 0; i, body = i+1, body[pairs.RecordBytes:] {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p := pairs.Unpack(body)
		if p.A != last {
			if id, err = w.names.Next(p.A); err != nil {
				return err
			}
		}
		last = p.A
		match, err := w.names.Next(p.B)
		if err != nil {
			return err
		}
		row = w.row(id, match, p.Distance, p.Evidence, p.Overlap)
		row.Row, row.MatchRow = w.places.Row(p.A), w.places.Row(p.B)
		if err := out.Write(&row); err != nil {
			return err
		}
	}
	w.rec.Counts[countPairs] = out.Rows()
	return out.Commit()
}

// clean reads the split again and writes the documents that stay, on workers
// goroutines. It returns an error if the number of documents, or the digest of the
// input, differs from the record of the fingerprint task.
func (w *writer) clean(ctx context.Context, workers int) (err error) {
	job, rec := w.job, w.rec
	split := job.Splits[w.task]
	was, _, err := job.Dir.Record(stage.Fingerprint, w.task)
	if err != nil {
		return err
	}
	annotates, err := w.annotates()
	if err != nil {
		return err
	}
	if annotates != nil {
		defer func() { err = errors.Join(err, annotates.out.Abort()) }()
	}
	rec.Counts[countText] = was.Text
	if err := w.sites(); err != nil {
		return err
	}
	if w.sampled, err = texts.ReadRows(job.Dir.Path(rundir.StatePart(texts.SampledFolder, w.task))); err != nil {
		return err
	}
	options := job.ReaderOptions()
	options.KeepRaw, options.Workers = true, workers
	options.Unverified = was.Lost == 0 // the digest below tells whether the file has changed
	if was.RowsIn == was.RowsOut && annotates == nil {
		options.RawAlone = func() bool { return !w.needs(rec.RowsIn) }
	}
	if clean.Copied(split) {
		once, err := object.OpenOnce(split, &options)
		if err != nil {
			return err
		}
		defer once.Close() //nolint:errcheck // opened for reading
	}
	in, err := input.OpenAgain(job.Dir.Path(), job.Manifest, w.task, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if was.Unread() {
		return errors.Join(w.unchanged(in, was, split), annotates.commit())
	}
	path, err := job.Dir.Part(rundir.Clean, w.task, clean.Extension(split))
	if err != nil {
		return err
	}
	create := clean.Create
	if annotates.inDump() {
		create = clean.CreateAnnotated
	}
	out, err := create(path, split, options, workers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()

	var reread *texts.Writer // of the sample
	var textOf func(*data.Document, func(*mapper.Text) error) error
	if len(w.sampled) > 0 {
		name := rundir.StatePart(texts.RereadFolder, w.task)
		if reread, err = texts.Create(job.Dir.Path(name)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, reread.Abort()) }()
		of, release := job.Texts()
		defer release()
		textOf = of
		rec.Outputs = append(rec.Outputs, name)
	}
	var doc data.Document
	advance := input.Teller(in, job.Tell)
	defer advance()
	for ; ; rec.RowsIn++ {
		if rec.RowsIn&0xff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			advance()
		}
		err := input.Next(in, &doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if rec.RowsIn == was.RowsOut {
			rec.RowsIn++
			break
		}
		if w.samples(rec.RowsIn) {
			w.sampled = w.sampled[1:]
			if err := textOf(&doc, func(t *mapper.Text) error { return reread.Add(rec.RowsIn, t) }); err != nil {
				return err
			}
		}
		if err := annotates.document(&doc, rec.RowsIn); err != nil {
			return err
		}
		if w.dropped(rec.RowsIn) {
			rec.Skipped["dropped"]++
			rec.Counts[countSaved] += int64(len(doc.Text))
			wide, others := characters(doc.Text)
			rec.Counts[countSavedWide] += wide
			rec.Counts[countSavedOthers] += others
			continue
		}
		rec.RowsOut++
		if annotates.inDump() {
			err = out.KeepSeen(&doc, &annotates.row)
		} else {
			err = out.Keep(&doc)
		}
		if err != nil {
			return err
		}
	}
	if rec.RowsIn != was.RowsOut {
		return fmt.Errorf("%s: %s: %w: %d documents when they were fingerprinted, %d or more now: the input has changed; run again into a new folder",
			rec.Stage, split.Path, rundir.ErrNotConserved, was.RowsOut, rec.RowsIn)
	}
	if dropped := rec.Skipped["dropped"]; dropped != w.removed {
		return fmt.Errorf("%s: %s: %w: %d documents are left out, %d stand in %s", rec.Stage, split.Path, rundir.ErrNotConserved, dropped, w.removed, rundir.Removed)
	}
	if !input.KeepsTexts(job.Manifest, split) && in.Digest() != was.Digest {
		return fmt.Errorf("%s: %w", w.rec.Stage, input.ErrChanged(split))
	}
	if reread != nil {
		if err := reread.Commit(); err != nil {
			return err
		}
	}
	if err := errors.Join(out.Commit(), annotates.commit()); err != nil {
		return err
	}
	rec.Bytes = in.Consumed()
	rec.AddSummed(nameOf(path), out.Sum())
	return nil
}

// samples reports whether the text of a row, the next one, is written once more.
func (w *writer) samples(row int64) bool { return len(w.sampled) > 0 && w.sampled[0] == row }

// needs reports whether more of a row, the next one, is needed than its bytes.
func (w *writer) needs(row int64) bool { return w.dropped(row) || w.samples(row) }

// sites counts the documents of each site.
func (w *writer) sites() (err error) {
	prints, err := parquet.OpenFingerprints(w.job.Dir.Path(rundir.Fingerprints, rundir.PartName(w.task, ".parquet")), parquet.ReadOptions{Columns: []string{"site"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prints.Close()) }()
	var row data.FingerprintRow
	for {
		if err := prints.Read(&row); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		w.losses.Document(row.Site)
	}
}

// firstWide is the smallest character of Han, Kana and Hangul.
const firstWide = '\u1100'

// characters returns the number of characters of a text that are Han, Kana or Hangul,
// and the number of all others.
func characters(text []byte) (wide, others int64) {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			others++
			continue
		}
		if text[i]-0xe5 <= 0xe9-0xe5 && i+2 < len(text) && text[i+1]&0xc0 == 0x80 && text[i+2]&0xc0 == 0x80 {
			i += 3 // U+5000 to U+9FFF, which are Han
			wide++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if i += size; r >= firstWide && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			wide++
		} else {
			others++
		}
	}
	return wide, others
}

// unchanged checks a split of which no record could be read when it was
// fingerprinted. It returns an error unless that is still so. Such a split has no
// part of the clean dump.
func (w *writer) unchanged(in data.SourceReader, was rundir.TaskRecord, split data.Split) error {
	err := input.Next(in, new(data.Document))
	if err == nil || errors.Is(err, io.EOF) && in.Digest() != was.Digest {
		return fmt.Errorf("%s: %w", w.rec.Stage, input.ErrChanged(split))
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
