package lookup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/parallel"
)

// ServerOptions of NewServer. Zero values are the defaults.
type ServerOptions struct {
	MaxBody  int64         // bytes of a request; 8 MiB
	Header   time.Duration // to send the header of a request; 5 s
	Read     time.Duration // to send all of it; 30 s
	Stall    time.Duration // for the next bytes of it; 5 s
	Write    time.Duration // to answer it; 60 s
	Idle     time.Duration // until a connection without requests is closed; 60 s
	Wait     time.Duration // for a free worker, then the answer is 503; 5 s
	Answer   time.Duration // to work on a request, then the answer is 503; 10 s
	End      time.Duration // for what is under way when the service ends; 5 s
	Workers  int           // requests that are worked on at once; two for each core
	Conns    int           // connections at once; for one more another goes, see limitedListener; 1,024
	Memory   int64         // bytes of all requests that are under way, then the answer is 503; 48 MiB
	Work     int64         // bytes of those that are worked on at once, each of which takes some ten times its bytes; 12 MiB
	Interval time.Duration // between looks at whether the library has changed; 2 s

	Adders   int    // requests whose pages are added at once; as many as there are cores but one, which look-ups have
	Token    string // that who adds pages has to send; "": none
	Loopback bool   // only this machine reaches it: without a token pages are taken
}

func (o ServerOptions) withDefaults() ServerOptions {
	const second = time.Second
	o.Header, o.Read, o.Stall, o.Write = cmp.Or(o.Header, 5*second), cmp.Or(o.Read, 30*second), cmp.Or(o.Stall, 5*second), cmp.Or(o.Write, time.Minute)
	o.Idle, o.Wait, o.Answer, o.End = cmp.Or(o.Idle, time.Minute), cmp.Or(o.Wait, 5*second), cmp.Or(o.Answer, 10*second), cmp.Or(o.End, 5*second)
	o.Interval, o.Workers, o.Conns = cmp.Or(o.Interval, 2*second), cmp.Or(o.Workers, 2*runtime.GOMAXPROCS(0)), cmp.Or(o.Conns, 1024)
	o.MaxBody, o.Memory = cmp.Or(o.MaxBody, 8<<20), cmp.Or(o.Memory, 48<<20)
	o.Work = max(cmp.Or(o.Work, 12<<20), o.MaxBody) // the largest page by itself
	o.Adders = cmp.Or(o.Adders, max(runtime.GOMAXPROCS(0)-1, 1))
	return o
}

// Server answers look-ups over HTTP.
type Server struct {
	index   *Index
	o       ServerOptions
	free    chan struct{}
	worked  *semaphore.Weighted // bytes that are worked on
	metrics *prometheus.Registry
	held    atomic.Int64           // bytes of requests that are under way
	stale   atomic.Pointer[string] // why the library's last change is not in the answers; nil: it is

	adders    chan struct{}
	heldToAdd atomic.Int64 // bytes of requests with pages to add

	requests  *prometheus.CounterVec
	seconds   prometheus.Histogram
	known     prometheus.Counter
	waiting   prometheus.Gauge
	refreshed prometheus.Gauge
	failures  prometheus.Counter

	addRequests *prometheus.CounterVec
	addedPages  *prometheus.CounterVec
	addSeconds  prometheus.Histogram
	adding      prometheus.Gauge
}

// NewServer returns a server of the index.
func NewServer(x *Index, o ServerOptions) *Server {
	s := &Server{index: x, o: o.withDefaults(), metrics: prometheus.NewRegistry()}
	s.free, s.worked, s.adders = make(chan struct{}, s.o.Workers), semaphore.NewWeighted(s.o.Work), make(chan struct{}, s.o.Adders)
	name := func(n string) string { return "neardup_lookup_" + n }
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("requests_total"), Help: "Look-ups by status code."}, []string{"code"})
	s.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("seconds"), Help: "Time to answer a look-up, waiting included.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)})
	s.known = prometheus.NewCounter(prometheus.CounterOpts{Name: name("known_total"), Help: "Look-ups that had a match."})
	s.waiting = prometheus.NewGauge(prometheus.GaugeOpts{Name: name("in_flight"), Help: "Look-ups that wait or are worked on."})
	s.refreshed = prometheus.NewGauge(prometheus.GaugeOpts{Name: name("refreshed_seconds"), Help: "Unix time at which the answers last took in a change of the library."})
	s.failures = prometheus.NewCounter(prometheus.CounterOpts{Name: name("refresh_failures_total"), Help: "Times that a change of the library could not be taken in."})
	s.metrics.MustRegister(s.requests, s.seconds, s.known, s.waiting, s.refreshed, s.failures,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("request_bytes"), Help: "Bytes of the look-ups that are under way."}, func() float64 { return float64(s.held.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("healthy"), Help: "1, or 0 while a change of the library cannot be taken in."}, func() float64 {
			if s.stale.Load() != nil {
				return 0
			}
			return 1
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("documents"), Help: "Documents of the library that count."}, func() float64 { return float64(x.Manifest().Rows()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("nights"), Help: "Nights of the library."}, func() float64 { return float64(len(x.Manifest().Nights)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("library_change"), Help: "Number of the library's change that the answers have."}, func() float64 { return float64(x.Manifest().Sequence) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.refreshed.SetToCurrentTime()
	s.measureAdding()
	return s
}

// measureAdding registers the metrics of added pages. They stay 0 in a service that
// accepts none.
func (s *Server) measureAdding() {
	name := func(n string) string { return "neardup_add_" + n }
	s.addRequests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("requests_total"), Help: "Requests with pages to add by status code."}, []string{"code"})
	s.addedPages = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name("pages_total"), Help: "Pages of these requests: added, unchanged (the newest version of their id), refused."}, []string{"result"})
	s.addSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{Name: name("seconds"), Help: "Time to answer such a request, waiting and the disk included.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)})
	s.adding = prometheus.NewGauge(prometheus.GaugeOpts{Name: name("in_flight"), Help: "Such requests that wait or are worked on."})
	s.metrics.MustRegister(s.addRequests, s.addedPages, s.addSeconds, s.adding,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name("waiting_pages"), Help: "Pages that are no night of the library yet."}, func() float64 {
			if s.index.added == nil {
				return 0
			}
			return float64(s.index.added.Waiting())
		}))
}

// ErrAddress is returned for an address that is not HOST:PORT.
var ErrAddress = errors.New("write HOST:PORT, like 127.0.0.1:8080")

// ErrPublic is returned for an address that other machines can reach.
var ErrPublic = errors.New("address is not of this machine alone")

// IsLoopback reports whether only this machine can reach the address, HOST:PORT.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// Listen listens on the address, HOST:PORT. There is no authentication for look-ups, so
// an address that is not a loopback one is ErrPublic unless public is true.
func Listen(ctx context.Context, address string, public bool) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("address %q: %w: %w", address, ErrAddress, err)
	}
	if !public && !IsLoopback(address) {
		return nil, fmt.Errorf("%w: %s: look-ups have no authentication: put the service behind a proxy that authenticates, or pass --allow-public", ErrPublic, address)
	}
	var c net.ListenConfig
	return c.Listen(ctx, "tcp", address)
}

// Serve answers on l until ctx ends, and then lets running requests finish. open makes
// the server, which may take long; until it has returned, every answer is 503. Serve
// refreshes the index when the library changes.
func Serve(ctx context.Context, l net.Listener, o ServerOptions, open func(context.Context) (*Server, error)) error {
	var ready atomic.Pointer[http.Handler]
	handler := func(w http.ResponseWriter, r *http.Request) {
		if h := ready.Load(); h != nil {
			(*h).ServeHTTP(w, r)
			return
		}
		starting(w)
	}
	return serve(ctx, l, o.withDefaults(), http.HandlerFunc(handler), func(ctx context.Context) error {
		s, err := open(ctx)
		if err == nil {
			h := s.Handler()
			ready.Store(&h)
			s.index.log.Info("answering", "address", "http://"+l.Addr().String(), "documents", s.index.Manifest().Rows())
			var nights sync.WaitGroup
			if s.index.added != nil {
				nights.Go(func() { s.index.added.follow(ctx, s.o.Interval) })
			}
			s.follow(ctx)
			nights.Wait()
		}
		return err
	})
}

// serve answers on l until ctx ends or the function that works beside it returns; that
// function gets a context which ends too. When serve returns, no request is running any
// more, so the caller may close what requests use.
func serve(ctx context.Context, l net.Listener, o ServerOptions, handler http.Handler, work func(context.Context) error) error {
	limited := newLimited(l, o.Conns)
	var under sync.RWMutex // held by each request that is under way
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !under.TryRLock() {
				later(w, http.StatusServiceUnavailable)
				writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "the service ends"})
				return
			}
			defer under.RUnlock()
			handler.ServeHTTP(w, r)
		}),
		ConnState:         limited.state,
		ConnContext:       withConn,
		ReadHeaderTimeout: o.Header, ReadTimeout: o.Read, WriteTimeout: o.Write, IdleTimeout: o.Idle,
		MaxHeaderBytes: 64 << 10,
	}
	defer under.Lock()
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- work(working) }()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
	select {
	case err := <-failed:
		stop()
		<-done
		return errors.Join(err, server.Close())
	case err := <-done: // ctx has ended, or there is no server
		return errors.Join(err, end(ctx, server, o.End, failed))
	case <-ctx.Done():
		return errors.Join(end(ctx, server, o.End, failed), <-done)
	}
}

// end lets running requests finish, within the time limit.
func end(ctx context.Context, server *http.Server, within time.Duration, failed <-chan error) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	err := server.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // of who sends or reads too slowly
	}
	<-failed
	return err
}

// starting answers 503 while the index is being made.
func starting(w http.ResponseWriter) {
	later(w, http.StatusServiceUnavailable)
	writeJSON(w, http.StatusServiceUnavailable, health{Status: "starting", Error: "the index of the library is being made: try again"})
}

// follow refreshes the index at each interval, until ctx ends. After an error the old
// answers go on, and the service reports itself as stale.
func (s *Server) follow(ctx context.Context) {
	tick := time.NewTicker(s.o.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		fresh, err := s.index.Refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			why := err.Error()
			if s.stale.Swap(&why) == nil {
				s.index.log.Error("the library has changed, but the answers have not", "error", err)
			}
			s.failures.Inc()
			continue
		case fresh:
			s.refreshed.SetToCurrentTime()
			m := s.index.Manifest()
			s.index.log.Info("the library has changed", "nights", len(m.Nights), "documents", m.Rows())
		}
		s.stale.Store(nil)
	}
}

// Handler returns the service's handler: POST /lookup, GET /lookup?id=ID, POST
// /documents and POST /nights of a service that takes pages, GET /healthz, GET
// /metrics, and a page at /.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /lookup", s.lookup)
	mux.HandleFunc("GET /lookup", s.byID)
	mux.HandleFunc("POST /documents", s.documents)
	mux.HandleFunc("POST /nights", s.night)
	mux.HandleFunc("/{$}", s.page)
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics, promhttp.HandlerOpts{}))
	return mux
}

// failure is an error with the status that says it.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

func fail(code int, format string, args ...any) error {
	return failure{code, fmt.Errorf(format, args...)}
}

func (s *Server) lookup(w http.ResponseWriter, r *http.Request) {
	s.tell(w, func() (*Answer, error) { return s.answer(w, r) })
}

// tell writes an answer as JSON, or why there is none.
func (s *Server) tell(w http.ResponseWriter, ask func() (*Answer, error)) {
	answer, code, err := s.measured(ask)
	if err != nil {
		later(w, code)
		writeJSON(w, code, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, code, answer)
}

// measured returns the answer with its status, counted in the metrics. An error
// is one for who asked to read.
func (s *Server) measured(ask func() (*Answer, error)) (answer *Answer, code int, err error) {
	began := time.Now()
	s.waiting.Inc()
	defer s.waiting.Dec()
	err = parallel.Guard(func() (err error) {
		answer, err = ask()
		return err
	})
	code = http.StatusOK
	var f failure
	switch {
	case errors.As(err, &f):
		if code = f.code; code == http.StatusInternalServerError {
			s.index.log.Error("look-up failed", "error", err)
		}
	case err != nil:
		code = http.StatusInternalServerError
		s.index.log.Error("look-up failed", "error", err)
		err = errors.New("the look-up failed: the log of the service says why")
	case answer.Known:
		s.known.Inc()
	}
	s.requests.WithLabelValues(strconv.Itoa(code)).Inc()
	s.seconds.Observe(time.Since(began).Seconds())
	return answer, code, err
}

// later says when who was turned away for now may come back.
func later(w http.ResponseWriter, code int) {
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		code, text = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write(append(text, '\n')) // who asked may have gone
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) (*Answer, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fail(http.StatusUnsupportedMediaType, "content encoding %q: send the page as it is", e)
	}
	if r.ContentLength > s.o.MaxBody { // it is not waited for
		return nil, fail(http.StatusRequestEntityTooLarge, "the page has more than %d bytes", s.o.MaxBody)
	}
	// The body is read before a worker is taken: a slow sender blocks none.
	in := s.counted(w, r)
	defer in.release()
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, in.refuse("page", err)
	}
	n, err := topOf(r)
	if err != nil {
		return nil, err
	}
	return s.answerPage(r.Context(), in.read, body, r.Header.Get("Content-Type"), n)
}

// topOf is how many of the nearest documents a request asks for, by ?top=N; 0: it
// asks for matches.
func topOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("top")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > Most {
		return 0, fail(http.StatusBadRequest, "top=%s: %w", text, ErrTop)
	}
	return n, nil
}

// answerPage looks up a page of that content type, of a request of so many bytes,
// or the top nearest documents.
func (s *Server) answerPage(ctx context.Context, size int64, body []byte, contentType string, top int) (answer *Answer, err error) {
	err = s.work(ctx, size, func(ctx context.Context) error {
		doc, err := s.index.Page(body, contentType)
		switch {
		case err == nil && top > 0:
			answer, err = s.index.Top(ctx, doc, top)
		case err == nil:
			answer, err = s.index.Find(ctx, doc)
		}
		return err
	})
	return answer, err
}

// work does something with so many bytes for who asked once a worker is free
// for it, and for so long as an answer may take.
func (s *Server) work(ctx context.Context, size int64, do func(context.Context) error) error {
	arrived(ctx)
	wait := time.NewTimer(s.o.Wait)
	defer wait.Stop()
	select {
	case s.free <- struct{}{}:
		defer func() { <-s.free }()
	case <-wait.C:
		return fail(http.StatusServiceUnavailable, "too many look-ups at once: try again")
	case <-ctx.Done():
		return fail(http.StatusServiceUnavailable, "the sender has gone")
	}
	waiting, done := context.WithTimeout(ctx, s.o.Wait)
	defer done()
	if s.worked.Acquire(waiting, size) != nil {
		return fail(http.StatusServiceUnavailable, "too many large pages at once: try again")
	}
	defer s.worked.Release(size)
	ctx, cancel := context.WithTimeout(ctx, s.o.Answer)
	defer cancel()
	err := do(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return fail(http.StatusServiceUnavailable, "the look-up took too long: try again")
	case errors.Is(err, errLacking):
		return failure{http.StatusServiceUnavailable, err}
	}
	return err
}

var errFull = errors.New("too many large pages at once: try again")

// counted counts what is read of a request among what is read of all of them.
type counted struct {
	in    io.Reader
	held  *atomic.Int64
	limit int64
	read  int64
	next  func() // called before each read
}

// counted is the body of a request, as far as it may be large and slow.
func (s *Server) counted(w http.ResponseWriter, r *http.Request) *counted {
	control, last := http.NewResponseController(w), time.Now().Add(s.o.Read)
	return &counted{in: http.MaxBytesReader(w, r.Body, s.o.MaxBody), held: &s.held, limit: s.o.Memory, next: func() {
		soon := time.Now().Add(s.o.Stall)
		if last.Before(soon) {
			soon = last
		}
		_ = control.SetReadDeadline(soon) // where there is no connection there is no deadline
	}}
}

func (c *counted) Read(p []byte) (int, error) {
	c.next()
	n, err := c.in.Read(p)
	c.read += int64(n)
	if c.held.Add(int64(n)) > c.limit {
		c.release() // at once: else all who read meanwhile would be turned away
		return n, errFull
	}
	return n, err
}

// refuse is the failure of a page or form that could not be read.
func (c *counted) refuse(what string, err error) error {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fail(http.StatusRequestEntityTooLarge, "the page has more than %d bytes", tooLarge.Limit)
	case errors.Is(err, errFull):
		_, _ = io.Copy(io.Discard, c.in) // else the sender finds the connection broken, and no answer
		return failure{http.StatusServiceUnavailable, err}
	}
	return fail(http.StatusBadRequest, "the %s did not arrive: %w", what, err)
}

// release takes the bytes out of the count.
func (c *counted) release() {
	c.held.Add(-c.read)
	c.read = 0
}

// Page is the document that a body of that content type holds: text/html, as a
// run reads pages; application/json, {"title": …, "text": …} or {"html": …} with
// the id, if any, as "id"; everything else is taken as text.
func (x *Index) Page(body []byte, contentType string) (*data.Document, error) {
	doc, _, err := x.page(body, contentType)
	return doc, err
}

// page is Page, and says whether the text was found in HTML.
func (x *Index) page(body []byte, contentType string) (doc *data.Document, extracted bool, err error) {
	doc = &data.Document{}
	doc.Reset()
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	options := x.config.Input.ReaderOptions()
	options.Encoding = "" // was that of a night's files
	switch media {
	case "text/html", "application/xhtml+xml":
		extracted = true
		if err := warc.Page(doc, body, contentType, true, options); err != nil {
			return nil, false, fail(http.StatusUnprocessableEntity, "%w", err)
		}
	case "application/json":
		var page struct {
			ID    string  `json:"id"`
			Title string  `json:"title"`
			Text  *string `json:"text"`
			HTML  *string `json:"html"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			var kind *json.UnmarshalTypeError // whose text names types of this program
			if errors.As(err, &kind) {
				err = fmt.Errorf("there is a JSON %s at offset %d", kind.Value, kind.Offset)
			}
			return nil, false, fail(http.StatusBadRequest, `the body is not {"title": …, "text": …}: %w`, err)
		}
		switch {
		case page.Text == nil && page.HTML == nil:
			return nil, false, fail(http.StatusBadRequest, `the object has no "text"`)
		case page.Text != nil && page.HTML != nil:
			return nil, false, fail(http.StatusBadRequest, `the object has "text" and "html": send one of them`)
		case page.HTML != nil:
			if err := warc.Page(doc, []byte(*page.HTML), "text/html; charset=utf-8", true, options); err != nil {
				return nil, false, fail(http.StatusUnprocessableEntity, "%w", err)
			}
			doc.ID = []byte(page.ID)
			return doc, true, nil
		}
		doc.ID, doc.Title, doc.Text = []byte(page.ID), []byte(page.Title), []byte(*page.Text)
	case "", "text/plain", "text/markdown", "application/octet-stream", "application/x-www-form-urlencoded":
		if err := warc.Page(doc, body, contentType, false, options); err != nil {
			return nil, false, err
		}
	default:
		return nil, false, fail(http.StatusUnsupportedMediaType, "content type %q: send text/plain, text/html or application/json", media)
	}
	return doc, extracted, nil
}

// health is what GET /healthz answers.
type health struct {
	Status    string `json:"status"` // ok; starting: the index is being made; stale: the answers lack the library's last change; down: there are no answers
	Error     string `json:"error,omitempty"`
	Change    int64  `json:"change"`
	Nights    int    `json:"nights"`
	Documents int64  `json:"documents"`
	Added     *int64 `json:"added,omitempty"` // pages that are no night yet; of a service that takes pages
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	m := s.index.Manifest()
	h := health{Status: "ok", Change: m.Sequence, Nights: len(m.Nights), Documents: m.Rows()}
	if s.index.added != nil {
		n := s.index.added.Waiting()
		h.Added = &n
	}
	code := http.StatusOK
	if why := s.stale.Load(); why != nil {
		h.Status, h.Error, code = "stale", *why, http.StatusServiceUnavailable
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Wait)
	defer cancel()
	have, err := s.index.store.Parts(ctx)
	if err == nil && s.index.lacks(have) {
		err = errLacking
	}
	if err != nil {
		h.Status, h.Error, code = "down", err.Error(), http.StatusServiceUnavailable
	}
	writeJSON(w, code, h)
}
