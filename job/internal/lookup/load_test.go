package lookup_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/lookup"
)

// Beside many large pages at once and senders that stop in the middle, the
// service says that it is there; each page is answered, or refused with the time
// to come back, and in the end nothing is held.
func TestManyLargePages(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	const size = 512 << 10
	s := httptest.NewServer(lookup.NewServer(x, lookup.ServerOptions{MaxBody: size, Memory: 8 * size, Work: size, Wait: 200 * time.Millisecond}).Handler())
	defer s.Close()
	for range 20 {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /lookup HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\nhalf a page", size); err != nil {
			t.Fatal(err)
		}
	}
	page := strings.Repeat("some words of a page ", size/21)
	var wait sync.WaitGroup
	var lock sync.Mutex
	codes := map[int]int{}
	for range 40 {
		wait.Go(func() {
			resp, err := http.Post(s.URL+"/lookup", "text/plain", strings.NewReader(page))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			lock.Lock()
			codes[resp.StatusCode]++
			lock.Unlock()
		})
	}
	client := http.Client{Timeout: time.Minute}
	if resp, err := client.Get(s.URL + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	wait.Wait()
	if codes[200] == 0 || codes[200]+codes[503] != 40 {
		t.Errorf("answers: %v", codes)
	}
	if resp, err := http.Post(s.URL+"/lookup", "text/plain", strings.NewReader(page)); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %v, %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
}

// More connections than may be open at once, half of them stopped within the
// header and half within a body, keep nobody waiting.
func TestManyConnections(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	const patience = 5 * time.Minute // so long they may stop
	url := serve(t, open(t, dir, lookup.Options{Distance: -1}), lookup.ServerOptions{Conns: 16, Header: patience, Read: patience, Stall: patience, End: time.Millisecond})
	for i := range 100 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		text := "GET /healthz HTTP/1.1\r\nHost:"
		if i%2 == 0 {
			text = "POST /lookup HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf a page"
		}
		_, _ = io.WriteString(conn, text) // it may be closed already
	}
	for range 20 {
		client := http.Client{Timeout: patience / 5, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(url + "/healthz")
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
	}
	if code, answer := post(t, url, "text/plain", strings.NewReader(strings.Join(words(1, 300), " "))); code != http.StatusOK {
		t.Errorf("%d %s", code, answer)
	}
}

// A page of which the end is missing is none.
func TestHalfAPage(t *testing.T) {
	dir := t.TempDir()
	addNight(t, dir, "2026-11-01", config.PresetClassic, map[string][]string{"a": words(1, 300)})
	x := open(t, dir, lookup.Options{Distance: -1})
	h := lookup.NewServer(x, lookup.ServerOptions{}).Handler()
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/lookup", io.MultiReader(strings.NewReader(strings.Repeat("x", n)), half{})))
		if w.Code != http.StatusBadRequest {
			t.Errorf("after %d bytes: %d %s", n, w.Code, w.Body)
		}
	}
}

// half is the rest of a body whose sender has gone.
type half struct{}

func (half) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
