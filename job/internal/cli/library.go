package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/lookup"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage/history"
	"github.com/neardup/neardup/job/internal/version"
)

// errNotSound ends a verification that found something.
var errNotSound = errors.New("the library is damaged")

func newLibrary(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "library COMMAND",
		Short: "Manage the library of earlier nights",
		Long: `The library keeps the fingerprints of earlier nights; run --library matches a
night against it and adds the night.`,
		Example: `  neardup library status lib/
  neardup library expire lib/ --before 2026-08-01`,
		Args: cobra.ArbitraryArgs,
		RunE: onlyCommands,
	}
	cmd.AddCommand(newLibraryStatus(std), newLibraryExpire(std), newLibraryDelete(std), newLibraryCompact(std), newLibraryVerify(std), newLibraryRepair(std), newLibraryNight(std))
	return cmd
}

// ofLibrary completes a command on the library that its first argument names:
// it prints what it did, as JSON if asked to.
func ofLibrary(cmd *cobra.Command, args cobra.PositionalArgs, run func(cmd *cobra.Command, args []string, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd.Args, cmd.RunE = args, func(cmd *cobra.Command, args []string) error { return run(cmd, args, asJSON) }
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

var oneLibrary = need(1, message.Key("one library"))

// libraryAndRuns is a usage error unless there is a library.
func libraryAndRuns(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return oneLibrary(c, args)
	}
	return nil
}

// libraryOptions tell what is done with the library at dir until done is called.
func libraryOptions(std streams, dir, what string, asJSON bool) (o library.Options, done func()) {
	shown := newScreen(std.err, *std.language, asJSON, false)
	o.Version = version.Version
	o.Waiting = func(holders string, waited time.Duration) {
		shown.log.Info("another neardup has the library: waiting for it", "library", dir, "held", holders, "waited", waited)
	}
	o.Reading, done = shown.progress(what)
	return o, done
}

// outcome is what a command did to a library: itself as JSON, printed for people.
type outcome interface {
	print(w io.Writer, l message.Language) error
}

// changing runs change with the library at dir locked, and then prints what it
// did, also when it failed behind that.
func changing(cmd *cobra.Command, std streams, dir string, asJSON bool, change func(l *library.Library) (outcome, error)) (err error) {
	if _, err := library.ReadManifest(dir); err != nil { // a mistyped path makes no library
		return err
	}
	o, done := libraryOptions(std, dir, cmd.Name(), asJSON)
	defer done()
	l, err := library.Lock(cmd.Context(), dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	did, err := change(l)
	done()
	if did != nil {
		err = errors.Join(err, std.printed(asJSON, did, did.print))
	}
	return err
}

func newLibraryStatus(std streams) *cobra.Command {
	return ofLibrary(&cobra.Command{
		Use:     "status LIBRARY",
		Short:   "Say what a library holds",
		Long:    `Prints nights, documents and size, and the segments that most documents share.`,
		Example: "  neardup library status lib/",
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) error {
		o, done := libraryOptions(std, args[0], cmd.Name(), asJSON)
		s, err := history.ReadStatus(cmd.Context(), args[0], o)
		done()
		if err != nil {
			return err
		}
		return std.printed(asJSON, s, s.Print)
	})
}

func newLibraryExpire(std streams) *cobra.Command {
	var before string
	cmd := ofLibrary(&cobra.Command{
		Use:   "expire LIBRARY --before DATE",
		Short: "Forget old nights",
		Long: `Removes the nights dated before the day. When a document was first seen is
carried by the nights that stay.`,
		Example: "  neardup library expire lib/ --before 2026-08-01",
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) error {
		date, err := time.Parse(time.DateOnly, before)
		if err != nil {
			return usageError{fmt.Errorf("--before %q: write a date like 2026-08-01", before)}
		}
		return changing(cmd, std, args[0], asJSON, func(l *library.Library) (outcome, error) {
			gone, err := l.Expire(date)
			if err != nil {
				return nil, err
			}
			return goneOf(gone), nil
		})
	})
	cmd.Flags().StringVar(&before, "before", "", "the first day whose night stays")
	return cmd
}

// gone are nights that a library does not have any more.
type gone struct {
	Nights    []string `json:"nights"`
	Documents int64    `json:"documents"`
}

func goneOf(nights []library.Night) gone {
	g := gone{Nights: []string{}}
	for _, n := range nights {
		g.Nights, g.Documents = append(g.Nights, n.Name), g.Documents+n.Live()
	}
	return g
}

func (g gone) print(w io.Writer, l message.Language) error {
	_, err := fmt.Fprintln(w, l.Text("gone: %s with %s", l.Count(int64(len(g.Nights)), "night"), l.Count(g.Documents, "document")))
	return err
}

func newLibraryDelete(std streams) *cobra.Command {
	var ids string
	var doomed library.Doomed
	var nights []string
	cmd := ofLibrary(&cobra.Command{
		Use:   "delete LIBRARY",
		Short: "Delete documents or nights",
		Long: `Deletes documents by id (--ids: a file of one id a line, or - for standard
input) or by the beginning of their ids (--prefix), from every night; or whole
nights (--night). What is deleted is in no later result. A document that is
deleted stays out of the library when a later night brings it, unless --once
is given. The files hold its bytes until "library compact". Ids that no night
has are named: an id is the whole of its line, spaces and quotes too.`,
		Example: `  neardup library delete lib/ --ids removed-urls.txt
  neardup library delete lib/ --prefix https://example.org/private/
  neardup library delete lib/ --night 2026-11-20`,
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) (err error) {
		if ids == "" && len(doomed.Prefixes) == 0 && len(nights) == 0 {
			return usageError{errors.New("name what to delete with --ids, --prefix or --night")}
		}
		if slices.Contains(doomed.Prefixes, "") {
			return usageError{errors.New("an empty --prefix would delete everything: name one, or remove the folder")}
		}
		for i, prefix := range doomed.Prefixes {
			doomed.Prefixes[i] = string(data.ValidID([]byte(prefix)))
		}
		if ids != "" {
			if doomed.IDs, err = readIDs(ids, std.in); err != nil {
				return err
			}
		}
		return changing(cmd, std, args[0], asJSON, func(l *library.Library) (outcome, error) {
			did := &deleted{library: args[0], ids: len(doomed.IDs)}
			if len(nights) > 0 { // first: it refuses a name that is wrong
				removed, err := l.RemoveNights(nights...)
				if err != nil {
					return nil, usageError{err}
				}
				g := goneOf(removed)
				did.Gone = &g
			}
			if len(doomed.IDs)+len(doomed.Prefixes) == 0 {
				return did, nil
			}
			hidden, err := l.Delete(cmd.Context(), doomed)
			if err == nil {
				did.Hidden = &hidden
			}
			return did, err
		})
	})
	cmd.Flags().StringVar(&ids, "ids", "", "file of the ids to delete, one a line; - for standard input")
	cmd.Flags().StringArrayVar(&doomed.Prefixes, "prefix", nil, "delete the documents whose id begins so; may be given again")
	cmd.Flags().StringArrayVar(&nights, "night", nil, "delete this night; may be given again")
	cmd.Flags().BoolVar(&doomed.Once, "once", false, "let later nights bring the documents back")
	return cmd
}

// deleted is what was deleted, and what was to be and is not there.
type deleted struct {
	Gone   *gone            `json:"gone,omitempty"`    // of --night
	Hidden *library.Deleted `json:"deleted,omitempty"` // of --ids and --prefix

	library string
	ids     int // that were named
}

func (d *deleted) print(w io.Writer, l message.Language) error {
	if d.Gone != nil {
		if err := d.Gone.print(w, l); err != nil {
			return err
		}
	}
	if d.Hidden == nil {
		return nil
	}
	unknown := d.Hidden.Unknown
	if _, err := fmt.Fprintln(w, l.Text("deleted: %s; `neardup library compact %s` erases the bytes", l.Count(d.Hidden.Rows, "row"), d.library)); err != nil || len(unknown) == 0 {
		return err
	}
	const shown = 3
	var some strings.Builder
	for _, id := range unknown[:min(len(unknown), shown)] {
		fmt.Fprintf(&some, " %q", id)
	}
	if len(unknown) > shown {
		some.WriteString(" …")
	}
	_, err := fmt.Fprintln(w, l.Text("unknown: %d of %s:%s", len(unknown), l.Count(int64(d.ids), "id"), &some))
	return err
}

// maxID bounds a line of a file of ids.
const maxID = 1 << 20

// readIDs reads one id a line, as the tables have it; empty lines are skipped.
func readIDs(path string, stdin io.Reader) (ids []string, err error) {
	in, err := open(path, stdin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{fmt.Errorf("--ids: %w: name a file that is there, or - for standard input", err)}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxID)
	number := 0
	for lines.Scan() {
		line := lines.Bytes()
		if number++; number == 1 {
			if bytes.HasPrefix(line, []byte{0xff, 0xfe}) || bytes.HasPrefix(line, []byte{0xfe, 0xff}) {
				return nil, usageError{fmt.Errorf("%s is UTF-16: write it as UTF-8", path)}
			}
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // a byte order mark
		}
		if line = bytes.TrimRight(line, "\r"); len(line) > 0 {
			ids = append(ids, string(data.ValidID(line)))
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, usageError{fmt.Errorf("%s: line %d has more than %d bytes: write one id a line", path, number+1, maxID)}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(ids) == 0 {
		return nil, usageError{fmt.Errorf("%s holds no id", path)}
	}
	return ids, nil
}

// joinedRows is the most rows of a file that small ones are joined into.
const joinedRows = 16 << 20

func newLibraryCompact(std streams) *cobra.Command {
	return ofLibrary(&cobra.Command{
		Use:   "compact LIBRARY",
		Short: "Erase what was deleted, and join small files",
		Long: `Rewrites the files that hold rows of deleted documents, so that their bytes
are gone from the disk, and joins successive small files of a night. Needs
room for the largest file that it makes. An interrupted compaction keeps
what it did.`,
		Example: "  neardup library compact lib/",
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) error {
		return changing(cmd, std, args[0], asJSON, func(l *library.Library) (outcome, error) {
			done, err := l.Compact(cmd.Context(), joinedRows)
			if err != nil {
				return nil, err
			}
			return compacted(done), os.RemoveAll(l.Path(library.Index)) // it holds what was erased
		})
	})
}

type compacted library.Compacted

func (c compacted) print(w io.Writer, l message.Language) error {
	_, err := fmt.Fprintln(w, l.Text("%s became %d; %s erased, %s saved", l.Count(int64(c.Files), "file"), c.Into, l.Count(c.Erased, "row"), show.Bytes(max(c.Bytes, 0))))
	return err
}

func newLibraryNight(std streams) *cobra.Command {
	var skip bool
	cmd := ofLibrary(&cobra.Command{
		Use:   "night LIBRARY",
		Short: "Make nights of the pages that a service has added",
		Long: `Turns the pages in the log of "lookup --serve --add" into nights of the library.
The service does this itself, once a day and after every 200,000 pages; while it
runs, use POST /nights. Use this command for the log of a service that no longer
runs.`,
		Example: "  neardup library night lib/",
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) error {
		shown := newScreen(std.err, *std.language, asJSON, false)
		o, done := libraryOptions(std, args[0], cmd.Name(), asJSON)
		defer done()
		made, err := lookup.MakeNights(cmd.Context(), args[0], lookup.NightOptions{Library: o, SkipDamaged: skip, Warn: func(err error) {
			shown.log.Warn("a part of the log is passed over", "error", err)
		}})
		done()
		if err != nil && len(made) == 0 {
			return err
		}
		did := nightsMade{Nights: append([]lookup.MadeNight{}, made...)}
		return errors.Join(err, std.printed(asJSON, did, did.print))
	})
	cmd.Flags().BoolVar(&skip, "skip-damaged", false, "make nights of what can be read of a damaged log")
	return cmd
}

// nightsMade are nights that were made of added pages.
type nightsMade struct {
	Nights []lookup.MadeNight `json:"nights"`
}

func (d nightsMade) print(w io.Writer, l message.Language) error {
	if len(d.Nights) == 0 {
		_, err := fmt.Fprintln(w, l.Text("nothing has been added since the last night"))
		return err
	}
	for _, n := range d.Nights {
		if _, err := fmt.Fprintln(w, l.Text("night %s: %s", n.Night, l.Count(n.Documents, "document"))); err != nil {
			return err
		}
	}
	return nil
}

func newLibraryVerify(std streams) *cobra.Command {
	return ofLibrary(&cobra.Command{
		Use:   "verify LIBRARY",
		Short: "Read all of a library and say what is damaged",
		Long: `Compares every file with the digest in the manifest, the rows with what the
manifest says of them, the manifest with those before it, and the files of the
look-ups' index with their checksums and names.`,
		Example: "  neardup library verify lib/",
	}, oneLibrary, func(cmd *cobra.Command, args []string, asJSON bool) (err error) {
		return verifyLibrary(cmd, std, args[0], asJSON)
	})
}

func verifyLibrary(cmd *cobra.Command, std streams, dir string, asJSON bool) (err error) {
	o, done := libraryOptions(std, dir, cmd.Name(), asJSON)
	defer done()
	l, err := library.Open(cmd.Context(), dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	wrong, err := l.Verify(cmd.Context())
	if err != nil {
		return err
	}
	var index sorted.Verified
	if at := l.Path(library.Index); sorted.Is(at) {
		if index, err = sorted.Verify(cmd.Context(), at); err != nil {
			return err
		}
	}
	done()
	m := l.Manifest()
	found := verified{len(wrong)+len(index.Damaged) == 0, m.Rows(), len(m.Nights), len(m.Files), index.Files, append(append([]string{}, wrong...), index.Damaged...)}
	if err := std.printed(asJSON, found, found.print); err != nil || found.Sound {
		return err
	}
	if len(wrong) == 0 {
		return fmt.Errorf("%w: only its index: remove these files, and the next look-up makes them again", errNotSound)
	}
	return fmt.Errorf("%w: run `neardup library repair LIBRARY RUN…`, which takes back an older manifest and makes files again from run directories; or put backups in their place, or delete the nights and run them again", errNotSound)
}

// verified is what a library should hold, and what of it is damaged.
type verified struct {
	Sound     bool     `json:"sound"`
	Documents int64    `json:"documents"`
	Nights    int      `json:"nights"`
	Files     int      `json:"files"`
	Indexed   int      `json:"index_files"` // of look-ups
	Damaged   []string `json:"damaged"`     // a line each, the file first
}

func (v verified) print(w io.Writer, l message.Language) error {
	if v.Sound {
		_, err := fmt.Fprintln(w, l.Text("sound: %s in %s, %s", l.Count(v.Documents, "document"), l.Count(int64(v.Nights), "night"), l.Count(int64(v.Files), "file")))
		return err
	}
	for _, line := range v.Damaged {
		if _, err := fmt.Fprintln(w, show.Line(l.Error(errors.New(line)))); err != nil {
			return err
		}
	}
	return nil
}

func newLibraryRepair(std streams) *cobra.Command {
	return ofLibrary(&cobra.Command{
		Use:   "repair LIBRARY RUN…",
		Short: "Take back an older manifest, make damaged files again",
		Long: `Where library.json is older than the library, damaged or lost, takes back the
newest manifest that changes/ has, with its nights and deletions.

Then makes each file that is missing or damaged again from the run directories
of its nights, and puts it in its place if it has the bytes that the manifest
says. Sound files are not touched, and nothing is removed. Samples of pages,
which small sites' templates are learned from, are left out of the library if
they are damaged. Takes some 100 bytes of memory for each document of the nights
in a file.`,
		Example: `  neardup library repair lib/
  neardup library repair lib/ runs/2026-11-20 runs/2026-11-21`,
	}, libraryAndRuns, func(cmd *cobra.Command, args []string, asJSON bool) error {
		recovered, err := recoverLibrary(cmd, std, args[0], asJSON)
		if err != nil {
			return err
		}
		return changing(cmd, std, args[0], asJSON, func(l *library.Library) (outcome, error) {
			did := &repaired{Manifest: recovered, Mended: []string{}, Left: []leftFile{}}
			err := history.Repair(cmd.Context(), l, args[1:], func(file string, why error) {
				if why == nil {
					did.Mended = append(did.Mended, file)
					return
				}
				did.Left = append(did.Left, leftFile{file, why.Error()})
			})
			did.Sound = err == nil && len(did.Left) == 0
			if err == nil && !did.Sound {
				err = fmt.Errorf("%w: %s %s left", errNotSound, show.Count(len(did.Left), "file"), show.Agree(len(did.Left), "is", "are"))
			}
			return did, err
		})
	})
}

// recoverLibrary makes the manifest of the library at dir the newest that there
// is.
func recoverLibrary(cmd *cobra.Command, std streams, dir string, asJSON bool) (*library.Recovered, error) {
	if _, err := library.ReadManifest(dir); errors.Is(err, library.ErrNone) { // a mistyped path makes no library
		return nil, err
	}
	o, done := libraryOptions(std, dir, cmd.Name(), asJSON)
	defer done()
	recovered, err := library.Recover(cmd.Context(), dir, o)
	return &recovered, err
}

// repaired is what became of a library's manifest and of its damaged files.
type repaired struct {
	Sound    bool               `json:"sound"`
	Mended   []string           `json:"mended"`
	Left     []leftFile         `json:"left"`
	Manifest *library.Recovered `json:"manifest"`
}

type leftFile struct {
	File string `json:"file"`
	Why  string `json:"why"`
}

func (r *repaired) print(w io.Writer, l message.Language) error {
	var b strings.Builder
	line := func(text string) { b.WriteString(show.Line(text) + "\n") }
	if m := r.Manifest; m.Now != m.Was {
		if m.Was < 0 {
			line(l.Text("manifest: it was damaged or lost, and is of change %d now", m.Now))
		} else {
			line(l.Text("manifest: it was of change %d, and is of change %d now", m.Was, m.Now))
		}
	}
	for _, night := range r.Manifest.Found {
		line(l.Text("taken back: night %s", night))
	}
	for _, left := range r.Manifest.Left {
		line(l.Text("left: %s", l.Error(errors.New(left))))
	}
	for _, file := range r.Mended {
		line(l.Text("mended: %s", file))
	}
	for _, left := range r.Left {
		line(l.Text("left: %s: %s", left.File, l.Error(errors.New(left.Why))))
	}
	if r.Sound {
		line(l.Text("all files are as the manifest says"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
