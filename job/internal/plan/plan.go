// Package plan looks at a sample of a dump and says what a run over it would
// take and find: documents, time and memory by preset, and the precision and
// recall of each, measured on duplicates planted into the sample itself. Of a run
// against a reference it says the same, without presets, and how many documents of
// the sample have something of the reference.
//
// What it says of time comes from the processor time of the sample on this
// machine, and from the cost model of the matching kernel; it is an estimate
// for a machine that does nothing else. It writes nothing.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/clean"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/input"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/parallel"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage/boilerplate"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/template"
)

// Options say how much of the dump is looked at.
type Options struct {
	Documents int // of the sample; 0: 2,000
	Workers   int // cores that the run would have; at least 1
	Seed      uint64

	Pass parallel.Pass // each of them
}

// Plan is what a run would take and find.
type Plan struct {
	Splits        int            `json:"splits"`
	Bytes         int64          `json:"bytes"`     // of the input, as it stands in the files
	Documents     int64          `json:"documents"` // about
	Sampled       int            `json:"sampled"`
	SampledFrom   int            `json:"sampled_from"`   // splits
	Skipped       int            `json:"skipped"`        // records of the sample that are no documents
	Characters    float64        `json:"characters"`     // of a document, on average
	TextBytes     float64        `json:"text_bytes"`     // the same
	LengthClasses map[string]int `json:"length_classes"` // of the sample
	ShortTexts    int            `json:"short_texts"`    // of the sample: of at most 160 letters
	Presets       []preset       `json:"presets"`
	Recommended   string         `json:"recommended"` // preset
	Why           string         `json:"why"`
	Memory        string         `json:"memory"` // what to give --memory

	Library *earlier   `json:"library,omitempty"` // nil without one
	Against *reference `json:"against,omitempty"` // of a run against a reference; then there are no presets
}

// earlier is what a library has of the nights before.
type earlier struct {
	Path      string `json:"path"`
	Nights    int    `json:"nights"`
	Documents int64  `json:"documents"`
}

// preset is what a preset would take and find.
type preset struct {
	Name        string     `json:"name"`
	Distance    int        `json:"distance"`
	Fingerprint float64    `json:"fingerprint_seconds"` // reading included
	Match       float64    `json:"match_seconds"`
	Clean       float64    `json:"clean_seconds"`   // the clean dump: reading again and packing
	Library     float64    `json:"library_seconds"` // comparing with the library, and adding to it
	Total       float64    `json:"total_seconds"`
	CPU         float64    `json:"cpu_seconds"`   // of all cores together
	Memory      int64      `json:"memory_bytes"`  // peak, all in memory
	Disk        int64      `json:"disk_bytes"`    // of the run directory at its end, if no document is left out
	Scratch     int64      `json:"scratch_bytes"` // more of it before the end
	Growth      int64      `json:"library_bytes"` // of the library
	Precision   eval.Share `json:"precision"`     // on the planted sample; of a preset without verification reckoned up to the whole dump
	Recall      eval.Share `json:"recall"`        // on the planted sample

	verified bool
}

// errNothing is returned for a dump of which no document can be read.
var errNothing = errors.New("no document to plan by")

// What a run holds in memory, in bytes, as heap profiles of runs show it
// (job/docs/benchmarks/plan.md). A stage that has a task for each split holds, for
// each that is at work, a reader, the writers of its tables, and its batches of
// documents, whose room grows to the longest texts that stood in it; and for each
// core a fingerprinter. The joins hold something for each document. Go collects
// when what is held has doubled.
const (
	startMemory     = 165 << 20 // of any run
	lexiconMemory   = 44 << 20
	printerMemory   = 8 << 20   // a fingerprinter
	writerMemory    = 13 << 20  // the tables of a split
	groupMemory     = 128 << 20 // the most that they hold back
	longestTexts    = 4         // the longest texts of batches, in average ones
	sampleMemory    = 16        // a sampled shingle, in the join of the texts that share one
	shortMemory     = 2         // a candidate pair of short texts
	garbageDocument = 375       // left over by each document
	garbagePages    = 4         // left over by the pages of an archive, for each byte of it
	smallFile       = 8         // the most that is held for a split, for each byte of it
	linesStart      = 4 << 20   // of a split of lines: what its tables and readers take at least,
	linesByte       = 0.6       // and what its lines make them take at most, for each byte
)

// documentMemory is what the joins hold for each document, without and with
// verification, and readerMemory a reader, by its format; lineReader one of lines.
var (
	documentMemory = [2]float64{64, 110}
	readerMemory   = map[string]float64{source.FormatParquet: 36 << 20, source.FormatWARC: 60 << 20}
)

const lineReader = 14 << 20

// What a run writes for each document, in bytes, without and with verification:
// into tables, but for ids, and into files that it removes at its end.
var (
	tableDisk   = [2]float64{16, 84}
	scratchDisk = [2]float64{20, 90}
)

const signatureDisk = 168 // of the files that it removes, if signatures decide

// Seconds for each document beside the fingerprint and the join: by the clock for order,
// ids and clusters, of one core for the further tables and for its row. From runs over
// 22,000 to a million documents (job/docs/benchmarks/plan.md).
const (
	orderSeconds   = 0.5e-6
	furtherSeconds = 2e-6
	rowSeconds     = 4e-6
)

// splitSeconds is what the tasks of a split take of one core beside its documents: half
// of it before the join, half with the tables (job/docs/benchmarks/run.md).
const splitSeconds = 16e-3

// Seconds of one core that a library takes: for each document of the night, which is
// looked up there and added to it, and for each of the library, which streams past.
// From runs with a library of up to 368,000 documents (job/docs/benchmarks/plan.md).
const (
	nightSeconds   = 11e-6
	earlierSeconds = 3e-6
)

// sampledPage is what a library keeps of a page that was read to learn the template of
// its site, in bytes, until there is one.
const sampledPage = 1100

// unpackShare is what reading a text from the run's own table takes of what
// packing it for the clean dump does.
const unpackShare = 0.25

// New samples the inputs and plans a run by cfg.
func New(ctx context.Context, cfg config.Config, inputs []string, o Options) (*Plan, error) {
	if o.Documents <= 0 {
		o.Documents = 2000
	}
	o.Workers = max(o.Workers, 1)
	s, err := sample(ctx, cfg, inputs, o)
	if err != nil {
		return nil, err
	}
	p := s.plan
	if cfg.Against.On() {
		return p, s.against(ctx, o)
	}
	if p.Library, err = open(cfg); err != nil {
		return nil, err
	}
	if err := s.look(o); err != nil {
		return nil, err
	}
	for _, name := range config.Presets() {
		preset, err := s.preset(ctx, name, o.Workers)
		if err != nil {
			return nil, err
		}
		p.Presets = append(p.Presets, preset)
	}
	if err := s.measure(ctx, o); err != nil {
		return nil, err
	}
	p.recommend()
	return p, nil
}

// sample reads a sample of the inputs.
func sample(ctx context.Context, cfg config.Config, inputs []string, o Options) (*sampler, error) {
	began := spent()
	splits, err := input.Expand(inputs, cfg.Input, nil)
	listing := spent() - began
	if err != nil {
		return nil, err
	}
	if err := source.CheckColumns(splits, cfg.Input.ReaderOptions()); err != nil {
		return nil, err
	}
	p := &Plan{Splits: len(splits), LengthClasses: map[string]int{}}
	s := &sampler{plan: p, cfg: cfg, listing: listing}
	if err := s.read(ctx, splits, o); err != nil {
		return nil, err
	}
	if p.Sampled == 0 {
		if p.Skipped == 0 {
			return nil, fmt.Errorf("%w: the input is empty: name a file that has some", errNothing)
		}
		err := fmt.Errorf("%w: %s, %s none", errNothing, show.Count(len(splits), "split"), show.Count(p.Skipped, "record")+show.Agree(p.Skipped, " that is", " that are"))
		return nil, source.Textless(err, splits[0], cfg.Input.ReaderOptions())
	}
	return s, nil
}

// open looks into the library of cfg, and refuses one that a run would refuse. A
// folder without one is that of a first night.
func open(cfg config.Config) (*earlier, error) {
	if cfg.Library.Path == "" {
		return nil, nil
	}
	e := &earlier{Path: cfg.Library.Path}
	m, err := library.ReadManifest(e.Path)
	if errors.Is(err, library.ErrNone) {
		return e, nil
	}
	if err != nil || len(m.Nights) == 0 {
		return e, err
	}
	settings, err := method.LibrarySettings(cfg)
	if err != nil {
		return nil, err
	}
	for _, n := range m.Nights {
		if cfg.Library.Night == "" || n.Name < cfg.Library.Night {
			e.Nights++
			e.Documents += n.Live()
		}
	}
	return e, library.CompareSettings(m.Settings, settings)
}

// spent is the processor time of this process in seconds.
func spent() float64 { return machine.ProcessorTime().Seconds() }

// sampler reads and times the sample.
type sampler struct {
	plan  *Plan
	cfg   config.Config
	docs  []data.Document
	views []data.View   // of those with something to compare, equal ones once
	units *mapper.Units // the same

	listing  float64    // seconds of one core that listing the input took
	consumed int64      // bytes of the pieces that were read, as they stand in the files
	counted  int64      // documents of these
	seconds  float64    // of processor time that reading those of timed pieces took
	timed    int64      // documents of these
	perByte  float64    // documents; a split counts by its size
	reading  float64    // seconds of one core, for a document
	printing [2]float64 // the same for fingerprints without and with sketches
	packs    bool       // the clean dump is compressed, as the input is
	packing  float64    // seconds of one core for it, for a document
	packed   float64    // bytes of a document in the clean dump
	ids      float64    // bytes of a document's id
	sites    float64    // share of the sample that is of a site
	learn    float64    // share of the input that is read to learn templates
	splits   int        // that can be read at once
	first    data.Split
	format   string // of the first
}

// A sample is pieces of splits, each read to its end: readers read far ahead, so
// only what they have read at an end is what their documents take of the file.
// About sampleBytes are read in all, in as many pieces as fit there. Where
// documents are slow to read, as the main text of pages is, pieces are smaller, so
// that reading takes about sampleTime, but never below leastPiece.
const (
	sampleBytes  = 32 << 20
	sampleTime   = 5 * time.Second
	sampleSplits = 64
	leastPiece   = 64 << 10
	firstPiece   = 256 << 10 // of slow documents, at first: how long it takes says how much is read of the others
	timedPieces  = 4         // of Parquet and Arrow, whose first documents wait for whole pages and dictionaries: these pieces are long, and only they are timed
)

// read takes the first documents of pieces of splits that are spread evenly.
func (s *sampler) read(ctx context.Context, splits []data.Split, o Options) error {
	n := min(len(splits), sampleSplits)
	each := (o.Documents + n - 1) / n
	advance := o.Pass.Begin(int64(each*n), "documents")
	s.splits, s.first, s.format = len(splits), splits[0], splits[0].Format
	if method.LearnsTemplates(rundir.CommandRun, &s.cfg) {
		s.learn = boilerplate.SampledShare(splits)
	}
	pieces := make(map[string]int) // splits of a file
	for _, split := range splits {
		pieces[split.Path]++
	}
	began := time.Now()
	documents, bytes := 0.0, 0.0 // of the splits that are looked into
	for i := range n {
		split := splits[i*len(splits)/n]
		left := sampleTime - time.Since(began)
		counted, consumed := s.counted, s.consumed
		size, timed := s.pieceOf(left, n-i), true
		if source.Bounded(split) {
			if timed = i%max(n/timedPieces, 1) == 0; timed {
				size = sampleBytes / timedPieces
			} else {
				size = leastPiece
			}
		}
		if err := s.readSplit(ctx, split, each, size, left/time.Duration(n-i), timed, advance); err != nil {
			return err
		}
		if counted, consumed = s.counted-counted, s.consumed-consumed; consumed > 0 {
			of := sizeOf(split, pieces[split.Path], consumed)
			documents, bytes = documents+of*float64(counted)/float64(consumed), bytes+of
		}
	}
	s.plan.SampledFrom, s.plan.Sampled = n, len(s.docs)
	for i, split := range splits {
		if i == 0 || split.Path != splits[i-1].Path {
			s.plan.Bytes += max(split.Size, 0)
		}
	}
	if s.timed > 0 {
		s.reading = s.seconds / float64(s.timed)
	}
	if bytes > 0 {
		s.perByte = documents / bytes
	}
	s.plan.Documents = max(int64(s.perByte*float64(s.plan.Bytes)), s.counted)
	return nil
}

// sizeOf is how many bytes of a file a split is, one of so many of it, of which so many
// bytes were read.
func sizeOf(s data.Split, pieces int, consumed int64) float64 {
	switch {
	case source.Bounded(s): // in rows
		return max(float64(s.Size)/float64(pieces), float64(consumed))
	case s.End >= 0:
		return float64(s.End - s.Start)
	}
	return float64(max(s.Size-s.Start, consumed))
}

// pieceOf returns how many bytes are read of each of so many splits that are left,
// in the time that is left.
func (s *sampler) pieceOf(left time.Duration, splits int) int64 {
	size := sampleBytes - s.consumed
	if s.seconds > 0 {
		size = min(size, int64(left.Seconds()/s.seconds*float64(s.consumed)))
	} else if splits > 1 && source.Extracts(s.format) {
		size = min(size, firstPiece*int64(splits))
	}
	return max(size/int64(splits), leastPiece)
}

// readSplit reads about so many bytes of a split: keeps the first documents of its
// pieces, and counts all. If there are fewer than it is to keep, it begins again
// with more bytes, as long as there is time.
func (s *sampler) readSplit(ctx context.Context, split data.Split, keep int, size int64, left time.Duration, timed bool, advance func(int64)) error {
	began := time.Now()
	before := *s
	skipped := s.plan.Skipped
	for ; ; size *= 2 {
		options := s.cfg.Input.ReaderOptions()
		windows, held, err := source.Windows(split, size, 0, &options)
		if err != nil {
			return err
		}
		kept := 0
		for i, w := range windows {
			most := keep*(i+1)/len(windows) - (len(s.docs) - len(before.docs))
			if err := s.readPiece(ctx, w, options, most, size, w.End != split.End, timed); err != nil {
				return errors.Join(err, held.Close())
			}
			kept = len(s.docs) - len(before.docs)
		}
		if err := held.Close(); err != nil {
			return err
		}
		whole := len(windows) == 1 && windows[0].Equal(split)
		if kept >= keep || whole || kept > 0 && time.Since(began) > left {
			advance(int64(kept))
			return nil
		}
		s.docs, s.consumed, s.counted, s.seconds, s.timed = before.docs, before.consumed, before.counted, before.seconds, before.timed
		s.plan.Skipped = skipped
	}
}

// readPiece keeps the first documents of a piece of a split, and counts all: of
// Parquet those of its first bytes. Where a piece is cut, what is cut off is no
// record.
func (s *sampler) readPiece(ctx context.Context, piece data.Split, options data.ReaderOptions, keep int, size int64, cut, timed bool) (err error) {
	options.Unverified, options.KeepRaw = true, true
	began := spent()
	in, err := source.Open(piece, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	var doc data.Document
	last := 0 // bad records behind the last document
	documents, bounded := 0, source.Bounded(piece)
	for !bounded || documents < keep || in.Consumed() < size {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := in.Read(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if _, bad := data.IsBadRecord(err); bad {
			last++
			continue
		}
		if err != nil {
			return err
		}
		if documents == 0 && s.counted == 0 {
			began = spent() // what is made ready once is no part of the time of a document
		}
		s.plan.Skipped += last
		last = 0
		if documents++; documents <= keep {
			s.docs = append(s.docs, doc)
			doc = data.Document{} // its bytes are kept
		}
	}
	if !cut || documents == 0 {
		s.plan.Skipped += last
	}
	if timed {
		s.seconds += spent() - began
		s.timed += int64(documents)
	}
	s.consumed += in.Consumed()
	s.counted += int64(documents)
	return nil
}

// look fingerprints the sample twice, with and without sketches, and packs it as the
// clean dump is packed.
func (s *sampler) look(o Options) (err error) {
	analyzer, release, err := method.NewAnalyzer(s.cfg.Features)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	templates, err := method.Templates(s.cfg.Features)
	if err != nil {
		return err
	}
	characters := 0
	const passes = 4
	advance := o.Pass.Begin(passes*int64(len(s.docs)), "documents")
	printers := [2]*mapper.Fingerprinter{}
	for sketches := range printers {
		printers[sketches] = mapper.NewFingerprinter(analyzer.NewWorkspace(), sketches == 1, templates)
	}
	for pass := range passes {
		f := printers[pass%2]
		f.Samples = pass == 1
		var row data.FingerprintRow
		began := spent()
		for i := range s.docs {
			f.Fingerprint(&s.docs[i], "", &row)
			advance(1)
			if pass == 1 {
				s.plan.LengthClasses[row.LengthClass]++
				characters += int(row.Length)
				if len(row.Letters) > 0 {
					s.plan.ShortTexts++
				}
				s.view(&row)
				row = data.FingerprintRow{} // the view has its bytes
			}
		}
		// The first pass makes things ready; what else makes one slower is not the run's.
		if took := (spent() - began) / float64(len(s.docs)); pass < 2 || took < s.printing[pass%2] {
			s.printing[pass%2] = took
		}
	}
	s.plan.Characters = float64(characters) / float64(len(s.docs))
	return s.weigh()
}

// weigh packs the sample, and says what its texts and ids take.
func (s *sampler) weigh() error {
	text, ids, sites := 0, 0, 0
	for i := range s.docs {
		if len(template.Site(s.docs[i].ID)) > 0 {
			sites++
		}
		text += len(s.docs[i].Text)
		ids += len(s.docs[i].ID)
	}
	s.plan.TextBytes = float64(text) / float64(len(s.docs))
	s.ids = float64(ids) / float64(len(s.docs))
	s.sites = float64(sites) / float64(len(s.docs))
	return s.pack()
}

// view keeps the view of a row that has something to compare, and is like no other.
func (s *sampler) view(row *data.FingerprintRow) {
	var v data.View
	if mapper.View(row, &v); v.Normal || v.Sketch != [data.SketchSize]byte{} {
		if s.units == nil {
			s.units = mapper.NewUnits(true)
		}
		if int(s.units.Add(&v)) == len(s.views) {
			s.views = append(s.views, v)
		}
	}
}

// pack packs the sample as the clean dump of a file like the first one is packed.
func (s *sampler) pack() error {
	packed := &counter{}
	pack := struct {
		io.Writer
		io.Closer
	}{packed, io.NopCloser(nil)}
	switch extension := clean.Extension(s.first); path.Ext(extension) {
	case ".gz":
		z, err := gzip.NewWriterLevel(packed, gzip.BestSpeed)
		if err != nil {
			return err
		}
		pack.Writer, pack.Closer = z, z
	case ".zst", ".parquet":
		z, err := zstd.NewWriter(packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		pack.Writer, pack.Closer = z, z
	}
	s.packs = pack.Writer != io.Writer(packed)
	began := spent()
	for i := range s.docs {
		d := &s.docs[i]
		record := d.Raw // with all fields
		if len(record) == 0 {
			record = d.Text
		}
		if _, err := pack.Write(record); err != nil {
			return err
		}
	}
	if err := pack.Close(); err != nil {
		return err
	}
	s.packing = (spent() - began) / float64(len(s.docs))
	s.packed = float64(packed.n) / float64(len(s.docs))
	return nil
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// atOnce returns how many cores there are, splits that are read at the same time, and
// readers of them.
func (s *sampler) atOnce(workers int) (cores, splits, readers float64) {
	cores, splits = float64(workers), float64(min(workers, s.splits))
	if s.format == source.FormatWARC || s.format == source.FormatWET {
		return cores, splits, cores // a split is read by all
	}
	return cores, splits, splits
}

// preset estimates what a preset takes.
func (s *sampler) preset(ctx context.Context, name string, workers int) (preset, error) {
	cfg, err := s.cfg.WithPreset(name)
	if err != nil {
		return preset{}, err
	}
	m := cfg.Match
	verified := 0
	if m.Sketched() {
		verified = 1
	}
	n := float64(s.plan.Documents)
	cores, splits, readers := s.atOnce(workers)
	p := preset{Name: name, Distance: m.Distance, verified: m.Sketched()}
	// A split's reader and the fingerprinters work at the same time.
	printing := s.printing[verified] + rowSeconds
	p.Fingerprint = max(s.reading*n/readers, (s.reading+printing)*n/cores) + s.learn*(s.reading+printing)*n/cores
	kernel, err := hamming.ChoosePlan(cfg.Features.Bits, m.Distance, int(min(n, 1<<31)))
	if err != nil {
		return p, err
	}
	p.Match = n*orderSeconds + n*kernel.Cost(int(min(n, 1<<31)))*1e-9/cores
	p.Match += n * furtherSeconds / cores * float64(verified)
	met, err := s.meet(ctx, cfg, n)
	if err != nil {
		return p, err
	}
	p.Match += met.seconds(n, s.plan.TextBytes) / cores
	reader, ok := readerMemory[s.format]
	if !ok {
		reader = lineReader
	}
	if of := s.plan.Bytes / int64(s.splits); s.format == source.FormatParquet && object.Is(s.first.Path) && of <= parquet.MostHeld {
		reader += float64(of) // its row group
	}
	group := min(groupMemory, tableDisk[verified]*n/float64(s.splits)) // pages wait for the end of their row group
	p.Memory = s.memory(holds{
		start: startMemory, kept: lexiconMemory, core: printerMemory, split: reader + writerMemory + group,
		document: documentMemory[verified] + sampleMemory*met.shared + shortMemory*met.short/n, texts: 1,
	}, n, splits, cores)
	again := s.reading // of a text, when it is read again
	if source.Extracts(s.format) {
		again = s.packing * unpackShare
	}
	if m.Verify == config.VerifyTexts || m.Containment > 0 {
		p.Match += again * n / readers // the texts of open pairs
	}
	if cfg.Output.Clean {
		// A split is read by one, and packed by all.
		p.Clean = max(again*n/readers, (again+s.packing)*n/cores)
	}
	if l := s.plan.Library; l != nil {
		p.Library = n*nightSeconds + float64(l.Documents)*earlierSeconds
	}
	tasks := float64(s.splits) * splitSeconds
	p.Fingerprint, p.Match = s.listing+p.Fingerprint+tasks/2/cores, p.Match+tasks/2/cores
	p.Total = p.Fingerprint + p.Match + p.Clean + p.Library
	printed := n * (tableDisk[verified] + s.ids/4) // ids are packed
	p.Disk, p.Scratch = int64(printed), int64(n*(scratchDisk[verified]+s.ids))
	if m.Signs() {
		p.Scratch += int64(n * signatureDisk)
	}
	if s.plan.Library != nil { // the same columns, and samples
		p.Growth = int64(printed + n*s.learn*s.sites*sampledPage)
	}
	p.CPU = s.listing + tasks/2 + p.Library + p.Match*cores + n*(s.reading+printing)*(1+s.learn)
	if source.Extracts(s.format) {
		p.Disk += int64(n * s.packed) // the extracted texts
	}
	if cfg.Output.Clean {
		p.Disk += int64(n * s.packed)
		p.CPU += n * (again + s.packing)
	}
	return p, nil
}

// holds is what a run holds in memory, in bytes: at its start, and of that for good;
// for each core, split at work and document; and of a batch of documents, in texts.
type holds struct{ start, kept, core, split, document, texts float64 }

// memory estimates the peak memory of a run over n documents, so many splits at once.
func (s *sampler) memory(h holds, n, splits, cores float64) int64 {
	const batchDocuments, batchBytes = 256, 1 << 20 // as of the stages that read
	batches := (2*cores + 2) * longestTexts * min(batchBytes, batchDocuments*s.plan.TextBytes)
	bytes := max(n*s.plan.TextBytes, float64(s.plan.Bytes))
	each := bytes / float64(s.splits)
	split := min(h.split+h.texts*batches, smallFile*each)
	if !source.Extracts(s.format) && !source.Bounded(s.first) {
		split = min(split, linesStart+linesByte*each)
	}
	core := cores * h.core
	most := float64(machine.Ballast(s.cfg.Execution.MemoryLimit())) + 2*(h.kept+max(splits*split+core, h.document*n))
	taken := h.start + float64(s.splits)*split + core + (garbageDocument+h.document)*n // if nothing were collected
	if source.Extracts(s.format) {
		taken += garbagePages * float64(s.plan.Bytes)
	}
	return machine.OwnPages + int64(min(most, taken))
}

// measure plants duplicates of every kind into the sample and has the presets
// find them.
func (s *sampler) measure(ctx context.Context, o Options) (err error) {
	corpus := &eval.Corpus{}
	for _, d := range s.docs {
		corpus.Documents = append(corpus.Documents, eval.Document{ID: string(d.ID), Title: d.Title, Text: d.Compared()})
	}
	var edits []eval.Planned
	for _, e := range []eval.Edit{"mirror", "advert", "numbers", "drop", "move", "reword", "truncate"} {
		edits = append(edits, eval.Planned{Edit: e, Strength: plantStrength})
	}
	planted, err := eval.Plant(corpus, eval.Planting{Edits: edits, Count: len(s.docs) / 2, Seed: o.Seed})
	if err != nil {
		return err
	}
	// The laboratory goes over the texts once, and so does each preset's run: one
	// pass for whoever looks on. What else they go over takes little time.
	advance := o.Pass.Begin(int64((1+len(s.plan.Presets))*len(planted.Documents)), eval.PassTexts)
	pass := func(_ int64, unit string) func(int64) {
		if unit == eval.PassTexts {
			return advance
		}
		return func(int64) {}
	}
	lab, err := eval.New(ctx, planted, eval.Options{Half: eval.AllPairs, Workers: o.Workers, Pass: pass})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()
	for i := range s.plan.Presets {
		preset := &s.plan.Presets[i]
		r, err := lab.Measure(ctx, eval.Preset(preset.Name))
		if err != nil {
			return err
		}
		preset.Precision, preset.Recall = r.Precision, r.Recall
		if !preset.verified {
			preset.Precision = diluted(r.Precision, float64(s.plan.Documents)/float64(len(s.docs)))
		}
	}
	return nil
}

// diluted is the precision among that many times as many documents where
// nothing but the distance tells: pairs that have nothing to do with each other
// grow with the square of the documents, duplicates with their number.
// Verification leaves none of the former.
func diluted(p eval.Share, times float64) eval.Share {
	of := func(v float64) float64 { return v / (v + (1-v)*times) }
	p.Value, p.Low, p.High = of(p.Value), of(p.Low), of(p.High)
	return p
}

// plantStrength is how much of a page the planted edits change.
const plantStrength = 0.2

// recommend chooses balanced, the default, unless another preset is better: a
// costlier one whose F1 is higher by a point or more, and by more than the sample's
// noise; or a faster one that is within a point of it however the noise may fall.
func (p *Plan) recommend() {
	best := slices.IndexFunc(p.Presets, func(r preset) bool { return r.Name == config.PresetBalanced })
	for i := range p.Presets {
		gain, cost := p.Presets[i].f1()-p.Presets[best].f1(), p.Presets[i].CPU/p.Presets[best].CPU
		noise := math.Hypot(p.Presets[i].noise(), p.Presets[best].noise())
		if gain >= 0.01 && gain > noise || cost < 1/1.2 && gain-noise > -0.01 {
			best = i
		}
	}
	r := p.Presets[best]
	p.Recommended = r.Name
	p.Why = fmt.Sprintf("of the planted duplicates it finds %.1f %%, and %.1f %% of what it reports is right; no costlier preset is better beyond the noise of the sample", 100*r.Recall.Value, 100*r.Precision.Value)
	p.Memory = memorySetting(r.Memory)
}

// memorySetting is the cap to give a run that takes so many bytes.
func memorySetting(bytes int64) string { return fmt.Sprintf("%dMiB", (bytes+bytes/4)>>20) }

func (r *preset) f1() float64 { return eval.F1(r.Precision.Value, r.Recall.Value) }

// noise is half of the 95 % interval of f1.
func (r *preset) noise() float64 {
	return (eval.F1(r.Precision.High, r.Recall.High) - eval.F1(r.Precision.Low, r.Recall.Low)) / 2
}
