package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"
)

// An encoding that is asked for and is not the input's is warned of.
func TestWrongEncoding(t *testing.T) {
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "{\"id\":\"d%d\",\"text\":\"第%d天，天气很好，我们去公园看书和散步。城市里的老街也修好了，游客很多。\"}\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, in(t, "gb18030", lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for encoding, wrong := range map[string]bool{"utf-8": true, "gb18030": false} {
		code, stderr := inProcess("run", path, "--out", filepath.Join(t.TempDir(), "out"), "--encoding", encoding)
		if code != exitDone || strings.Contains(stderr, "leave the flag out") != wrong || wrong && !strings.Contains(stderr, "documents=40 of=40") {
			t.Errorf("%s: exit code %d: %s", encoding, code, stderr)
		}
	}
}

// TestEncodings runs on the same documents in several encodings: what comes
// out is the same, in UTF-8, and the run says what it decoded.
func TestEncodings(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("id,text\n")
	for i := range 40 {
		fmt.Fprintf(&csv, "d%02d,\"第%d天，天气很好，我们去公园看书和散步。中国人民的生活越来越好，城市里的老街也修好了，%s\"\n", i, i/2, strings.Repeat("游客很多，", i/2%7))
	}
	var clean, page []byte
	for i, c := range []struct{ name, flag string }{{"utf-8", ""}, {"gb18030", ""}, {"utf-16le", ""}, {"big5", "big5"}} {
		dir := t.TempDir()
		path, out := filepath.Join(dir, "in.csv"), filepath.Join(dir, "out")
		text := csv.String()
		if c.name == "big5" {
			text = strings.NewReplacer("气", "氣", "们", "們", "园", "園", "书", "書", "国", "國", "来", "來", "里", "裡").Replace(text)
		}
		encoded := in(t, c.name, text)
		if err := os.WriteFile(path, encoded, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"run", path, "--out", out}
		if c.flag != "" {
			args = append(args, "--encoding", c.flag)
		}
		code, stderr := inProcess(args...)
		if code != exitDone {
			t.Fatalf("%s: exit code %d: %s", c.name, code, stderr)
		}
		if told := strings.Contains(stderr, "encoding="+c.name) && strings.Contains(stderr, "in.csv"); told != (c.name != "utf-8" && c.flag == "") {
			t.Errorf("%s: %s", c.name, stderr)
		}
		got, err := os.ReadFile(filepath.Join(out, "clean", "part-00000.csv"))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case i == 0:
			clean = got
			page = encoded
		case c.name == "big5":
			if !strings.Contains(string(got), "天氣很好") {
				t.Errorf("%s: %.200s", c.name, got)
			}
		case string(got) != string(clean):
			t.Errorf("%s: another clean dump:\n%.300s\nthan of UTF-8:\n%.300s", c.name, got, clean)
		}
	}

	// explain reads files as a run reads pages.
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"utf-8", "gb18030", "utf-16be"} {
		path := filepath.Join(dir, name+".txt")
		if err := os.WriteFile(path, in(t, name, string(page)), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for _, other := range paths[1:] {
		var stdout, stderr strings.Builder
		if code := Main([]string{"explain", paths[0], other}, strings.NewReader(""), &stdout, &stderr); code != exitDone || !strings.Contains(stdout.String(), "distance") {
			t.Errorf("explain %s: exit code %d: %s%s", other, code, &stdout, &stderr)
		}
	}
}

// in is text in another encoding.
func in(t *testing.T, name, text string) []byte {
	t.Helper()
	enc, err := htmlindex.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.NewEncoder().Bytes([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
