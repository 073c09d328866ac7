package model

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yanyiwu/gojieba"
)

var update = flag.Bool("update", false, "write the embedded model")

// derive builds the model from the dictionaries that gojieba ships.
func derive(dir string) (*Model, error) {
	l := &Lexicon{}
	for _, name := range Files() {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := l.Parse(name, content); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return Build(l)
}

// TestModelIsCurrent derives the model again and compares it with the embedded
// one byte for byte. With -update it writes it.
func TestModelIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the model")
	}
	if _, err := os.Stat(gojieba.DICT_DIR); err != nil {
		t.Skipf("gojieba's dictionaries not found at %s", gojieba.DICT_DIR)
	}
	m, err := derive(gojieba.DICT_DIR)
	if err != nil {
		t.Fatal(err)
	}
	for from, row := range m.Trans {
		for to, p := range row {
			// B and M go on to E and M; E and S to B and S: the Viterbi path relies on it.
			if inside := from == B || from == M; inside != (to == E || to == M) && p != Unseen {
				t.Errorf("transition from state %d to %d", from, to)
			}
		}
	}
	derived, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "model.bin")
	if *update {
		if err := os.WriteFile(path, derived, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	embedded, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(derived, embedded) {
		t.Errorf("model.bin (%d bytes) is not what gojieba's dictionaries give (%d bytes): run go generate ./simhash/jieba", len(embedded), len(derived))
	}
}

// TestLexicon takes the embedded model apart and builds it again: it is the same
// to the byte, so that a lexicon of which a file is missing has the rest of
// jieba's own.
func TestLexicon(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the model")
	}
	embedded, err := os.ReadFile(filepath.Join("..", "..", "model.bin"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(embedded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(m.Lexicon())
	if err != nil {
		t.Fatal(err)
	}
	file, err := encode(again)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, embedded) {
		t.Errorf("built again it has %d bytes that are others than the %d of model.bin", len(file), len(embedded))
	}
}

func TestDeriveErrors(t *testing.T) {
	good := map[string]string{
		"jieba.dict.utf8": "的 9 uj\n中国 5 ns\n",
		"user.dict.utf8":  "区块链 10 nz\n",
		"idf.utf8":        "中国 3.5\n",
		"stop_words.utf8": "的\n",
		"hmm_model.utf8": "#\n-0.5 -3.14e+100 -3.14e+100 -1\n" +
			"-3.14e+100 -1 -1 -3.14e+100\n-1 -3.14e+100 -3.14e+100 -1\n-3.14e+100 -1 -1 -3.14e+100\n-1 -3.14e+100 -3.14e+100 -1\n" +
			"中:-1\n国:-1\n中:-2\n的:-1\n",
	}
	write := func(name, content string) string {
		dir := t.TempDir()
		for n, c := range good {
			if n == name {
				c = content
			}
			if err := os.WriteFile(filepath.Join(dir, n), []byte(c), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	m, err := derive(write("", ""))
	if err != nil {
		t.Fatal(err)
	}
	file, err := encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(file); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct{ name, content, want string }{
		{"jieba.dict.utf8", "的 9\n", "line 1: \"的 9\" has 2 fields: write a word"},
		{"jieba.dict.utf8", "中 1 n\n的 x uj\n", "line 2: frequency \"x\": write a whole number"},
		{"jieba.dict.utf8", "的 0 uj\n", "line 1: frequency \"0\""},
		{"jieba.dict.utf8", "的 -3 uj\n", "line 1: frequency \"-3\""},
		{"jieba.dict.utf8", "的\xff 9 uj\n", "line 1: not UTF-8"},
		{"jieba.dict.utf8", "的，一 9 uj\n", "always cut"},
		{"jieba.dict.utf8", "\n\n", "it has no word"},
		{"user.dict.utf8", "a b c d\n", "line 1: 4 fields"},
		{"user.dict.utf8", "区块链 many nz\n", "line 1: frequency"},
		{"idf.utf8", "中国\n", "line 1: \"中国\": write a word and its idf"},
		{"idf.utf8", "中国 nan\n", "write a word and its idf"},
		{"idf.utf8", "中国 -1\n", "write a word and its idf"},
		{"idf.utf8", "中 国 1\n", "write a word and its idf"},
		{"idf.utf8", "", "it has no idf"},
		{"hmm_model.utf8", "1 2 3\n", "line 1: \"1 2 3\": write 4 logarithms"},
		{"hmm_model.utf8", "1 -2 -3 -4\n", "write 4 logarithms of probabilities, at most 0"},
		{"hmm_model.utf8", good["hmm_model.utf8"] + "1 2\n", "line 11: a line after"},
		{"hmm_model.utf8", "-1 -1 -1 -1\n", "1 lines of values: write 9"},
		{"hmm_model.utf8", "-1 -1 -1 -1\n-2 -1 -1 -3.14e+100\n", "line 2: B is followed by B: write -3.14e+100"},
		{"hmm_model.utf8", strings.Replace(good["hmm_model.utf8"], "中:-2", "中:-2,国国:-1", 1), "line 9: \"国国:-1\": write a character"},
		{"hmm_model.utf8", strings.Replace(good["hmm_model.utf8"], "中:-2", "中", 1), "line 9: \"中\": write a character"},
	} {
		if _, err := derive(write(bad.name, bad.content)); err == nil || !strings.Contains(err.Error(), bad.name+": ") || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s with %.40q: error %v, want one with %s", bad.name, bad.content, err, bad.want)
		}
	}
	if _, err := derive(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("empty directory: error %v", err)
	}
}
