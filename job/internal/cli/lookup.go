package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/data/library"
	stores "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
	"github.com/neardup/neardup/job/internal/show"
)

// lookupFlags are the flags of lookup.
type lookupFlags struct {
	dir, index                string
	serve                     string
	json, allowPublic, detail bool
	options                   lookup.Options
}

func newLookup(std streams) *cobra.Command {
	var f lookupFlags
	cmd := &cobra.Command{
		Use:   "lookup --library LIBRARY PAGE…",
		Short: "Say whether a page is known, and where from",
		Long: `Looks pages (files, or - for standard input) up in a library: which documents of
which night each is a near-duplicate of, by the library's own settings. A file
that is named .html or .htm, or looks like HTML, is read as a run reads the
pages of an archive, .json as {"title": …, "text": …}, everything else as text.

The look-up keeps an index in the library's folder, or where --index says, and
brings it up to date first: in another folder, in a Redis server
(redis://HOST:PORT, its password is taken from NEARDUP_REDIS_PASSWORD), or in a
table of HBase by way of its REST gateway (hbase://HOST:PORT/TABLE). With
--serve it answers HTTP instead, and follows the library: POST /lookup with
text, text/html or JSON, GET /lookup?id=ID of a document that the library has,
GET /healthz, GET /metrics for Prometheus, and a page for people at /.`,
		Example: `  neardup lookup --library lib/ page.html
  neardup lookup --library lib/ --serve 127.0.0.1:8080
  curl --data-binary @page.html http://127.0.0.1:8080/lookup \
    -H 'Content-Type: text/html'`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if !cmd.Flags().Changed("distance") {
				f.options.Distance = -1
			} else if f.options.Distance < 0 {
				return usageError{fmt.Errorf("%s %d: write a number from 0 on", std.typedAs("distance", "k"), f.options.Distance)}
			}
			if err := f.check(args); err != nil {
				return usageError{err}
			}
			for _, path := range args { // before the index is made
				if _, err := os.Stat(path); path != "-" && err != nil {
					return usageError{fmt.Errorf("%w: name a file that is there, or - for standard input", err)}
				}
			}
			shown := newScreen(std.err, f.json, f.detail)
			f.options.Log = shown.log
			if f.serve != "" {
				return f.answer(cmd.Context(), shown, std.typedAs("distance", "k"))
			}
			x, err := f.open(cmd.Context(), shown, std.typedAs("distance", "k"))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, x.Close()) }()
			for _, path := range args {
				if err := f.find(cmd.Context(), std, x, path); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
			}
			return nil
		},
	}
	group(cmd.Flags(), "Look-up", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.dir, "library", "", "folder of the library of previous nights")
		fs.IntVarP(&f.options.Distance, "distance", "k", 0, "largest Hamming distance (default: the library's)")
		fs.IntVar(&f.options.Limit, "limit", 10, "matches of a page, at most")
	})
	group(cmd.Flags(), "Index", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.index, "index", "", "folder, redis:// or hbase:// URL of the index (default: in the library)")
	})
	group(cmd.Flags(), "Service", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.serve, "serve", "", "answer HTTP on this HOST:PORT until interrupted")
		fs.BoolVar(&f.allowPublic, "allow-public", false, "let other machines reach it: it has no passwords")
	})
	group(cmd.Flags(), "Output", func(fs *pflag.FlagSet) {
		bindJSON(fs, &f.json)
		bindVerbose(fs, &f.detail)
	})
	return cmd
}

func (f *lookupFlags) check(pages []string) error {
	switch {
	case f.dir == "":
		return errors.New("name the library with --library")
	case f.serve == "" && len(pages) == 0:
		return errors.New("name a page, - for standard input, or an address with --serve")
	case f.serve != "" && len(pages) > 0:
		return errors.New("a service takes its pages by HTTP: name pages or --serve, not both")
	case f.options.Limit < 1:
		return fmt.Errorf("--limit %d: write a number from 1 on", f.options.Limit)
	}
	return nil
}

// open opens the library with its index, and shows how far that is. distance is
// how that was typed.
func (f *lookupFlags) open(ctx context.Context, shown *screen, distance string) (_ *lookup.Index, err error) {
	var done func()
	f.options.Reading, done = shown.progress("index")
	defer done()
	if f.index != "" {
		if f.options.Store, err = storeAt(ctx, f.index); err != nil {
			return nil, usageError{err}
		}
	}
	x, err := lookup.Open(ctx, f.dir, f.options)
	var path *fs.PathError
	var wrong *config.SettingError
	switch own := filepath.Join(f.dir, library.Index); {
	case errors.Is(err, lookup.ErrDistance) && errors.As(err, &wrong):
		wrong.Name = distance
		return nil, usageError{wrong}
	case f.index == "" && errors.As(err, &path) && strings.HasPrefix(path.Path, own):
		return nil, fmt.Errorf("%w: the index cannot be kept in %s: name another folder with --index", err, own)
	}
	return x, err
}

// errIndex does not repeat what was given: it may hold a password.
var errIndex = errors.New("--index: write a folder, redis://HOST:PORT, or hbase://HOST:PORT/TABLE")

// storeAt says how the store at a URL, or in a folder, is opened.
func storeAt(ctx context.Context, index string) (func(dir string, schema stores.Schema) (stores.Store, error), error) {
	kind, _, ok := strings.Cut(index, "://")
	if !ok {
		return func(_ string, schema stores.Schema) (stores.Store, error) {
			return sorted.Open(index, schema, sorted.Options{})
		}, nil
	}
	u, err := url.Parse(index)
	if err != nil || u.User != nil || u.Port() == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errIndex
	}
	table := strings.TrimPrefix(u.Path, "/")
	switch {
	case kind == "redis" && table == "":
		return func(_ string, schema stores.Schema) (stores.Store, error) {
			return redis.Open(ctx, schema, redis.Options{Address: u.Host, Password: os.Getenv("NEARDUP_REDIS_PASSWORD")})
		}, nil
	case kind == "hbase" && table != "" && !strings.Contains(table, "/"):
		return func(_ string, schema stores.Schema) (stores.Store, error) {
			return hbase.Open(ctx, schema, u.Host, table)
		}, nil
	}
	return nil, errIndex
}

// answer serves look-ups by HTTP until ctx ends. It listens first: that its port
// is taken shows before the index is made.
func (f *lookupFlags) answer(ctx context.Context, shown *screen, distance string) (err error) {
	l, err := lookup.Listen(ctx, f.serve, f.allowPublic)
	var failed syscall.Errno
	switch {
	case errors.Is(err, lookup.ErrPublic), errors.Is(err, lookup.ErrAddress):
		return usageError{fmt.Errorf("--serve: %w", err)}
	case errors.As(err, &failed):
		return fmt.Errorf("--serve %s: %w: name another port, from 1024 on, of an address that this machine has", f.serve, failed)
	case err != nil:
		return fmt.Errorf("--serve %s: %w", f.serve, err)
	}
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	var x *lookup.Index
	defer func() {
		if x != nil {
			err = errors.Join(err, x.Close())
		}
	}()
	return lookup.Serve(ctx, l, lookup.ServerOptions{}, func(ctx context.Context) (*lookup.Server, error) {
		opened, err := f.open(ctx, shown, distance)
		if err != nil {
			return nil, err
		}
		x = opened
		bound()
		f.options.Log.Info("answering", "address", "http://"+l.Addr().String(), "documents", x.Manifest().Rows())
		return lookup.NewServer(x, lookup.ServerOptions{}), nil
	})
}

// bound has the garbage collector hold this process to what it takes now and
// what the requests under way may take. What the environment says (GOMEMLIMIT)
// holds if it is less.
func bound() {
	const requests = 112 << 20
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), int64(m.Sys-m.HeapReleased)+requests))
}

// find prints what is known of a page.
func (f *lookupFlags) find(ctx context.Context, std streams, x *lookup.Index, path string) error {
	body, err := readPage(path, std.in)
	if err != nil {
		return err
	}
	doc, err := x.Page(body, pageType(path, body))
	if err != nil {
		return err
	}
	answer, err := x.Find(ctx, doc)
	if err != nil {
		return err
	}
	return printed(std.out, f.json, struct {
		Page string `json:"page"`
		*lookup.Answer
	}{path, answer}, func(w io.Writer) error { return printAnswer(w, path, answer) })
}

// maxPage bounds what is read of a page.
const maxPage = 64 << 20

func readPage(path string, stdin io.Reader) (body []byte, err error) {
	in, err := open(path, stdin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	body, err = io.ReadAll(io.LimitReader(in, maxPage+1))
	if err == nil && len(body) > maxPage {
		err = fmt.Errorf("more than %d bytes are no page", maxPage)
	}
	return body, err
}

// open opens the file at path, or standard input as -.
func open(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(stdin), nil
	}
	return os.Open(path)
}

// pageType is the content type of a page.
func pageType(path string, body []byte) string {
	switch filepath.Ext(path) {
	case ".html", ".htm", ".xhtml":
		return "text/html"
	case ".json":
		return "application/json"
	case ".txt", ".md":
		return "text/plain"
	}
	if media, _, err := mime.ParseMediaType(http.DetectContentType(body)); err == nil && media == "text/html" {
		return media
	}
	return "text/plain"
}

func printAnswer(w io.Writer, path string, a *lookup.Answer) error {
	if !a.Known {
		note := ""
		if a.LengthClass != "normal" {
			note = "; it is " + a.LengthClass + ", which says little"
		}
		_, err := fmt.Fprintf(w, "%s: not known among %s of %s%s\n", show.Line(path), show.Count(a.Documents, "document"), show.Count(a.Nights, "night"), note)
		return err
	}
	var out show.Columns
	out.Row(path + ": known")
	out.Row("distance", "estimate", "night", "first seen", "last seen", "nights", "verdict", "id")
	for _, m := range a.Matches {
		estimate := "-"
		if m.Estimate != nil {
			estimate = fmt.Sprintf("%.2f", *m.Estimate)
		}
		out.Row(m.Distance, estimate, m.Night, m.FirstSeen, m.LastSeen, m.Nights, m.Verdict, m.ID)
	}
	return out.Write(w)
}
