//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAddLoad measures a service that takes pages: NEARDUP_ADD_LOAD=SECONDS has 64
// clients send batches of 100 pages of 2 KB, English of made-up words or Chinese of
// the sentences of data/sample, for so long, beside one that looks pages up, a
// process of its own. What it prints is benchmarks/check-and-add.md.
// NEARDUP_ADD_BATCH is another size of the batches; NEARDUP_ADD_KEEP a folder that
// the library stays in, so that its log is on a disk of one's choice.
func TestAddLoad(t *testing.T) {
	if url := os.Getenv(lookUpsOf); url != "" {
		if err := lookUps(url, os.Stdin, os.Stderr); err != nil {
			t.Fatal(err)
		}
		return
	}
	seconds, err := strconv.Atoi(os.Getenv("NEARDUP_ADD_LOAD"))
	if err != nil {
		t.Skip("NEARDUP_ADD_LOAD=SECONDS measures how many pages a service takes")
	}
	batch := 100
	if n, err := strconv.Atoi(os.Getenv("NEARDUP_ADD_BATCH")); err == nil {
		batch = n
	}
	for _, kind := range []string{"en", "zh"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			if keep := os.Getenv("NEARDUP_ADD_KEEP"); keep != "" {
				dir = filepath.Join(keep, fmt.Sprint(kind, time.Now().UnixNano()))
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			lib := libraryFor(t, dir)
			served, host, said := serviceThat(t, lib, nil, "--add")
			defer func() {
				_ = served.Process.Kill()
				_ = served.Wait() // it was killed
			}()
			pages := addLoad(t, host, batch, time.Duration(seconds)*time.Second, pagesOf(t, kind))
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", served.Process.Pid))
			status, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/status", served.Process.Pid))
			if err == nil && err2 == nil {
				fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
				user, _ := strconv.Atoi(fields[11])
				system, _ := strconv.Atoi(fields[12])
				t.Logf("of the service: %.1f s of processor, %.0f µs a page, opening the library included; %s", float64(user+system)/100, 1e4*float64(user+system)/float64(pages), regexp.MustCompile(`VmHWM.*`).Find(status))
			}
			if s := said(); strings.Contains(s, "ERROR") {
				t.Error(s)
			}
		})
	}
}

// pagesOf makes texts of 2 KB.
func pagesOf(t *testing.T, kind string) func(rng *rand.Rand) string {
	t.Helper()
	var units []string
	if kind == "en" {
		rng := rand.New(rand.NewPCG(5, 5))
		for range 8000 {
			word := make([]byte, 2+rng.IntN(9))
			for i := range word {
				word[i] = byte('a' + rng.IntN(26))
			}
			units = append(units, string(word)+" ")
		}
	} else {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "data", "sample", "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			units = append(units, regexp.MustCompile(`\p{Han}[\p{Han}，、：；]{8,80}[。！？]`).FindAllString(string(text), -1)...)
		}
		if len(units) < 100 {
			t.Fatalf("%d sentences in %v", len(units), files)
		}
	}
	return func(rng *rand.Rand) string {
		var b strings.Builder
		for b.Len() < 2048 {
			b.WriteString(units[rng.IntN(len(units))])
		}
		return b.String()
	}
}

func addLoad(t *testing.T, host string, batch int, length time.Duration, text func(*rand.Rand) string) (added int64) {
	t.Helper()
	const clients, made = 64, 8000 // pages whose ids change
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	var pages []string
	for range made {
		pages = append(pages, text(rng))
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients + 4}, Timeout: time.Minute}
	quantiles := func(took []time.Duration) string {
		slices.Sort(took)
		at := func(share float64) time.Duration {
			return took[int(share*float64(len(took)-1))].Round(10 * time.Microsecond)
		}
		return fmt.Sprintf("p50 %v, p99 %v, most %v (%d)", at(.5), at(.99), at(1), len(took))
	}
	alone := lookUpsFor(t, host, pages)
	time.Sleep(2 * time.Second)
	aloneTook := alone()

	before := lookUpSeconds(t, host)
	var stop atomic.Bool
	var sent, refused atomic.Int64
	var lock sync.Mutex
	var took []time.Duration
	var wait sync.WaitGroup
	stop.Store(false)
	began := time.Now()
	time.AfterFunc(length, func() { stop.Store(true) })
	for c := range clients {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), uint64(time.Now().UnixNano())))
			var own []time.Duration
			var body bytes.Buffer
			enc := json.NewEncoder(&body)
			for n := 0; !stop.Load(); n++ {
				body.Reset()
				for i := range batch {
					// No two are alike: halves of two pages, and a word of its own.
					a, b := pages[rng.IntN(made)], pages[rng.IntN(made)]
					cut := len(a) / 2
					for cut < len(a) && a[cut]&0xc0 == 0x80 {
						cut++
					}
					from := len(b) / 2
					for from < len(b) && b[from]&0xc0 == 0x80 {
						from++
					}
					_ = enc.Encode(map[string]string{"id": fmt.Sprintf("http://load.example/%d/%d/%d", c, n, i), "text": a[:cut] + b[from:]}) // of strings
				}
				asked := time.Now()
				resp, err := client.Post("http://"+host+"/documents", "application/x-ndjson", bytes.NewReader(body.Bytes()))
				if err != nil {
					t.Error(err)
					return
				}
				answer, err := io.ReadAll(resp.Body)
				if _ = resp.Body.Close(); err != nil {
					t.Error(err)
					return
				}
				if resp.StatusCode != http.StatusOK {
					refused.Add(1)
					time.Sleep(100 * time.Millisecond)
					continue
				}
				own = append(own, time.Since(asked))
				sent.Add(int64(bytes.Count(answer, []byte(`"added":true`))))
			}
			lock.Lock()
			defer lock.Unlock()
			took = append(took, own...)
		})
	}
	beside := lookUpsFor(t, host, pages)
	wait.Wait()
	lasted := time.Since(began)
	besideTook := beside()
	after := lookUpSeconds(t, host)
	t.Logf("%d pages in %.1f s: %.0f a second; %d requests refused; batches of %d: %s", sent.Load(), lasted.Seconds(), float64(sent.Load())/lasted.Seconds(), refused.Load(), batch, quantiles(took))
	t.Logf("look-ups alone %s; beside %s", quantiles(aloneTook), quantiles(besideTook))
	for i := range after {
		if n := after[i].count - before[i].count; n*100 >= 99*len(besideTook) {
			t.Logf("by the service's own clock 99 of 100 look-ups beside took less than %s s", after[i].seconds)
			break
		}
	}
	return sent.Load()
}

// tookLess says how many look-ups took no more than so many seconds.
type tookLess struct {
	seconds string
	count   int
}

// lookUpSeconds is the service's histogram of them.
func lookUpSeconds(t *testing.T, host string) (all []tookLess) {
	t.Helper()
	resp, err := http.Get("http://" + host + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`neardup_lookup_seconds_bucket{le="(\S+)"} (\d+)`).FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.Atoi(m[2])
		all = append(all, tookLess{m[1], n})
	}
	return all
}

// lookUpsOf has the test look pages up instead, at the address that it is.
const lookUpsOf = "NEARDUP_ADD_LOOKUPS"

// lookUpsFor starts a process that looks pages up, one at a time, until what it
// returns is called, which returns how long each took. In this process it would
// wait for the clients that make batches.
func lookUpsFor(t *testing.T, host string, pages []string) (stop func() []time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAddLoad$")
	cmd.Env = append(os.Environ(), lookUpsOf+"=http://"+host+"/lookup")
	var out bytes.Buffer
	cmd.Stderr = &out
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = json.NewEncoder(in).Encode(pages[:1000])
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() (took []time.Duration) {
		err := errors.Join(in.Close(), cmd.Wait())
		if err == nil {
			err = json.Unmarshal(out.Bytes(), &took)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		return took
	}
}

// lookUps looks up the pages that come, one each 5 ms, until there is no more input,
// and says how long each took.
func lookUps(url string, in io.Reader, out io.Writer) error {
	var pages []string
	dec := json.NewDecoder(in)
	if err := dec.Decode(&pages); err != nil {
		return err
	}
	var ended atomic.Bool
	go func() {
		_ = dec.Decode(new(any)) // the end
		ended.Store(true)
	}()
	var took []time.Duration
	for i := 0; !ended.Load(); i++ {
		began := time.Now()
		resp, err := http.Post(url, "text/plain", strings.NewReader(pages[i%len(pages)]))
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %w", resp.Status, err)
		}
		took = append(took, time.Since(began))
		time.Sleep(5 * time.Millisecond)
	}
	return json.NewEncoder(out).Encode(took)
}
