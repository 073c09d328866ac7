package cli

import (
	"cmp"
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

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	stores "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/runs"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
)

// lookupFlags are the flags of lookup.
type lookupFlags struct {
	dir, index, runs          string
	serve, tokenFile          string
	add                       bool
	top                       int
	json, allowPublic, detail bool
	options                   lookup.Options
}

func newLookup(std streams) *cobra.Command {
	var f lookupFlags
	cmd := &cobra.Command{
		Use:   "lookup --library LIBRARY PAGE…",
		Short: "Say whether a page is known, and where from",
		Long: `Looks up pages (files, or - for standard input) in a library. For each page it
prints the near-duplicates in earlier nights, by the library's own settings.
HTML files are read like the pages of an archive, .json files as {"title": …,
"text": …}, all other files as text. With --runs it also shows titles and
texts, from the nights' run directories in that folder.

The look-up keeps an index and updates it first. The index is in the library's
folder. --index names another place: a folder, a Redis server
(redis://HOST:PORT, password in NEARDUP_REDIS_PASSWORD), or a table of HBase
through its REST gateway (hbase://HOST:PORT/TABLE).

With --serve it answers HTTP and follows the library: POST /lookup with text,
text/html or JSON, GET /lookup?id=ID for a document of the library, GET
/healthz, GET /metrics for Prometheus, and a page for people at /. With --add
it also takes pages: POST /documents answers what each is near to and keeps it,
first in a log, from time to time as a night of the library (POST /nights does
it at once). To add pages a client sends the token of --token-file or
NEARDUP_ADD_TOKEN. Without a token only programs on this machine can add pages.`,
		Example: `  neardup lookup --library lib/ page.html
  neardup lookup --library lib/ --top 5 page.html
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
			shown := newScreen(std.err, *std.language, f.json, f.detail)
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
		fs.StringVar(&f.dir, "library", "", "folder of the library of earlier nights")
		fs.IntVarP(&f.options.Distance, "distance", "k", 0, "largest Hamming distance (default: the library's)")
		fs.IntVar(&f.options.Limit, "limit", 10, "matches of a page, at most")
		fs.IntVar(&f.top, "top", 0, "the nearest documents, so many, whatever the distance; 0: the matches")
	})
	group(cmd.Flags(), "Texts", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.runs, "runs", "", "folder of the nights' run directories: show titles and texts")
	})
	group(cmd.Flags(), "Index", func(fs *pflag.FlagSet) {
		fs.IntVar(&f.options.Tables, "index-tables", 0, "tables of segments in the index: 4, 10 or 20 (default: those that it has, at first 4)")
		fs.StringVar(&f.index, "index", "", "folder, redis:// or hbase:// URL of the index (default: in the library)")
	})
	group(cmd.Flags(), "Service", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.serve, "serve", "", "answer HTTP on this HOST:PORT until interrupted")
		fs.BoolVar(&f.add, "add", false, "take pages and keep them: POST /documents")
		fs.StringVar(&f.tokenFile, "token-file", "", "file with the token that who adds pages has to send (default: NEARDUP_ADD_TOKEN)")
		fs.BoolVar(&f.allowPublic, "allow-public", false, "listen on other than loopback: look-ups have no authentication")
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
		return fmt.Errorf("name the library with --library")
	case f.serve == "" && len(pages) == 0:
		return fmt.Errorf("name a page, - for standard input, or an address with --serve")
	case f.serve != "" && len(pages) > 0:
		return fmt.Errorf("a service takes its pages by HTTP: name pages or --serve, not both")
	case f.serve != "" && f.runs != "":
		return fmt.Errorf("a service shows no texts: name --runs or --serve, not both")
	case f.options.Limit < 1:
		return fmt.Errorf("--limit %d: write a number from 1 on", f.options.Limit)
	case f.top < 0 || f.top > lookup.Most:
		return fmt.Errorf("--top %d: %w", f.top, lookup.ErrTop)
	case f.top > 0 && f.serve != "":
		return fmt.Errorf("--top: a service is asked by POST /lookup?top=N")
	case f.serve == "" && f.add:
		return fmt.Errorf("--add: name the address of the service with --serve")
	case !f.add && f.tokenFile != "":
		return fmt.Errorf("--token-file: only who adds pages needs a token: give --add, too")
	}
	return nil
}

// leastToken is how many characters a token has at least: fewer are guessed.
const leastToken = 16

// token is what who adds pages has to send, "" for none. An error does not repeat
// it.
func (f *lookupFlags) token() (string, error) {
	token, from := os.Getenv("NEARDUP_ADD_TOKEN"), "NEARDUP_ADD_TOKEN"
	if f.tokenFile != "" {
		text, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		if token, from = strings.TrimSpace(string(text)), "--token-file "+f.tokenFile; token == "" {
			return "", fmt.Errorf("%s: the file is empty: write a token of %d characters or more into it", from, leastToken)
		}
	}
	if token != "" && (len(token) < leastToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
		return "", fmt.Errorf("%s: a token is %d or more letters, digits and marks, without spaces: `openssl rand -hex 24` makes one", from, leastToken)
	}
	return token, nil
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
	case errors.Is(err, lookup.ErrTables):
		return nil, usageError{fmt.Errorf("--index-tables %w", err)}
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
	var o lookup.ServerOptions
	if f.add {
		if o.Token, err = f.token(); err != nil {
			return usageError{err}
		}
		o.Loopback = lookup.IsLoopback(f.serve)
		if o.Token == "" && !o.Loopback {
			return usageError{fmt.Errorf("--add: %s is reached by other machines: give the token that who adds pages has to send, by --token-file or NEARDUP_ADD_TOKEN", f.serve)}
		}
	}
	if f.add {
		// Go asks the network for what has arrived when a thread has nothing else to do,
		// else each 10 ms. With one thread more than adding keeps busy, look-ups need not
		// wait for that.
		threads := runtime.GOMAXPROCS(0)
		o.Adders = max(threads-1, 1)
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads + 1))
	}
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
	var added *lookup.Added
	defer func() {
		if x != nil {
			err = errors.Join(err, added.Close(), x.Close())
		}
	}()
	return lookup.Serve(ctx, l, o, func(ctx context.Context) (*lookup.Server, error) {
		opened, err := f.open(ctx, shown, distance)
		if err != nil {
			return nil, err
		}
		x = opened
		if f.add {
			if added, err = x.OpenAdded(ctx, lookup.AddedOptions{}); err != nil {
				return nil, err
			}
			f.options.Log.Info("taking pages", "waiting", added.Waiting(), "token", o.Token != "")
		} else {
			bound()
		}
		return lookup.NewServer(x, o), nil
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
	var answer *lookup.Answer
	print := printAnswer
	if f.top > 0 {
		answer, err = x.Top(ctx, doc, f.top)
		print = printTop
	} else {
		answer, err = x.Find(ctx, doc)
	}
	if err != nil {
		return err
	}
	var texts []matchText
	if f.runs != "" {
		if texts, err = readTexts(ctx, f.dir, f.runs, answer.Matches); err != nil {
			return fmt.Errorf("--runs: %w", err)
		}
	}
	return std.printed(f.json, struct {
		Page string `json:"page"`
		*lookup.Answer
		Texts []matchText `json:"texts,omitempty"` // of the matches, in their order
	}{path, answer, texts}, func(w io.Writer, l message.Language) error { return print(w, l, path, answer, texts) })
}

// matchText is the title of a match and the beginning of its text.
type matchText struct {
	Title string `json:"title"`
	Text  string `json:"text"`
	Gone  string `json:"gone,omitempty"` // why there is none
}

// Characters of a title and of a text that are shown.
const (
	mostTitle = 200
	mostText  = 300
)

// readTexts reads the texts of matches from the runs in a folder that brought
// their nights to the library.
func readTexts(ctx context.Context, library, folder string, matches []lookup.Match) ([]matchText, error) {
	beside, err := runs.Nights(folder, library)
	if err != nil {
		return nil, err
	}
	texts, at, wanted := make([]matchText, len(matches)), map[runs.Document]int{}, []runs.Document{}
	for i, m := range matches {
		of := runs.Document{Night: m.Night, ID: m.ID}
		at[of], wanted = i, append(wanted, of)
	}
	return texts, runs.ReadHistory(ctx, beside, wanted, func(of runs.Document, doc *data.Document, err error) {
		t := &texts[at[of]]
		if err != nil {
			t.Gone = err.Error()
			return
		}
		begins := strings.Join(strings.Fields(show.Excerpt(doc.Text, 2*mostText)), " ")
		t.Title, t.Text = show.Excerpt(doc.Title, mostTitle), show.Excerpt([]byte(begins), mostText)
	})
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

func printAnswer(w io.Writer, l message.Language, path string, a *lookup.Answer, texts []matchText) error {
	if !a.Known {
		text := l.Text("%s: not known among %s of %s", show.Line(path), l.Count(a.Documents, "document"), l.Count(int64(a.Nights), "night"))
		if a.LengthClass != simhash.LengthNormal {
			text += l.Text("; it is %s, which says little", a.LengthClass)
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	return printMatches(w, l, l.Text("%s: known", path), a, texts)
}

func printTop(w io.Writer, l message.Language, path string, a *lookup.Answer, texts []matchText) error {
	if len(a.Matches) == 0 {
		_, err := fmt.Fprintln(w, l.Text("%s: it is %s: its fingerprint says too little to be near others", show.Line(path), a.LengthClass))
		return err
	}
	return printMatches(w, l, l.Text("%s: the nearest of %s", path, l.Count(a.Documents, "document")), a, texts)
}

func printMatches(w io.Writer, l message.Language, head string, a *lookup.Answer, texts []matchText) error {
	var out show.Columns
	out.Row(head)
	out.Row(l.Text("distance"), l.Text("estimate"), l.Text("night"), l.Text("first seen"), l.Text("last seen"), l.Text("nights"), l.Text("verdict"), "id")
	for _, m := range a.Matches {
		estimate := "-"
		if m.Estimate != nil {
			estimate = fmt.Sprintf("%.2f", *m.Estimate)
		}
		out.Row(m.Distance, estimate, m.Night, m.FirstSeen, m.LastSeen, m.Nights, l.Name(m.Verdict), m.ID)
	}
	if err := out.Write(w); err != nil {
		return err
	}
	for i, t := range texts {
		body := fmt.Sprintf("  %s\n  %s", show.Line(cmp.Or(t.Title, l.Text("no title"))), show.Line(t.Text))
		if t.Gone != "" {
			body = "  " + l.Text("no text: %s", show.Line(l.Error(errors.New(t.Gone))))
		}
		if _, err := fmt.Fprintf(w, "\n%s\n%s\n", show.Line(a.Matches[i].ID), body); err != nil {
			return err
		}
	}
	return nil
}
