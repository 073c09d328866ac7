package lookup_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/redis"
)

// server starts a Redis server of its own on a free port.
func server(t *testing.T, args ...string) (address string) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	for range 5 { // a connection may take the port before the server does
		if address = startAt(t, program, args...); address != "" {
			return address
		}
	}
	t.Fatal("redis-server does not start")
	return ""
}

// startAt starts the server on a port that was free; "" when it ended.
func startAt(t *testing.T, program string, args ...string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir()}, args...)...)
	cmd.Stdout, cmd.Stderr = t.Output(), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	for began := time.Now(); time.Since(began) < time.Minute; {
		c, err := net.Dial("tcp", address) //nolint:noctx // a test
		if err == nil {
			_ = c.Close()
			return address
		}
		select {
		case <-ended:
			return ""
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("redis-server does not answer at %s", address)
	return ""
}

// A store is there again when it is opened again; one of another schema is
// emptied; a store that cannot look at everything says so.
func TestRedisOpenAgain(t *testing.T) {
	ctx := context.Background()
	address := server(t)
	open := func(bits int) (lookup.Store, []string) {
		s, err := redis.Open(ctx, testSchema(bits), redis.Options{Address: address})
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.Parts(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s, parts
	}
	s, _ := open(64)
	err := s.Put(ctx, "p", func(yield func(*lookup.Entry) error) error {
		return yield(&lookup.Entry{Row: 3, ID: []byte("a"), Lo: 5, Normal: true, Keys: []lookup.Key{{Table: 0, Value: 5}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Near(ctx, &lookup.Query{All: true}); err == nil {
		t.Error("a scan was answered")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, parts := open(64)
	hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{{Table: 0, Value: 5}}, Lo: 5})
	if err != nil || len(parts) != 1 || len(hits) != 1 || string(hits[0].ID) != "a" {
		t.Errorf("%q %+v %v", parts, hits, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, parts = open(128)
	if len(parts) != 0 {
		t.Errorf("parts of another schema: %q", parts)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a server keeps on a disk is there when it is started again, of four tables
// and of ten.
func TestRedisRestart(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var want [][]lookup.Hit
	for range 2 {
		address := server(t, "--appendonly", "yes", "--appendfsync", "always", "--dir", dir)
		var got [][]lookup.Hit
		for m := 1; m <= 2; m++ {
			tables, keys := segmentTables(t, 64, m)
			s, err := redis.Open(ctx, lookup.Schema{Bits: 64, Tables: tables}, redis.Options{Address: address, Prefix: fmt.Sprint("of", m)})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				if err := put(ctx, s, "p", []lookup.Entry{{Row: 3, ID: []byte("a"), Lo: 5, Normal: true, Keys: keys(nil, 0, 5)}}); err != nil {
					t.Fatal(err)
				}
			}
			q := within(m, keys(nil, 0, 4), 0, 4, 3)
			hits, err := s.Near(ctx, &q)
			if err != nil || len(hits) != 1 || q.Work.Values != len(tables) {
				t.Fatalf("%+v, %+v, %v", hits, q.Work, err)
			}
			got = append(got, hits)
			closing(t, s)
		}
		if want == nil {
			want = got
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("started again: %+v, before %+v", got, want)
		}
		stop(t, address)
	}
}

// stop ends a server as its operator does.
func stop(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("SHUTDOWN\r\n")); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 10)) // it ends
}

// A server that may throw keys away is refused: pages would be unknown that are
// known.
func TestRedisEvictingServer(t *testing.T) {
	for policy, refused := range map[string]bool{"allkeys-lru": true, "noeviction": false} {
		s, err := redis.Open(context.Background(), testSchema(64), redis.Options{Address: server(t, "--maxmemory", "100mb", "--maxmemory-policy", policy)})
		if refused != (err != nil && strings.Contains(err.Error(), "set noeviction")) {
			t.Errorf("%s: %v", policy, err)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An index whose keys would be taken for ours is refused.
func TestRedisOfAnEarlierBuild(t *testing.T) {
	address := server(t)
	c, err := net.Dial("tcp", address) //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("HSET neardup:parts p 1\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := redis.Open(context.Background(), testSchema(64), redis.Options{Address: address}); err == nil || !strings.Contains(err.Error(), "remove what stands under neardup:*") {
		t.Error(err)
	}
}

func TestRedisNoServer(t *testing.T) {
	if _, err := redis.Open(context.Background(), testSchema(64), redis.Options{Address: "127.0.0.1:1"}); err == nil {
		t.Error("no error without a server")
	}
}
