package lookup

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

//go:embed page.html
var pageFiles embed.FS

// pages are the page in each language.
var pages = map[message.Language]*template.Template{message.English: pagesIn(message.English), message.Chinese: pagesIn(message.Chinese)}

func pagesIn(l message.Language) *template.Template {
	return show.Pages(pageFiles, template.FuncMap{
		"language": func() message.Language { return l },
		"say":      func(key string, args ...any) string { return l.Text(key, args...) },
		"some":     func(n any, thing string) string { return l.Count(show.Integer(n), thing) },
		"word":     l.Name,
		"share":    func(v float64) string { return fmt.Sprintf("%.2f", v) },
	})
}

// asked is what the page shows: what was asked, and the answer.
type asked struct {
	ID, Text  string
	Answer    *Answer
	Error     string
	Documents int64
	Nights    int
	Settings  string
}

// mostShown is how many characters of an id, and of what was asked, come back.
const mostShown = 100_000

// page answers GET / with a form, and POST / with the answer to it: to an id or
// to a text.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	m := s.index.Manifest()
	l := message.Parse(r.Header.Get("Accept-Language"))
	a := asked{Documents: m.Rows(), Nights: len(m.Nights), Settings: l.Text("preset %s, distance %d, %d matches at most", s.index.config.Match.Preset, s.index.config.Match.Distance, s.index.limit)}
	code := http.StatusOK
	if r.Method == http.MethodPost {
		var err error
		a.Answer, code, err = s.measured(func() (*Answer, error) { return s.answerForm(w, r, &a) })
		if err != nil {
			a.Error = l.Error(err)
		}
	}
	var out bytes.Buffer
	if err := pages[l].ExecuteTemplate(&out, "page.html", a); err != nil {
		s.index.log.Error("the page cannot be made", "error", err)
		http.Error(w, "the page cannot be made: the log of the service says why", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	later(w, code)
	w.WriteHeader(code)
	_, _ = out.WriteTo(w) // who asked may have gone
}

// answerForm answers what a form asks: multipart, with the fields id and text.
func (s *Server) answerForm(w http.ResponseWriter, r *http.Request, a *asked) (*Answer, error) {
	in := s.counted(w, r)
	defer in.release()
	r.Body = io.NopCloser(in)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fail(http.StatusUnsupportedMediaType, "send the form as multipart/form-data: %w", err)
	}
	fields := map[string][]byte{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		var body []byte
		if err == nil {
			body, err = io.ReadAll(part)
		}
		if err != nil {
			return nil, in.refuse("form", err)
		}
		fields[part.FormName()] = body
	}
	id, text := strings.TrimSpace(string(fields["id"])), bytes.TrimSpace(fields["text"])
	if id == "" && isURL(string(text)) {
		id, text = string(text), nil
	}
	a.ID, a.Text = show.Excerpt([]byte(id), mostShown), show.Excerpt(text, mostShown)
	switch {
	case id != "" && len(text) > 0:
		return nil, fail(http.StatusUnprocessableEntity, "a text and an id are two questions: empty one of the fields")
	case id != "":
		return s.answerID(r.Context(), id, 0)
	case len(text) == 0:
		return nil, fail(http.StatusUnprocessableEntity, "paste a text, or write the id of a document")
	}
	kind := "text/plain; charset=utf-8"
	if media, _, err := mime.ParseMediaType(http.DetectContentType(text)); err == nil && media == "text/html" {
		kind = "text/html; charset=utf-8"
	}
	return s.answerPage(r.Context(), in.read, text, kind, 0)
}

// isURL reports whether a text is the URL of a page and nothing else.
func isURL(text string) bool {
	return (strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")) && !strings.ContainsAny(text, " \t\r\n")
}

// byID answers GET /lookup?id=ID.
func (s *Server) byID(w http.ResponseWriter, r *http.Request) {
	s.tell(w, func() (*Answer, error) {
		id := r.URL.Query().Get("id")
		if id == "" {
			return nil, fail(http.StatusBadRequest, "GET /lookup?id=ID looks a document of the library up; POST a page to look that up")
		}
		n, err := topOf(r)
		if err != nil {
			return nil, err
		}
		return s.answerID(r.Context(), id, n)
	})
}

// answerID looks a document of the library up by its id, or the top documents
// nearest to it.
func (s *Server) answerID(ctx context.Context, id string, top int) (answer *Answer, err error) {
	err = s.work(ctx, 0, func(ctx context.Context) error {
		answer, err = s.index.findID(ctx, []byte(id), top)
		return err
	})
	if errors.Is(err, errUnknown) {
		return nil, failure{http.StatusNotFound, err}
	}
	return answer, err
}

var errUnknown = errors.New("no document of the library has this id: pages are not fetched, so paste its text")

var errFound = errors.New("found")

// findID returns what is near the document of the library with that id, itself
// among it: the latest one. It reads the ids of the library, the latest night
// first.
func (x *Index) findID(ctx context.Context, id []byte, top int) (*Answer, error) {
	id = data.ValidID(id)
	if v, lane, ok := x.added.byID(id); ok {
		return x.known(ctx, &v, lane, top)
	}
	now, err := x.look()
	if now == nil {
		return nil, err
	}
	for _, n := range slices.Backward(now.Manifest().Nights) {
		var v data.View
		var lane string
		err := now.Stream(ctx, library.StreamOptions{Nights: []string{n.Name}, Columns: idColumns, Workers: 1}, func(_ int, b *library.Batch) error {
			for i := range b.Rows {
				if row := &b.Rows[i]; bytes.Equal(row.DocID, id) {
					lane = row.LengthClass
					viewOf(row, &v)
					v.Letters = bytes.Clone(v.Letters)
					return errFound
				}
			}
			return nil
		})
		switch {
		case errors.Is(err, errFound):
			return x.known(ctx, &v, lane, top)
		case err != nil:
			return nil, x.unread(now, err)
		}
	}
	return nil, errUnknown
}

// known answers for a document that is there.
func (x *Index) known(ctx context.Context, v *data.View, lane string, top int) (*Answer, error) {
	if top > 0 {
		return x.top(ctx, v, lane, top)
	}
	return x.find(ctx, v, lane)
}

// unread is the failure of reading the library as it was, which nothing keeps
// from being changed meanwhile: then that is to be done again.
func (x *Index) unread(was *current, err error) error {
	if now, _ := x.look(); now != was {
		return fail(http.StatusServiceUnavailable, "the library is changed right now: ask again")
	}
	return fail(http.StatusInternalServerError, "the library cannot be read: %w", err)
}

// idColumns are those that a document is found by, and judged.
var idColumns = []string{"doc_id", "fingerprint", "length_class", "length", "sketch", "letters"}
