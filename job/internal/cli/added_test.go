//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
)

// madeUp is a page of so many words, of its own for each number.
func madeUp(n uint64, words int) string {
	rng := rand.New(rand.NewPCG(n, 3))
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%d ", rng.IntN(8000))
	}
	return b.String()
}

// lines are pages as lines of JSON.
func lines(from uint64, n int, id func(uint64) string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for i := range uint64(n) {
		_ = enc.Encode(map[string]string{"id": id(from + i), "text": madeUp(from+i, 60)}) // of strings
	}
	return b.Bytes()
}

// libraryFor makes a library of some pages.
func libraryFor(t testing.TB, dir string) (lib string) {
	t.Helper()
	lib = filepath.Join(dir, "lib")
	dump(t, dir, 1, 20)
	cmd, stderr := start(t, "run", filepath.Join(dir, "000.jsonl"), "--library", lib, "--out", filepath.Join(dir, "2026-11-01"), "--clean=false")
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	return lib
}

// A service that takes pages is killed again and again while it does, and while
// it makes nights. Senders that got no answer send the same again. In the end each
// page that was answered for stands in the library, and none twice.
func TestKilledWhileAdding(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()
	kills := 12 // NEARDUP_KILLS=50 has more
	if n, err := strconv.Atoi(os.Getenv("NEARDUP_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	lib := libraryFor(t, dir)
	const senders, batch = 6, 20
	type sender struct {
		next     uint64
		answered map[string]bool
		again    int // requests that had to be sent again
	}
	all := make([]sender, senders)
	id := func(n uint64) string { return fmt.Sprintf("http://added.example/%d", n) }
	for i := range all {
		all[i] = sender{next: uint64(i) * 1_000_000, answered: map[string]bool{}}
	}
	rng := rand.New(rand.NewPCG(uint64(kills), 8))
	client := http.Client{Timeout: 20 * time.Second}
	nights := 0
	for kill := range kills {
		served, host, said := serviceThat(t, lib, nil, "--add")
		var stop atomic.Bool
		var wait sync.WaitGroup
		answered := make(chan struct{}, 1)
		for i := range all {
			s := &all[i]
			wait.Go(func() {
				for !stop.Load() {
					resp, err := client.Post("http://"+host+"/documents", "application/x-ndjson", bytes.NewReader(lines(s.next, batch, id)))
					if err != nil {
						s.again++
						return
					}
					body, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err != nil {
						s.again++
						return
					}
					if resp.StatusCode == http.StatusServiceUnavailable { // it is starting
						time.Sleep(5 * time.Millisecond)
						continue
					}
					if resp.StatusCode != http.StatusOK || bytes.Count(body, []byte("\n")) != batch || bytes.Contains(body, []byte(`"error"`)) {
						t.Errorf("%d %s", resp.StatusCode, body)
						return
					}
					for n := range uint64(batch) {
						s.answered[id(s.next+n)] = true
					}
					s.next += batch
					select {
					case answered <- struct{}{}:
					default:
					}
				}
			})
		}
		if kill%3 == 1 {
			wait.Go(func() {
				time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond)
				resp, err := client.Post("http://"+host+"/nights", "", nil)
				if err == nil {
					if resp.StatusCode == http.StatusOK {
						nights++
					}
					_ = resp.Body.Close()
				}
			})
		}
		if kill%4 != 3 { // every fourth may still be starting
			select {
			case <-answered:
			case <-time.After(time.Minute):
				t.Errorf("kill %d: nothing was answered in a minute: %s", kill, said())
			}
		}
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		if err := served.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = served.Wait() // it was killed
		stop.Store(true)
		wait.Wait()
		if log := said(); strings.Contains(log, "ERR") || strings.Contains(log, "level=ERROR") {
			t.Errorf("kill %d: %s", kill, log)
		}
	}
	code, stderr := inProcess("library", "night", lib)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	l, err := library.Open(context.Background(), lib, library.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	times := map[string]int{}
	err = l.Rows(context.Background(), library.StreamOptions{}, func(row *data.LibraryRow) error {
		times[string(row.DocID)]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := l.Verify(context.Background()); err != nil || len(wrong) > 0 {
		t.Error(wrong, err)
	}
	answered, again := 0, 0
	for i := range all {
		for id := range all[i].answered {
			answered++
			if times[id] != 1 {
				t.Errorf("%s was answered for and is there %d times", id, times[id])
			}
		}
		again += all[i].again
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	if answered < kills*3/4*batch || again < kills {
		t.Errorf("%d pages were answered for, %d requests sent again: the test shows nothing", answered, again)
	}
	t.Logf("%d kills, %d pages answered for, %d requests sent again, %d nights made meanwhile; %d documents in %d nights", kills, answered, again, nights, len(times), len(l.Manifest().Nights))
}

// While the disk is full pages are refused with 507 and look-ups go on; when there
// is room again adding goes on.
func TestAddingOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	lib := libraryFor(t, dir)
	disk := filepath.Join(lib, library.Added)
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk).Run(); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	served, host, said := serviceThat(t, lib, nil, "--add")
	defer func() {
		_ = served.Process.Kill()
		_ = served.Wait() // it was killed
		if err := exec.Command("umount", disk).Run(); err != nil {
			t.Error(err)
		}
	}()
	id := func(n uint64) string { return fmt.Sprint("page ", n) }
	send := func(from uint64) (int, string) {
		resp, err := http.Post("http://"+host+"/documents", "application/x-ndjson", bytes.NewReader(lines(from, 50, id)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	known := func(n uint64) bool {
		resp, err := http.Post("http://"+host+"/lookup", "text/plain", strings.NewReader(madeUp(n, 60)))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var a struct{ Known bool }
		if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp.StatusCode, err)
		}
		return a.Known
	}
	from := uint64(0)
	for {
		code, body := send(from)
		if code == http.StatusInsufficientStorage && strings.Contains(body, "room") {
			break
		}
		if from += 50; code != http.StatusOK || from > 10_000 {
			t.Fatalf("%d: %d %.300s", from, code, body)
		}
	}
	for range 3 {
		if code, body := send(from); code != http.StatusInsufficientStorage {
			t.Fatalf("%d %s", code, body)
		}
	}
	if !known(0) || !known(from-1) || known(from) || known(from+49) {
		t.Error("what was kept is to be known, what was refused is not")
	}
	if err := exec.Command("mount", "-o", "remount,size=8m", disk).Run(); err != nil {
		t.Fatal(err)
	}
	if code, body := send(from); code != http.StatusOK || strings.Contains(body, `"known":true`) {
		t.Fatalf("when there is room: %d %.300s: %s", code, body, said())
	}
	if log := said(); strings.Count(log, "no space left") != 1 || !strings.Contains(log, "added again") {
		t.Errorf("it is to be told once: %s", log)
	}
	if !known(from) {
		t.Error("it is not kept")
	}
}

// Who has no token adds nothing, by whatever way; look-ups need none.
func TestToken(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()
	dir := t.TempDir()
	lib := libraryFor(t, dir)
	token := "zqtoken7f3a9c0b1d2e"
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		env  []string
		with map[string]int // status by the header Authorization
	}{
		{"read only", nil, nil, map[string]int{"": 403, "Bearer " + token: 403}},
		{"none", []string{"--add"}, nil, map[string]int{"": 200}},
		{"file", []string{"--add", "--token-file", file}, nil, map[string]int{"": 401, "Bearer " + token: 200, "Bearer " + token[1:]: 401, token: 401, "Basic " + token: 401, "Bearer ": 401}},
		{"environment", []string{"--add"}, []string{"NEARDUP_ADD_TOKEN=" + token}, map[string]int{"": 401, "Bearer " + token: 200}},
	} {
		t.Run(c.name, func(t *testing.T) {
			served, host, said := serviceThat(t, lib, c.env, c.args...)
			defer func() {
				_ = served.Process.Kill()
				_ = served.Wait() // it was killed
			}()
			for header, want := range c.with {
				for _, path := range []string{"/documents?id=x", "/nights"} {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+path, strings.NewReader(madeUp(1, 60)))
					if err != nil {
						t.Fatal(err)
					}
					req.Header.Set("Authorization", header)
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					if err != nil || resp.StatusCode != want {
						t.Errorf("%s with %q: %d %s, want %d", path, header, resp.StatusCode, body, want)
					}
				}
			}
			if c.name == "none" { // what a page in a browser sends
				for header, value := range map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Host": "evil.example"} {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/documents?id=x", strings.NewReader(madeUp(1, 60)))
					if err != nil {
						t.Fatal(err)
					}
					if req.Header.Set(header, value); header == "Host" {
						req.Host = value
					}
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Fatal(err)
					}
					if _ = resp.Body.Close(); resp.StatusCode != http.StatusForbidden {
						t.Errorf("%s: %s: %d", header, value, resp.StatusCode)
					}
				}
			}
			resp, err := http.Post("http://"+host+"/lookup", "text/plain", strings.NewReader(madeUp(1, 60)))
			if err != nil {
				t.Fatal(err)
			}
			if _ = resp.Body.Close(); resp.StatusCode != http.StatusOK {
				t.Errorf("a look-up: %d", resp.StatusCode)
			}
			if log := said(); strings.Contains(log, token) {
				t.Errorf("the token is in the log: %s", log)
			}
		})
	}
}
