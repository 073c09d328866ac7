package model

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/yanyiwu/gojieba"
)

var update = flag.Bool("update", false, "write the embedded model")

// TestModelIsCurrent derives the model again and compares it with the embedded
// one byte for byte. With -update it writes it.
func TestModelIsCurrent(t *testing.T) {
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
	for _, bad := range []struct{ name, content string }{
		{"jieba.dict.utf8", "的 9\n"},
		{"jieba.dict.utf8", "的 x uj\n"},
		{"jieba.dict.utf8", "的 9 uj\n的 9 uj\n"},
		{"jieba.dict.utf8", "的\xff 9 uj\n"},
		{"jieba.dict.utf8", "的，一 9 uj\n"},
		{"user.dict.utf8", "a b c d\n"},
		{"user.dict.utf8", "区块链 many nz\n"},
		{"idf.utf8", "中国\n"},
		{"hmm_model.utf8", "1 2 3\n"},
		{"hmm_model.utf8", good["hmm_model.utf8"] + "1 2\n"},
		{"hmm_model.utf8", "-1 -1 -1 -1\n"},
	} {
		if _, err := derive(write(bad.name, bad.content)); err == nil {
			t.Errorf("%s with %.40q was accepted", bad.name, bad.content)
		}
	}
	if _, err := derive(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("empty directory: error %v", err)
	}
}
