package jieba_test

import (
	"bufio"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	upstream "github.com/yanyiwu/gojieba"

	"github.com/neardup/neardup/simhash/jieba"
)

// lines calls f for every line of one of gojieba's files.
func lines(t *testing.T, path string, f func(line string)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("gojieba's dictionaries not found: %v", err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	for s.Scan() {
		f(s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestDictionaryFiles reads gojieba's own files and finds all of them in the
// dictionary, and nothing else.
func TestDictionaryFiles(t *testing.T) {
	d := dictionary(t)
	seen := make([]bool, d.Len())
	id := func(word string) int32 {
		id, ok := d.Lookup([]byte(word))
		if !ok || d.Word(id) != word {
			t.Fatalf("Lookup(%q) = %d, %t, which is %q", word, id, ok, d.Word(id))
		}
		seen[id] = true
		return id
	}
	user := map[string]bool{}
	lines(t, upstream.USER_DICT_PATH, func(line string) {
		f := strings.Split(line, " ")
		user[f[0]] = true
		if i := id(f[0]); len(f) > 1 && d.Tag(i) != f[len(f)-1] {
			t.Errorf("user word %q has tag %q", f[0], d.Tag(i))
		}
	})
	if got := d.UserWords(); len(got) != len(user) {
		t.Errorf("%d user words, want %d", len(got), len(user))
	}
	lines(t, upstream.DICT_PATH, func(line string) {
		f := strings.Split(line, " ")
		if i := id(f[0]); d.Tag(i) != f[2] && !user[f[0]] {
			t.Errorf("%q has tag %q, want %q", f[0], d.Tag(i), f[2])
		}
	})
	sum, n := 0.0, 0
	lines(t, upstream.IDF_PATH, func(line string) {
		word, value, _ := strings.Cut(line, " ")
		want, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += want
		n++
		if got, ok := d.IDF(id(word)); !ok || got != want {
			t.Errorf("%q has idf %v, want %v", word, got, want)
		}
	})
	if d.MeanIDF() != sum/float64(n) {
		t.Errorf("mean idf %v, want %v", d.MeanIDF(), sum/float64(n))
	}
	stops := map[int32]bool{}
	lines(t, upstream.STOP_WORDS_PATH, func(line string) {
		runes := []rune(line)
		if len(runes) == 1 || len(runes) > 1 && !strings.ContainsAny(line, " \t，。") {
			stops[id(line)] = true
		}
	})
	idfs := 0
	for i := range seen {
		if !seen[i] {
			t.Errorf("%q is in none of the files", d.Word(int32(i)))
		}
		if d.IsStop(int32(i)) != stops[int32(i)] {
			t.Errorf("IsStop(%q) = %t", d.Word(int32(i)), !stops[int32(i)])
		}
		if _, ok := d.IDF(int32(i)); ok {
			idfs++
		}
	}
	if idfs != n {
		t.Errorf("%d words have an idf, want %d", idfs, n)
	}
}

// TestMeanIDF compares with the weight gojieba gives a word without idf.
func TestMeanIDF(t *testing.T) {
	if got := dictionary(t).MeanIDF(); got != 11.739204307083542 {
		t.Errorf("mean idf %v", got)
	}
}

func TestNoSuchWord(t *testing.T) {
	d := dictionary(t)
	for _, id := range []int32{-1, -1 << 31, int32(d.Len()), 1<<31 - 1} {
		if _, ok := d.IDF(id); ok || d.Word(id) != "" || d.Tag(id) != "" || d.IsStop(id) {
			t.Errorf("ID %d has properties", id)
		}
	}
	for _, word := range []string{"", "杭研", "\xff", "\x00", "中国\xff", "中\xe5", "\U0010ffff", "清华大学清华大学"} {
		if id, ok := d.Lookup([]byte(word)); ok || id != -1 {
			t.Errorf("Lookup(%q) = %d, %t", word, id, ok)
		}
	}
}

func TestWithUserWords(t *testing.T) {
	if testing.Short() {
		t.Skip("makes dictionaries; the example makes one")
	}
	d := dictionary(t)
	lookup := func(d *jieba.Dictionary, word string) int32 {
		id, _ := d.Lookup([]byte(word))
		return id
	}
	first, err := d.WithUserWords([]jieba.UserWord{{Text: "中国", Tag: "first"}, {Text: "深度求索", Tag: "nz"}, {Text: "深度求索", Tag: "nt", Weight: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if lookup(first, "中国") != lookup(d, "中国") || first.Tag(lookup(first, "中国")) != "first" {
		t.Error("中国 has another ID or tag")
	}
	if id := lookup(first, "深度求索"); first.Tag(id) != "nt" || int(id) != first.Len()-1 {
		t.Errorf("深度求索 has ID %d of %d and tag %q", id, first.Len(), first.Tag(id))
	}
	if _, ok := first.IDF(lookup(first, "深度求索")); ok {
		t.Error("a new word has an idf")
	}
	if lookup(first, "韩玉鉴赏") != -1 {
		t.Error("the sample user dictionary is still there")
	}
	// Another user dictionary takes the place of the first one.
	second, err := first.WithUserWords(d.UserWords())
	if err != nil {
		t.Fatal(err)
	}
	if second.Len() != d.Len() {
		t.Fatalf("%d words, want %d", second.Len(), d.Len())
	}
	for id := range int32(d.Len()) {
		other := lookup(second, d.Word(id))
		if isNew := int(id) >= d.Len()-4; other < 0 || other != id && !isNew || second.Tag(other) != d.Tag(id) {
			t.Fatalf("%q has ID %d and tag %q, want %d and %q", d.Word(id), other, second.Tag(other), id, d.Tag(id))
		}
	}
	for _, bad := range []jieba.UserWord{
		{}, {Text: "a b"}, {Text: "中，国"}, {Text: "中\n"}, {Text: "\xff"}, {Text: "a\x00"}, {Text: "中", Weight: -1},
		{Text: "中", Weight: 1 << 31}, {Text: strings.Repeat("中", jieba.MaxWordLength+1)},
	} {
		if _, err := d.WithUserWords([]jieba.UserWord{bad}); !errors.Is(err, jieba.ErrUserWord) {
			t.Errorf("%.30q %d: error %v", bad.Text, bad.Weight, err)
		}
	}
}

func TestParseUserWords(t *testing.T) {
	got, err := jieba.ParseUserWords(strings.NewReader("\ufeff云计算\r\n\n蓝翔 nz\n区块链 10 nz \n"))
	want := []jieba.UserWord{{Text: "云计算"}, {Text: "蓝翔", Tag: "nz"}, {Text: "区块链", Weight: 10, Tag: "nz"}}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("word %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	for text, line := range map[string]string{
		"a\nb c d e":                "line 2",
		"a 0 n":                     "line 1",
		"a -3 n":                    "line 1",
		"a many n":                  "line 1",
		"\n\na  n":                  "line 3",
		" a":                        "line 1",
		"中，国":                       "line 1",
		strings.Repeat("a", 2<<20):  "line 1",
		"a 99999999999999999999 n ": "line 1",
	} {
		if _, err := jieba.ParseUserWords(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("%.20q: error %v, want one about %s", text, err, line)
		}
	}
}

func FuzzParseUserWords(f *testing.F) {
	f.Add([]byte("云计算\n蓝翔 nz\n区块链 10 nz\n"))
	f.Add([]byte("\ufeffa\r\n b\x00 \xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		words, err := jieba.ParseUserWords(strings.NewReader(string(file)))
		if err != nil {
			return
		}
		// Written again, they read the same.
		var b strings.Builder
		b.WriteString("\ufeff")
		for _, w := range words {
			b.WriteString(w.Text)
			if w.Weight > 0 {
				b.WriteString(" " + strconv.Itoa(w.Weight))
			}
			if w.Tag != "" || w.Weight > 0 {
				b.WriteString(" " + w.Tag + " ")
			}
			b.WriteString("\r\n")
		}
		again, err := jieba.ParseUserWords(strings.NewReader(b.String()))
		if err != nil || len(again) != len(words) {
			t.Fatalf("%q: %v", b.String(), err)
		}
		for i := range words {
			if again[i] != words[i] {
				t.Fatalf("%+v became %+v", words[i], again[i])
			}
		}
	})
}
