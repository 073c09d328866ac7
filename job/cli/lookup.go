package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data/library"
	stores "github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/redis"
	"github.com/neardup/neardup/data/lookup/sorted"
	"github.com/neardup/neardup/job/lookup"
)

func newLookup(std streams) *cobra.Command {
	var dir, index, serve, kind, server string
	var asJSON, iKnow, verbose bool
	var o lookup.Options
	cmd := &cobra.Command{
		Use:   "lookup --library LIBRARY PAGE…",
		Short: "Say whether a page is known, and where from",
		Long: `Looks pages (files, or - for standard input) up in a library: which documents of
which night each is a near-duplicate of, by the library's own settings. A file
that is named .html or .htm, or looks like HTML, is read as a run reads the
pages of an archive, .json as {"title": …, "text": …}, everything else as text.

The look-up keeps an index in the library's folder, or in that of --index, and
brings it up to date first. With --serve it answers HTTP instead: POST /lookup with text, text/html
or JSON, GET /healthz, and GET /metrics for Prometheus; it follows the library.`,
		Example: `  neardup lookup --library lib/ page.html
  neardup lookup --library lib/ --serve 127.0.0.1:8080
  curl --data-binary @page.html -H 'Content-Type: text/html' http://127.0.0.1:8080/lookup`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch {
			case dir == "":
				return usageError{errors.New("name the library with --library")}
			case serve == "" && len(args) == 0:
				return usageError{errors.New("name a page, - for standard input, or an address with --serve")}
			case index != "" && server != "":
				return usageError{errors.New("the index is in a folder or in a Redis server: give --index or --redis, not both")}
			case o.Limit < 1:
				return usageError{fmt.Errorf("--limit %d: write a number from 1 on", o.Limit)}
			case cmd.Flags().Changed("distance") && o.Distance < 0:
				return usageError{fmt.Errorf("--distance %d: write a number from 0 on", o.Distance)}
			case serve != "" && len(args) > 0:
				return usageError{errors.New("a service takes its pages by HTTP: name pages or --serve, not both")}
			}
			ctx := cmd.Context()
			o.Log = newLog(std.err, verbose)
			if server != "" {
				o.Store = func(dir string, schema stores.Schema) (stores.Store, error) {
					return redis.Open(ctx, schema, redis.Options{Address: server, Password: os.Getenv("NEARDUP_REDIS_PASSWORD")})
				}
			}
			if index != "" {
				o.Store = func(_ string, schema stores.Schema) (stores.Store, error) { return sorted.Open(index, schema) }
			}
			x, err := lookup.Open(ctx, dir, o)
			var path *fs.PathError
			switch own := filepath.Join(dir, library.Index); {
			case errors.Is(err, lookup.ErrDistance):
				return usageError{err}
			case index == "" && errors.As(err, &path) && strings.HasPrefix(path.Path, own):
				return fmt.Errorf("%w: the index cannot be kept in %s: name another folder with --index", err, own)
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, x.Close()) }()
			if serve != "" {
				l, err := lookup.Listen(ctx, serve, iKnow)
				if errors.Is(err, lookup.ErrPublic) || errors.Is(err, lookup.ErrAddress) {
					return usageError{err}
				}
				if err != nil {
					return err
				}
				o.Log.Info("answering", "address", "http://"+l.Addr().String(), "documents", x.Manifest().Rows())
				return lookup.NewServer(x, lookup.ServerOptions{}).Serve(ctx, l)
			}
			for _, path := range args {
				body, err := readPage(path, std.in)
				if err != nil {
					return err
				}
				doc, err := x.Page(body, pageType(kind, path, body))
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				answer, err := x.Find(ctx, doc)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				if asJSON {
					err = json.NewEncoder(std.out).Encode(struct {
						Page string `json:"page"`
						*lookup.Answer
					}{path, answer})
				} else {
					err = printAnswer(std.out, path, answer)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&dir, "library", "", "folder of the library")
	flags.IntVarP(&o.Distance, "distance", "k", -1, "largest Hamming distance (default the library's)")
	flags.IntVar(&o.Limit, "limit", 10, "matches of a page, at most")
	flags.StringVar(&kind, "content-type", "", "of the pages: text/plain, text/html or application/json (default as their names and contents say)")
	flags.BoolVar(&asJSON, "json", false, "print JSON, one object a page")
	flags.StringVar(&index, "index", "", "folder of the index, of this library alone, where the library's own folder cannot be written (default LIBRARY/index)")
	flags.StringVar(&server, "redis", "", "keep the index in the Redis server at this HOST:PORT and not in the library's folder; its password is that of the environment's NEARDUP_REDIS_PASSWORD")
	flags.StringVar(&serve, "serve", "", "answer HTTP on this HOST:PORT until interrupted")
	flags.BoolVar(&iKnow, "i-know", false, "serve on an address that other machines reach: there are no passwords")
	flags.BoolVarP(&verbose, "verbose", "v", false, "log more")
	return cmd
}

// maxPage bounds what is read of a page.
const maxPage = 64 << 20

func readPage(path string, stdin io.Reader) (body []byte, err error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	body, err = io.ReadAll(io.LimitReader(in, maxPage+1))
	if err == nil && len(body) > maxPage {
		err = fmt.Errorf("more than %d bytes are no page", maxPage)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return body, nil
}

// pageType is the content type of a page.
func pageType(given, path string, body []byte) string {
	if given != "" {
		return given
	}
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
		if a.Lane != "normal" {
			note = "; it is " + a.Lane + ", which says little"
		}
		_, err := fmt.Fprintf(w, "%s: not known among %d documents of %d nights%s\n", path, a.Documents, a.Nights, note)
		return err
	}
	if _, err := fmt.Fprintf(w, "%s: known\n", path); err != nil {
		return err
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "distance\testimate\tnight\tfirst seen\tlast seen\tnights\tverdict\tid")
	for _, m := range a.Matches {
		estimate := "-"
		if m.Estimate != nil {
			estimate = fmt.Sprintf("%.2f", *m.Estimate)
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", m.Distance, estimate, m.Night, m.FirstSeen, m.LastSeen, m.Nights, m.Verdict, m.ID)
	}
	return out.Flush()
}
