package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// What documents say of themselves moves no cursor, turns no line round and
// makes no column endless, whatever command prints it.
func TestHostileNamesAreShown(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("the river runs past the old mill and under the stone bridge ", 8)
	evil := "http://example.org/\x1b[2J\x1b]0;owned\x07\u202egpj.\r\n\u009b31m"
	ids := []string{evil + "1", evil + "2", "http://example.org/" + strings.Repeat("长", 300_000), "http://example.org/\u0301" + strings.Repeat("\u0301", 500_000)}
	var dump bytes.Buffer
	for _, id := range ids {
		line, err := json.Marshal(map[string]string{"id": id, "title": evil, "text": text + "\u202ewater\x1b[31m. " + id[len(id)-1:]})
		if err != nil {
			t.Fatal(err)
		}
		dump.Write(append(line, '\n'))
	}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	in, lib, out := file("in.jsonl", dump.String()), filepath.Join(dir, "lib"), filepath.Join(dir, "2026-11-20")
	a, b := file("a.txt", text+"\u202ewater\x1b[31m one"), file("b.txt", text+"\u202ebridge\x1b[31m two")
	commands := [][]string{
		{"run", in, "--out", out, "--library", lib, "--pairs"},
		{"match", out, "--out", filepath.Join(dir, "m")},
		{"inspect", out},
		{"inspect", filepath.Join(out, "fingerprints")},
		{"inspect", filepath.Join(out, "matches")},
		{"inspect", filepath.Join(out, "clusters")},
		{"status", out},
		{"explain", a, b},
		{"explain", "--run", out, ids[0], ids[1]},
		{"lookup", "--library", lib, a},
		{"library", "status", lib},
		{"library", "delete", lib, "--prefix", evil},
		{"library", "status", lib},
		{"eval", in, "--methods", "balanced", "--show", "2"},
		{"plan", in},
		{"explain", "--run", out, evil, evil},
		{"run", filepath.Join(dir, "no\x1b[31m"), "--out", filepath.Join(dir, "n")},
	}
	for i, command := range commands {
		var shown, told bytes.Buffer // told of how far it is, beside what is shown
		code := Main(command, strings.NewReader(""), &shown, &told)
		shown.Write(told.Bytes())
		if failed := code != exitDone; failed != (i >= len(commands)-2) { // no such id, no such file
			t.Errorf("%.60q: exit code %d\n%.2000s", command, code, shown.String())
		}
		if shown.Len() > 64<<10 {
			t.Errorf("%.60q prints %d bytes", command, shown.Len())
		}
		for l := range strings.Lines(shown.String()) {
			if i := strings.IndexFunc(strings.TrimSuffix(l, "\n"), func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) }); i >= 0 {
				t.Errorf("%.60q: %.400q", command, l[max(0, i-40):])
				break
			}
		}
	}
}
