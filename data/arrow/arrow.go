// Package arrow reads documents from Arrow IPC, its files and its streams (Open), cuts
// files into splits between their record batches (Cut), and copies the rows of a split
// that stay (CopyRows). It never reads Parquet, which has a package of its own.
package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/internal/panics"
	"github.com/neardup/neardup/data/internal/stream"
	"github.com/neardup/neardup/data/object"
)

// Is reports whether a file begins as an Arrow IPC file or stream does; 16 bytes of it
// suffice.
func Is(head []byte) bool {
	if bytes.HasPrefix(head, []byte(fileMagic)) {
		return true
	}
	// A schema's head is shorter than 16 MiB, and the flatbuffer's root is near its
	// beginning.
	return len(head) >= 12 && binary.LittleEndian.Uint32(head) == continuation && head[7] == 0 && binary.LittleEndian.Uint32(head[4:]) > 0 &&
		binary.LittleEndian.Uint32(head[8:]) < 1<<10
}

// batches reads the record batches of a split.
type batches struct {
	path     string
	raw      *stream.Reader
	messages messages
	memory   data.Memory
	file     bool // and no stream: it has a footer
	whole    bool // the split ends where the file does
	ahead    bool // the dictionaries were read before
	size     int64

	queue   []*ipc.Message // of what comes before the split
	arrow   *ipc.Reader
	schema  *arrow.Schema
	message message // of the batch that was read last
	taken   int64   // of memory, for it
	broken  error   // nothing that follows can be read; io.EOF at the end
}

// openBatches opens a split, and reads the schema. Its errors name the file.
func openBatches(split data.Split, o data.ReaderOptions) (b *batches, err error) {
	raw, err := stream.Open(split, o)
	if err != nil {
		return nil, err
	}
	b = &batches{path: split.Path, raw: raw, messages: messages{in: raw, at: split.Start}, size: split.Size}
	if raw.Compression() == stream.Plain { // else the decompressor may hold some
		b.memory = o.Memory
	}
	if err = b.begin(split, o); err == nil {
		err = panics.AsError(func() (err error) {
			if b.arrow, err = ipc.NewReaderFromMessageReader(b, ipc.WithAllocator(mem)); err == nil {
				b.schema = b.arrow.Schema()
			}
			return err
		})
		if err != nil && !errors.Is(err, errFailed) {
			err = &data.Unreadable{Err: fmt.Errorf("no schema that can be read at its beginning: %w: fetch or write the file again, or leave it out", err)}
		}
	}
	if err != nil {
		if !errors.As(err, new(*data.Unreadable)) && damage(err) {
			err = &data.Unreadable{Err: fmt.Errorf("%w: fetch or write the file again, or leave it out", err)}
		}
		return nil, errors.Join(fmt.Errorf("arrow: %s: %w", split.Path, err), raw.Close())
	}
	return b, nil
}

// errFailed marks errors of reading, which say nothing of the bytes.
var errFailed = errors.New("reading")

// begin reads what stands before the split's messages: the mark of a file, and for a
// split in the middle the schema and the dictionaries before it.
func (b *batches) begin(split data.Split, o data.ReaderOptions) error {
	b.whole = split.End < 0 || split.End == split.Size
	if split.Start == 0 {
		head := make([]byte, len(fileMagic))
		switch err := b.messages.fill(head); {
		case err == nil && string(head) == fileMagic:
			b.file = true
			return b.wholeFile(split, o)
		case err == nil && Is(append(head, 0, 0, 0, 0)):
			b.messages.in, b.messages.at = io.MultiReader(bytes.NewReader(head), b.raw), 0
		case err == nil || errors.Is(err, io.EOF) || errors.Is(err, errDamaged) || errors.As(err, new(*stream.Damage)):
			return &data.Unreadable{Err: errors.New("no Arrow IPC file or stream: name one")}
		default:
			return err
		}
		return nil
	}
	f, err := object.OpenInput(split, o)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	before := messages{in: io.NewSectionReader(f, 0, split.Start)}
	head := make([]byte, len(fileMagic))
	if err := before.fill(head); err != nil {
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	if b.file = string(head) == fileMagic; !b.file {
		if err := before.skip(-int64(len(head))); err != nil {
			return err
		}
	}
	if b.file {
		begin, err := b.beginFile(f, split.Size)
		if err != nil || b.ahead {
			return err
		}
		if err := before.skip(begin - before.at); err != nil {
			return err
		}
	}
	for before.at < split.Start {
		msg, err := before.next()
		if err != nil {
			return err
		}
		if msg.kind == batchMessage {
			if len(b.queue) == 1 { // the schema; no dictionary comes before a batch, so there is none
				return nil
			}
			if err := before.skip(msg.body); err != nil {
				return err
			}
			continue
		}
		if err := b.take(&before, msg); err != nil {
			return err
		}
	}
	return nil
}

// take queues a message that comes before the split, with its body.
func (b *batches) take(in *messages, msg message) error {
	body, err := in.take(msg.body)
	if err != nil {
		return err
	}
	if _, err := msg.load.memory(body); err != nil {
		return fmt.Errorf("%w: the message at offset %d: %w", errDamaged, msg.at, err)
	}
	b.push(msg, body)
	return nil
}

// push adds a message to those that come before the split.
func (b *batches) push(msg message, body []byte) {
	b.queue = append(b.queue, ipc.NewMessage(memory.NewBufferBytes(msg.meta), memory.NewBufferBytes(body)))
}

// wholeFile begins a file, behind its mark. One that cannot be read at any place is read
// as a stream is.
func (b *batches) wholeFile(split data.Split, o data.ReaderOptions) error {
	if split.Size < 0 || b.raw.Compression() != stream.Plain {
		return nil
	}
	f, err := object.OpenInput(split, o)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading
	begin, err := b.beginFile(f, split.Size)
	if err != nil {
		return err
	}
	return b.messages.skip(begin - b.messages.at)
}

// beginFile queues the schema of a file and the dictionaries that its footer names, which
// may stand behind batches, and returns where the messages behind the schema begin.
func (b *batches) beginFile(f io.ReaderAt, size int64) (begin int64, err error) {
	schema, begin, err := first(f, size)
	if err != nil {
		return 0, err
	}
	b.push(schema, nil)
	footer, err := readFooter(f, size)
	if err != nil {
		return begin, ignored(err)
	}
	for _, at := range footer.dictionaries {
		in := messages{in: io.NewSectionReader(f, at, max(size-at, 0)), at: at}
		msg, err := in.next()
		if err == nil {
			err = b.take(&in, msg)
		}
		if err != nil { // they are read as they come
			b.queue = b.queue[:1]
			return begin, ignored(cut(in.at, err))
		}
	}
	b.ahead = true
	return begin, nil
}

// ignored is err without damage, which is not told of where the bytes can do without.
func ignored(err error) error {
	if damage(err) || errors.Is(err, errEnd) {
		return nil
	}
	return fmt.Errorf("%w: %w", errFailed, err)
}

// first returns the schema's message of a file, and where the next one begins. Damage of
// the file's end does no harm as long as its beginning tells.
func first(f io.ReaderAt, size int64) (msg message, next int64, err error) {
	in := messages{in: io.NewSectionReader(f, int64(len(fileMagic)), size-int64(len(fileMagic))), at: int64(len(fileMagic))}
	msg, err = in.next()
	if err == nil && msg.kind == schemaMessage && msg.body <= size-in.at {
		return msg, in.at + msg.body, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if err := ignored(err); err != nil {
			return msg, 0, err
		}
	}
	footer, err := readFooter(f, size)
	if damage(err) {
		err = &data.Unreadable{Err: fmt.Errorf("no schema that can be read at its beginning, and at its end: %w: fetch or write the file again, or leave it out", err)}
	}
	return footer.schema, footer.begin, err
}

// next reads the next record batch, which is valid until the call after. io.EOF at the
// end of the split; an error for which b.broken is set ends it, of any other only this
// batch is lost.
func (b *batches) next() (batch arrow.Record, err error) {
	if b.broken != nil {
		return nil, b.broken
	}
	b.giveMemory()
	err = panics.AsError(func() (err error) {
		batch, err = b.arrow.Read()
		return err
	})
	switch {
	case b.broken != nil:
		return nil, b.broken
	case err == nil:
		for i, c := range batch.Columns() {
			if int64(c.Len()) != b.message.rows {
				return nil, fmt.Errorf("%w: %d rows of column %s, of %d", errDamaged, c.Len(), b.schema.Field(i).Name, b.message.rows)
			}
			if err := panics.AsError(func() error { return validate(c) }); err != nil {
				return nil, fmt.Errorf("%w: column %s: %w", errDamaged, b.schema.Field(i).Name, err)
			}
		}
	case err != nil && b.message.kind != batchMessage: // a dictionary that others need
		b.broken = fmt.Errorf("%w: the dictionary at offset %d: %w", errDamaged, b.message.at, err)
	}
	return batch, err
}

// Message returns the next message to arrow's reader.
func (b *batches) Message() (*ipc.Message, error) {
	if len(b.queue) > 0 {
		m := b.queue[0]
		b.queue = b.queue[1:]
		return m, nil
	}
	msg, err := b.messages.next()
	for err == nil && b.ahead && msg.kind == dictionaryMessage {
		if err = b.messages.skip(msg.body); err == nil {
			msg, err = b.messages.next()
		}
	}
	if errors.Is(err, errEnd) || errors.Is(err, io.EOF) || b.file && b.whole && msg.head != nil {
		err = b.end(msg, err)
	}
	if err != nil {
		b.broken = err
		return nil, err
	}
	b.message = msg
	body, err := b.body(msg)
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(msg.meta), memory.NewBufferBytes(body)), nil
}

// much is how large a batch is for which memory is taken.
const much = 16 << 20

// body reads a message's body, if there is memory for it and what it is decoded to.
func (b *batches) body(msg message) ([]byte, error) {
	if b.size >= 0 && b.raw.Compression() == stream.Plain && msg.body > b.size-b.messages.at {
		b.broken = fmt.Errorf("%w: the message at offset %d goes beyond the end of the file", errDamaged, msg.at)
		return nil, b.broken
	}
	if !b.takeMemory(2 * msg.body) {
		if b.broken = b.messages.skip(msg.body); b.broken != nil {
			return nil, b.broken
		}
		return nil, fmt.Errorf("%w: %d bytes: write smaller batches, or give more memory", errLargeBatch, msg.body)
	}
	body, err := b.messages.take(msg.body)
	if err != nil {
		b.broken = cut(b.messages.at, err)
		return nil, b.broken
	}
	n, err := msg.load.memory(body)
	if err == nil && n > msg.body && !b.takeMemory(msg.body+n) {
		err = fmt.Errorf("%w: %d bytes: write smaller batches, or give more memory", errLargeBatch, n)
	}
	return body, err
}

// takeMemory takes n bytes for the batch, if that is much; false if there are not as
// many. What was taken before is given back first: who holds some and waits for more may
// wait for another who does the same.
func (b *batches) takeMemory(n int64) bool {
	b.giveMemory()
	if n < much {
		return true
	}
	b.taken = data.Take(b.memory, n)
	return b.taken >= n
}

func (b *batches) giveMemory() {
	data.Give(b.memory, b.taken)
	b.taken = 0
}

// Retain and Release are for arrow's reader, which counts references.
func (b *batches) Retain()  {}
func (b *batches) Release() {}

// end is io.EOF if the split may end here: why is errEnd, io.EOF, or, where a file may
// have no mark of the end before its footer, what is wrong with the message.
func (b *batches) end(msg message, why error) error {
	at := b.messages.at
	switch {
	case !b.file || !b.whole:
		if errors.Is(why, io.EOF) {
			return io.EOF
		}
		var one [1]byte
		if err := b.messages.fill(one[:]); err == nil {
			return fmt.Errorf("%w: the stream ends at offset %d, and the file does not: one file holds one stream", errDamaged, at)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
		return io.EOF
	case errors.Is(why, io.EOF):
		return fmt.Errorf("%w: the file is cut off at offset %d, before its footer", errDamaged, at)
	}
	rest, err := io.ReadAll(io.LimitReader(b.messages.in, largestFooter))
	if err != nil {
		return err
	}
	rest = append(msg.head, rest...)
	footer := len(rest) - footerEnd
	switch {
	case footer >= 0 && string(rest[footer+4:]) == magic && int64(binary.LittleEndian.Uint32(rest[footer:])) == int64(footer):
		return io.EOF
	case errors.Is(why, errEnd):
		return fmt.Errorf("%w: the batches end at offset %d, and no footer follows", errDamaged, at)
	}
	return why
}

func (b *batches) close() error {
	b.giveMemory()
	b.broken = os.ErrClosed
	if err := b.raw.Close(); err != nil {
		return fmt.Errorf("arrow: %s: %w", b.path, err)
	}
	return nil
}

// damage is whether an error says that bytes of the input are wrong, and not that they
// could not be read.
func damage(err error) bool {
	return errors.Is(err, errDamaged) || errors.As(err, new(*stream.Damage))
}

// reader reads the documents of a split.
type reader struct {
	*batches
	row   int64 // of the next document, within the file
	limit int

	leaves  [field.Fields]*leaf // nil when there is none
	noText  error               // why a row has none
	batch   arrow.Record
	columns [field.Fields]*column // of the batch
	next    int                   // row of the batch
	err     error                 // ended the reading; io.EOF at the end
	raw     []byte
}

// Open opens a split of an Arrow IPC file or stream: the whole of it, or a piece that
// Cut made. Columns may be nested in groups (named by their dotted path), not in lists.
// Document.Offset is the row number within the file; Raw stays empty. A record batch is
// in memory at a time.
func Open(split data.Split, o data.ReaderOptions) (data.SourceReader, error) {
	b, err := openBatches(split, o)
	if err != nil {
		return nil, err
	}
	r := &reader{batches: b, row: split.Row, limit: int(o.RecordLimit())}
	if err := r.open(o); err != nil {
		return nil, errors.Join(fmt.Errorf("arrow: %s: %w", split.Path, err), b.close())
	}
	return r, nil
}

func (r *reader) open(o data.ReaderOptions) error {
	all := leaves(r.schema)
	for f, name := range field.Names(o.Columns) {
		if f == field.Text {
			if err := o.TolerateMissing(r.openText(all, name)); err != nil {
				return err
			}
			continue
		}
		at, err := field.Pick(paths(all), name, field.Usual[f])
		if err = o.TolerateMissing(err); err != nil {
			return err
		}
		if at < 0 {
			continue
		}
		if err := all[at].readable(); err == nil {
			r.leaves[f] = &all[at]
		} else if name != "" { // else a guess that does not fit
			return err
		}
	}
	return nil
}

// openText finds the column of the text, which is a *data.NoColumn unless there is one
// and it holds strings.
func (r *reader) openText(all []leaf, name string) error {
	r.noText = field.NoText(name)
	text, err := textLeaf(all, name)
	if err != nil {
		return err
	}
	r.noText = errors.New("the text is null")
	r.leaves[field.Text] = text
	return nil
}

// textLeaf is the column of the text, by its name or a usual one. It is a
// *data.NoColumn unless there is one and it holds strings.
func textLeaf(all []leaf, name string) (*leaf, error) {
	at, err := field.Need(paths(all), name, field.OfText, field.Usual[field.Text])
	if err != nil {
		return nil, err
	}
	if all[at].strings() {
		return &all[at], nil
	}
	missing := &data.NoColumn{Name: name, Of: field.OfText, Usual: field.Usual[field.Text], Where: " of strings"}
	for _, l := range all {
		if l.strings() {
			missing.Have = append(missing.Have, l.path)
		}
	}
	return nil, missing
}

// Read fills doc with the next row's document; see data.Reader.
func (r *reader) Read(doc *data.Document) error {
	for r.err == nil && (r.batch == nil || r.next >= int(r.batch.NumRows())) {
		if err := r.nextBatch(); err != nil {
			return err
		}
	}
	if r.err != nil {
		return r.err
	}
	r.next++
	r.row++
	err := panics.AsError(func() error { return r.document(doc, r.next-1) })
	if _, is := data.IsBadRecord(err); err != nil && !is { // a value that is not where the batch says
		return &data.BadRecord{Source: r.path, Offset: r.row - 1, Reason: data.ReasonDamaged, Err: err, Lost: max(1, r.message.body/max(r.message.rows, 1))}
	}
	return err
}

// nextBatch reads the next batch; a *data.BadRecord stands for the rows of one that
// cannot be read, or for all that follow.
func (r *reader) nextBatch() (err error) {
	r.batch = nil
	batch, err := r.batches.next()
	if err == nil {
		err = panics.AsError(func() error {
			for f, l := range r.leaves {
				if l != nil {
					r.columns[f] = l.of(batch)
				}
			}
			return nil
		})
	}
	bad := &data.BadRecord{Source: r.path, Offset: r.row, Reason: data.ReasonDamaged}
	switch {
	case err == nil:
		r.batch, r.next = batch, 0
		return nil
	case r.broken == nil: // of this batch alone
		bad.Err, bad.Lost = fmt.Errorf("%s of its record batch at byte %d are lost: %w", count(r.message.rows), r.message.at, err), max(r.message.body, 1)
		if errors.Is(err, errLargeBatch) {
			bad.Reason = data.ReasonTooLarge // and the error says what to do
		} else {
			bad.Err = fmt.Errorf("%w: fetch or write the file again", bad.Err)
		}
		r.row += r.message.rows
		return bad
	case damage(r.broken):
		rest, err := r.batches.raw.Rest()
		if err != nil {
			r.err = fmt.Errorf("arrow: %s: %w", r.path, err)
			return r.err
		}
		bad.Err, bad.Lost = fmt.Errorf("what follows row %d of it is lost: %w: fetch or write the file again", r.row, r.broken), max(rest, 1)
		r.broken, r.err = io.EOF, io.EOF
		return bad
	case errors.Is(r.broken, io.EOF):
		_, err := r.batches.raw.Rest()
		if r.err = io.EOF; err != nil {
			r.err = fmt.Errorf("arrow: %s: %w", r.path, err)
		}
		return r.err
	}
	r.err = fmt.Errorf("arrow: %s at row %d: %w", r.path, r.row, r.broken)
	return r.err
}

func count(rows int64) string {
	if rows == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", rows)
}

// value is where a row's value of a field stands; nil if there is none.
func (r *reader) value(f, row int) (arrow.Array, int) {
	if r.leaves[f] == nil {
		return nil, 0
	}
	return r.columns[f].value(row)
}

// document makes a document of a row of the batch.
func (r *reader) document(doc *data.Document, row int) error {
	doc.Reset()
	doc.Offset = r.row - 1
	values, at := r.value(field.ID, row)
	if doc.ID = appendText(doc.ID, values, at); len(doc.ID) == 0 {
		doc.ID = field.AppendDefaultID(doc.ID, r.path, doc.Offset)
	}
	values, at = r.value(field.Title, row)
	doc.Title = appendText(doc.Title, values, at)
	values, at = r.value(field.Language, row)
	doc.Language = appendText(doc.Language, values, at)
	if values, at = r.value(field.Date, row); values != nil {
		doc.Date = dateOf(values, at)
	}
	if values, at = r.value(field.Rank, row); values != nil {
		doc.Rank = numberOf(values, at)
	}
	values, at = r.value(field.Text, row)
	if values == nil {
		return &data.BadRecord{Source: r.path, Offset: doc.Offset, Reason: data.ReasonNoText, Err: r.noText}
	}
	text, _ := bytesOf(values, at)
	if len(text) > r.limit {
		r.raw = append(r.raw[:0], text[:min(len(text), 1<<20)]...)
		return &data.BadRecord{Source: r.path, Offset: doc.Offset, Reason: data.ReasonTooLarge, Err: fmt.Errorf("longer than %d bytes", r.limit), Raw: r.raw}
	}
	doc.Text = append(doc.Text, text...)
	return nil
}

// Encoding is empty: Arrow holds UTF-8; see data.SourceReader.
func (r *reader) Encoding() string { return "" }

// Consumed is how many bytes of the file were read; see data.SourceReader.
func (r *reader) Consumed() int64 { return r.batches.raw.Consumed() }

// Digest is the SHA-256 of the split's bytes; see data.SourceReader.
func (r *reader) Digest() string { return r.batches.raw.Digest() }

// Close ends the reading; it may be called at any time, and again.
func (r *reader) Close() error {
	r.err, r.batch = os.ErrClosed, nil
	return r.close()
}
