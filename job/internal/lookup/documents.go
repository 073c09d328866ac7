package lookup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/parallel"
)

// maxID is how many bytes an id has at most.
const maxID = 4096

// atOnce is how many pages of a request are worked on before another request has
// a turn.
const atOnce = 64

// AddedAnswer is what is said of a page that was to be added.
type AddedAnswer struct {
	ID    string `json:"id"`
	Added bool   `json:"added"` // false: the newest version of the id is this very page
	*Answer
}

// lineError is what is said of a line that is no page.
type lineError struct {
	Line  int    `json:"line"` // from 1 on
	Error string `json:"error"`
}

// isLines reports whether a content type is one of JSON lines.
func isLines(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return media == "application/x-ndjson" || media == "application/jsonl"
}

// documents answers POST /documents: a page, or JSON lines of pages, is looked up
// and kept. Nothing is answered before all of it is on the disk.
func (s *Server) documents(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	s.adding.Inc()
	defer s.adding.Dec()
	lines := isLines(r.Header.Get("Content-Type"))
	var answers []any
	err := s.mayWrite(w, r)
	if err == nil {
		err = parallel.Guard(func() (err error) {
			answers, err = s.addAll(w, r, lines)
			return err
		})
	}
	s.addSeconds.Observe(time.Since(began).Seconds())
	if err != nil {
		s.refuseToWrite(w, err)
		return
	}
	if !lines {
		writeJSON(w, http.StatusOK, answers[0])
		return
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, a := range answers {
		if err := enc.Encode(a); err != nil {
			s.refuseToWrite(w, err)
			return
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = out.WriteTo(w) // who asked may have gone
}

// refuseToWrite answers with an error, and its status.
func (s *Server) refuseToWrite(w http.ResponseWriter, err error) {
	code := http.StatusInternalServerError
	var f failure
	switch {
	case errors.As(err, &f):
		code = f.code
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		code, err = http.StatusInsufficientStorage, errors.New("there is no room for the log of pages: nothing of the request is kept; make room and send it again")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code, err = http.StatusServiceUnavailable, errors.New("it takes too long: the pages may be kept or not; send the request again, those that are kept are told so")
	case errors.Is(err, errWaiting), errors.Is(err, errClosed), errors.Is(err, errLacking):
		code = http.StatusServiceUnavailable
	default:
		s.index.log.Error("adding failed", "error", err)
		err = errors.New("the pages are not kept: the log of the service says why; send them again")
	}
	s.addRequests.WithLabelValues(fmt.Sprint(code)).Inc()
	later(w, code)
	writeJSON(w, code, map[string]string{"error": err.Error()})
}

// mayWrite refuses who may not add pages.
func (s *Server) mayWrite(w http.ResponseWriter, r *http.Request) error {
	switch {
	case s.index.added == nil:
		return fail(http.StatusForbidden, "this service takes no pages: start it with --add")
	case s.o.Token != "":
		given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		is, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.o.Token))
		if !ok || subtle.ConstantTimeCompare(is[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="neardup"`)
			return fail(http.StatusUnauthorized, "send the service's token: Authorization: Bearer TOKEN")
		}
	case !s.o.Loopback:
		return fail(http.StatusForbidden, "a service that other machines reach takes pages with a token only: start it with --token-file or NEARDUP_ADD_TOKEN")
	default: // any page that a browser of this machine shows could send a form here
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		ip := net.ParseIP(strings.Trim(host, "[]"))
		if host != "localhost" && (ip == nil || !ip.IsLoopback()) || http.NewCrossOriginProtection().Check(r) != nil {
			return fail(http.StatusForbidden, "without a token pages are taken from programs of this machine only: address it as 127.0.0.1 or localhost, not from a page of another site")
		}
	}
	return nil
}

// addAll adds the pages of a request and waits until they are on the disk.
func (s *Server) addAll(w http.ResponseWriter, r *http.Request, lines bool) (answers []any, err error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fail(http.StatusUnsupportedMediaType, "content encoding %q: send the pages as they are", e)
	}
	if r.ContentLength > s.o.MaxBody {
		return nil, fail(http.StatusRequestEntityTooLarge, "the request has more than %d bytes: send fewer pages at once", s.o.MaxBody)
	}
	in := s.counted(w, r)
	in.held, in.limit = &s.heldToAdd, s.o.Memory/2 // look-ups have a bound of their own
	defer in.release()
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, in.refuse("request", err)
	}
	arrived(r.Context())
	b := batch{server: s, ctx: r.Context()}
	defer b.leave()
	if lines {
		for n := 1; len(body) > 0; n++ {
			var line []byte
			line, body, _ = bytes.Cut(body, []byte("\n"))
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if err := b.addLine(n, line); err != nil {
				return nil, err
			}
		}
	} else if err := b.add(body, r.Header.Get("Content-Type"), r.URL.Query().Get("id")); err != nil {
		return nil, err
	}
	return b.keep()
}

// batch is a request whose pages are added.
type batch struct {
	server  *Server
	ctx     context.Context //nolint:containedctx // of the request that the batch is
	has     bool            // the turn
	turns   int             // pages of it that are left
	pages   []*adding
	refused []refusal
}

// refusal is a line that is no page.
type refusal struct {
	before int // how many pages come before it
	lineError
}

// maxPages is how many pages a request has at most: while they are taken in, other
// requests with pages wait.
const maxPages = 1000

// enter waits for a turn, unless this one has pages left.
func (b *batch) enter() error {
	if b.has && b.turns > 0 {
		b.turns--
		runtime.Gosched() // look-ups that wait for a core come between two pages
		return nil
	}
	b.leave()
	s := b.server
	wait := time.NewTimer(s.o.Wait)
	defer wait.Stop()
	select {
	case s.adders <- struct{}{}:
		b.has, b.turns = true, atOnce-1
		return nil
	case <-wait.C:
		return fail(http.StatusServiceUnavailable, "too many pages at once: send the request again, those that are kept already are told so")
	case <-b.ctx.Done():
		return fail(http.StatusServiceUnavailable, "the sender has gone")
	}
}

// leave gives the turn back.
func (b *batch) leave() {
	if b.has {
		b.has = false
		<-b.server.adders
	}
}

// addLine adds the page of a line. One that is no page is told of in its place.
func (b *batch) addLine(n int, line []byte) error {
	err := b.add(line, "application/json", "")
	var f failure
	if errors.As(err, &f) && f.code < http.StatusInternalServerError && f.code != http.StatusRequestEntityTooLarge {
		b.refused = append(b.refused, refusal{len(b.pages), lineError{n, err.Error()}})
		return nil
	}
	return err
}

// add adds a page of that content type; its id stands in it, or beside it.
func (b *batch) add(body []byte, contentType, id string) error {
	if err := b.enter(); err != nil {
		return err
	}
	s := b.server
	if len(b.pages) == maxPages {
		return fail(http.StatusRequestEntityTooLarge, "more than %d pages at once: send them in several requests", maxPages)
	}
	ctx, cancel := context.WithTimeout(b.ctx, s.o.Answer)
	defer cancel()
	if size := int64(len(body)); size >= largeText {
		if s.worked.Acquire(ctx, size) != nil {
			return fail(http.StatusServiceUnavailable, "too many large pages at once: try again")
		}
		defer s.worked.Release(size)
	}
	var p *adding
	err := parallel.Guard(func() (err error) {
		p, err = s.index.toAdd(body, contentType, id)
		return err
	})
	if panicked, ok := errors.AsType[*parallel.Panic](err); ok { // those beside it are kept
		s.index.log.Error("a page that was to be added ends in a panic, and is not kept", "sha256", fmt.Sprintf("%x", sha256.Sum256(body)), "error", panicked)
		return fail(http.StatusUnprocessableEntity, "neardup fails on this page, which is not kept: the log of the service says why")
	}
	if err != nil {
		return err
	}
	b.pages = append(b.pages, p)
	return s.index.added.ask(ctx, p)
}

// toAdd makes the fingerprint of a page of that content type; its id stands in it,
// or beside it.
func (x *Index) toAdd(body []byte, contentType, id string) (*adding, error) {
	doc, extracted, err := x.page(body, contentType)
	if err != nil {
		return nil, err
	}
	if id != "" {
		doc.ID = []byte(id)
	}
	doc.ID = data.ValidID(doc.ID)
	switch {
	case len(doc.ID) == 0:
		return nil, fail(http.StatusBadRequest, `a page that is kept needs an id, such as its URL: "id" in JSON, ?id=ID beside text and HTML`)
	case len(doc.ID) > maxID:
		return nil, fail(http.StatusBadRequest, "the id has %d bytes: at most %d", len(doc.ID), maxID)
	}
	p := &adding{extracted: extracted}
	p.fingerprinted, err = x.fingerprint(doc)
	return p, err
}

// keep makes the pages a part of what is there, waits until they are on the disk,
// and returns what is said of each line.
func (b *batch) keep() (answers []any, err error) {
	s := b.server
	ctx, cancel := context.WithTimeout(b.ctx, s.o.Answer)
	defer cancel()
	groups, err := s.index.added.add(ctx, b.pages)
	b.leave() // others are worked on while this one is written
	if err != nil {
		return nil, err
	}
	added, next := 0, 0
	for i, p := range b.pages {
		for ; next < len(b.refused) && b.refused[next].before <= i; next++ {
			answers = append(answers, b.refused[next].lineError)
		}
		if p.added {
			added++
		}
		answers = append(answers, AddedAnswer{string(p.row.DocID), p.added, p.question.answered()})
	}
	for _, r := range b.refused[next:] {
		answers = append(answers, r.lineError)
	}
	if err := wait(ctx, groups); err != nil {
		return nil, err
	}
	s.addedPages.WithLabelValues("added").Add(float64(added))
	s.addedPages.WithLabelValues("unchanged").Add(float64(len(b.pages) - added))
	s.addedPages.WithLabelValues("refused").Add(float64(len(b.refused)))
	s.addRequests.WithLabelValues("200").Inc()
	return answers, nil
}

// night answers POST /nights: what has been added becomes a night now.
func (s *Server) night(w http.ResponseWriter, r *http.Request) {
	if err := s.mayWrite(w, r); err != nil {
		s.refuseToWrite(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Write-s.o.Wait)
	defer cancel()
	made, err := s.index.added.Night(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		err = fail(http.StatusServiceUnavailable, "it takes longer, or another process has the library: what has been added becomes a night by itself; GET /healthz says how many pages are none yet")
		fallthrough
	case err != nil:
		s.refuseToWrite(w, err)
		return
	}
	if made == nil {
		made = []MadeNight{}
	}
	writeJSON(w, http.StatusOK, map[string][]MadeNight{"nights": made})
}
