package objecttest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Fault is what a Proxy does to a request.
type Fault int

// The faults. Whatever they do is what networks and stores do.
const (
	None         Fault = iota
	Failed             // the answer is 500
	Unavailable        // the answer is 503
	Refused            // the connection is cut before an answer
	CutUpload          // the connection is cut when half of what is sent has come
	SilentUpload       // half of what is sent is read, and the connection stays open
	CutAnswer          // the connection is cut when half of the answer was sent
	Silent             // half of the answer is sent, and the connection stays open
)

// Proxy stands in front of a server.
type Proxy struct {
	// Choose says what to do to request n, counted from 1, and Answered is told of
	// one that the server has answered. They are set before the first request, and
	// called by any goroutine.
	Choose   func(n int64, r *http.Request) Fault
	Answered func(r *http.Request)

	Wait   atomic.Int64 // nanoseconds, before each answer
	Faults atomic.Int64 // done so far

	store    *httputil.ReverseProxy
	requests atomic.Int64
	ended    chan struct{} // closed when the proxy is
}

// Requests is how many came so far.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// readBuffer is what the system holds of what was sent to the proxy and not read; left
// to itself, it may be 32 MiB, and a sender does not see that nothing is read.
const readBuffer = 64 << 10

// Behind starts a proxy in front of the server, and sets the environment so that package
// object finds the proxy, as Start does.
func (s *Server) Behind(p *Proxy) {
	s.t.Helper()
	to, err := url.Parse(s.env[endpoint])
	if err != nil {
		s.t.Fatal(err)
	}
	p.store = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }, // which is signed
		ModifyResponse: func(r *http.Response) error {
			if p.Answered != nil {
				p.Answered(r.Request)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // who asked has gone
	}
	p.ended = make(chan struct{})
	server := httptest.NewUnstartedServer(p)
	server.Config.ConnState = func(c net.Conn, now http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && now == http.StateNew {
			_ = tcp.SetReadBuffer(readBuffer) // on a connection that has ended already
		}
	}
	server.Start()
	s.t.Cleanup(func() {
		close(p.ended)
		server.Close()
	})
	s.setenv(endpoint, server.URL)
}

// ServeHTTP answers a request; see http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(time.Duration(p.Wait.Load()))
	fault := None
	if n := p.requests.Add(1); p.Choose != nil {
		fault = p.Choose(n, r)
	}
	if fault != None {
		p.Faults.Add(1)
	}
	switch fault {
	case None:
		p.store.ServeHTTP(w, r)
	case Failed:
		w.WriteHeader(http.StatusInternalServerError)
	case Unavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
	case CutAnswer, Silent:
		p.store.ServeHTTP(&half{ResponseWriter: w, request: r, silent: fault == Silent}, r)
	case CutUpload, SilentUpload:
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2) // who sends may be gone
		if fault == SilentUpload {
			<-p.ended
		}
		panic(http.ErrAbortHandler)
	case Refused:
		panic(http.ErrAbortHandler)
	}
}

// half sends half of an answer.
type half struct {
	http.ResponseWriter
	left    int64 // bytes of it
	request *http.Request
	silent  bool
}

func (h *half) WriteHeader(code int) {
	h.ResponseWriter.WriteHeader(code)
	var length int64
	if _, err := fmt.Sscan(h.Header().Get("Content-Length"), &length); err == nil {
		h.left = length / 2
	}
}

var errHalf = errors.New("half of the answer is sent")

// Write fails behind the half, at which the proxy cuts the connection.
func (h *half) Write(b []byte) (n int, err error) {
	if n, err = h.ResponseWriter.Write(b[:min(int64(len(b)), h.left)]); err != nil || n == len(b) {
		h.left -= int64(n)
		return n, err
	}
	h.left = 0
	if err := http.NewResponseController(h.ResponseWriter).Flush(); err != nil {
		return n, err
	}
	if h.silent {
		<-h.request.Context().Done() // who waits has gone
	}
	return n, errHalf
}
