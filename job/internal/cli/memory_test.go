//go:build linux && !race

package cli

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/job/internal/config"
)

// A service to which fifty pages of 8 MB come at once, as JSON, HTML and by the
// form, takes about 240 MiB (288 at most: collections lag on a busy machine), answers
// some, tells the others to come back, and says all the while that it is there.
func TestServiceMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute on a busy machine")
	}
	dir := t.TempDir()
	lib := filepath.Join(dir, "lib")
	dump(t, dir, 1, 50)
	cmd, stderr := start(t, "run", filepath.Join(dir, "000.jsonl"), "--preset", config.PresetBalanced, "--library", lib, "--out", filepath.Join(dir, "2026-11-01"))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	served, host, _ := service(t, lib)
	defer func() {
		_ = served.Process.Kill()
		_ = served.Wait() // it was killed
	}()
	text := largeText(8<<20 - 1000)
	var form bytes.Buffer
	fields := multipart.NewWriter(&form)
	for name, value := range map[string]string{"id": "", "text": text} {
		if err := fields.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := fields.Close(); err != nil {
		t.Fatal(err)
	}
	pages := []struct{ path, kind, body string }{
		{"/lookup", "application/json", `{"text":"` + text + `"}`},
		{"/lookup", "text/html", "<p>" + text + "</p>"},
		{"/", fields.FormDataContentType(), form.String()},
	}
	client := http.Client{Timeout: 2 * time.Minute}
	var group sync.WaitGroup
	var lock sync.Mutex
	codes := map[int]int{}
	for i := range 50 {
		group.Go(func() {
			p := pages[i%len(pages)]
			resp, err := client.Post("http://"+host+p.path, p.kind, strings.NewReader(p.body))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body) // its code is looked at
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			lock.Lock()
			defer lock.Unlock()
			codes[resp.StatusCode]++
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	for under := true; under; {
		select {
		case <-done:
			under = false
		case <-time.After(50 * time.Millisecond):
		}
		if resp, err := client.Get("http://" + host + "/healthz"); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		} else {
			_ = resp.Body.Close()
		}
	}
	if codes[200] == 0 || codes[200]+codes[503] != 50 {
		t.Errorf("answers: %v", codes)
	}
	kib, err := peakOf(served.Process.Pid)
	if err != nil || kib > 288<<10 {
		t.Errorf("peak of %d KiB, %v", kib, err)
	}
	t.Logf("%d MiB, answers %v", kib>>10, codes)
}

// Three large documents, alike but for a piece in some dozens, are matched by their
// texts in little more than the memory that the run was given: pages of an archive
// with a table of 30 MiB, and lines of JSON with 30 MiB of Chinese.
func TestLargeDocumentsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute on a busy machine")
	}
	const size, documents = 30 << 20, 3 // two pairs at once
	t.Run("WARC", func(t *testing.T) {
		largeDocuments(t, "pages.warc.gz", documents, func(w io.Writer, document int) error {
			var b bytes.Buffer
			b.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><title>t</title><h1>Table</h1><table>\n")
			for i := uint32(0); b.Len() < size; i++ {
				n := i * 2654435761
				if i%50 == 0 {
					n += uint32(document)
				}
				fmt.Fprintf(&b, "<tr><td>%d</td><td>%x</td><td>%d</td></tr>\n", n, n*40503, n%99991)
			}
			member := gzip.NewWriter(w)
			fmt.Fprintf(member, "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/%d\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", document, b.Len(), b.Bytes())
			return member.Close()
		})
	})
	t.Run("JSONL", func(t *testing.T) {
		largeDocuments(t, "lines.jsonl", documents, func(w io.Writer, document int) error {
			draw := rand.New(rand.NewPCG(7, 0))
			words := make([]rune, 100_000)
			for i := range words {
				words[i] = 0x4e00 + draw.Int32N(0x4000)
			}
			b := fmt.Appendf(nil, `{"id":"%d","text":"`, document)
			for i := 0; len(b) < size; i++ {
				n := draw.IntN(len(words))
				if document > 0 && i%(40*document) == 0 {
					n = (n + 1) % len(words)
				}
				b = utf8.AppendRune(utf8.AppendRune(b, words[n]), words[(n*7)%len(words)])
				if i%23 == 22 {
					b = append(b, "。"...)
				}
			}
			_, err := w.Write(append(b, "\"}\n"...))
			return err
		})
	})
}

// largeDocuments has a file of that name, with what write writes for each document,
// run at 512 MiB.
func largeDocuments(t *testing.T, name string, documents int, write func(w io.Writer, document int) error) {
	dir := t.TempDir()
	dump := filepath.Join(dir, name)
	out, err := os.Create(dump)
	if err != nil {
		t.Fatal(err)
	}
	for document := range documents {
		if err := write(out, document); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := start(t, "run", dump, "--out", filepath.Join(dir, "run"), "--memory", "512MiB")
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	peak := 0
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			if t.Logf("peak of %d MiB", peak>>10); peak == 0 || peak>>10 > 512*11/10 {
				t.Errorf("peak of %d KiB", peak)
			}
			return
		case <-time.After(20 * time.Millisecond):
			if kib, err := peakOf(cmd.Process.Pid); err == nil {
				peak = kib
			}
		}
	}
}

// peakOf returns the peak memory of a process that runs, in KiB. The usage that Wait
// tells of would begin with the memory of the process that started it.
func peakOf(pid int) (kib int, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	_, err = fmt.Sscan(peak, &kib)
	return kib, err
}

// A memory cap that the process has no addresses for is refused in one line, which
// says what to do; the default cap goes by what there is.
func TestAddresses(t *testing.T) {
	dir := t.TempDir()
	dump(t, dir, 1, 30)
	for i, c := range []struct {
		kilobytes int
		memory    []string
		code      int
	}{{2_000_000, nil, exitUsage}, {3_000_000, []string{"--memory", "4GiB"}, exitUsage}, {3_000_000, nil, exitDone}} {
		args := append([]string{"-c", fmt.Sprintf("ulimit -v %d; exec \"$@\"", c.kilobytes), "sh", os.Args[0], "run", filepath.Join(dir, "000.jsonl"), "--out", filepath.Join(dir, fmt.Sprint(i))}, c.memory...)
		cmd := exec.Command("sh", args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run() // its code tells
		if code := cmd.ProcessState.ExitCode(); code != c.code || code == exitUsage && (strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "ulimit -v")) {
			t.Errorf("ulimit -v %d, %v: exit code %d: %s", c.kilobytes, c.memory, code, &stderr)
		}
	}
}

// largeText has so many bytes of made-up words.
func largeText(size int) string {
	var b strings.Builder
	for i := uint32(0); b.Len() < size; i++ {
		fmt.Fprintf(&b, "%x ", i*2654435761)
	}
	return b.String()[:size]
}
