package lookup

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// When a service has ended nothing is under way any more, also what could not be
// waited for: who served closes the files that it asks.
func TestNothingIsUnderWayAtTheEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	var under atomic.Int64
	came := make(chan struct{})
	handler := func(_ http.ResponseWriter, r *http.Request) {
		under.Add(1)
		close(came)
		<-r.Context().Done() // its connection is closed
		time.Sleep(20 * time.Millisecond)
		under.Add(-1)
	}
	served := make(chan error, 1)
	go func() {
		served <- serve(ctx, l, ServerOptions{End: time.Millisecond}.withDefaults(), http.HandlerFunc(handler), func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		})
	}()
	answered := make(chan error, 1)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}()
	<-came
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := under.Load(); n != 0 {
		t.Errorf("%d requests are under way", n)
	}
	<-answered
}
