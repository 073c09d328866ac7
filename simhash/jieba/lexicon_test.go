package jieba_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	upstream "github.com/yanyiwu/gojieba"

	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

// lexiconOf returns the dictionary of a lexicon.
func lexiconOf(tb testing.TB, lexicon fs.FS, more ...jieba.UserWord) *jieba.Dictionary {
	tb.Helper()
	l, err := jieba.ReadLexicon(lexicon)
	if err != nil {
		tb.Fatal(err)
	}
	d, err := l.Dictionary(more)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// ownDictionary is that of the whole of ownLexicon, which takes seconds to make.
func ownDictionary(tb testing.TB) *jieba.Dictionary {
	tb.Helper()
	theOwn.once.Do(func() { theOwn.d = lexiconOf(tb, ownLexicon(tb)) })
	return theOwn.d
}

var theOwn struct {
	once sync.Once
	d    *jieba.Dictionary
}

// ownLexicon makes a lexicon of gojieba's files that cuts differently: a third
// of the words is gone, the rest have other frequencies, words that no
// dictionary has are added, and all emissions are others.
func ownLexicon(tb testing.TB) fstest.MapFS {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Skipf("gojieba's dictionaries not found: %v", err)
		}
		return string(text)
	}
	var words, hmm, idf strings.Builder
	words.WriteString("\ufeff")
	for line := range strings.Lines(read(upstream.DICT_PATH)) {
		f := strings.Fields(line)
		if r.IntN(3) == 0 {
			continue
		}
		freq, err := strconv.Atoi(f[1])
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(&words, "%s %d %s\r\n", f[0], freq/(1+r.IntN(20))+1, f[2])
		if r.IntN(200) == 0 {
			fmt.Fprintf(&words, "%s的 %d zz\n", f[0], 1+r.IntN(1000))
		}
	}
	fmt.Fprintf(&words, "中国 1 n\n中国 3000 zz\n") // the later one counts
	for line := range strings.Lines(read(upstream.HMM_PATH)) {
		if !strings.Contains(line, ":-") {
			hmm.WriteString(line)
			continue
		}
		for i, field := range strings.Split(strings.TrimSpace(line), ",") {
			char, value, _ := strings.Cut(field, ":")
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				tb.Fatal(err)
			}
			if i > 0 {
				hmm.WriteString(",")
			}
			fmt.Fprintf(&hmm, "%s:%v", char, v*(0.7+0.6*r.Float64()))
		}
		hmm.WriteString("\n")
	}
	for i, line := range slices.Collect(strings.Lines(read(upstream.IDF_PATH))) {
		if i%2 == 0 {
			idf.WriteString(line)
		}
	}
	idf.WriteString("neardup 9.5\n")
	return fstest.MapFS{
		"jieba.dict.utf8": {Data: []byte(words.String())},
		"hmm_model.utf8":  {Data: []byte(hmm.String())},
		"user.dict.utf8":  {Data: []byte("近重复\n了一 nz\r\n的是 100 zz\n\n人\n")},
		"idf.utf8":        {Data: []byte(idf.String())},
		"stop_words.utf8": {Data: []byte("的\nthe\n")},
		"README.md":       {Data: []byte("ignored")},
	}
}

// TestLexiconIdentity compares the words of both segmenters, with lexicons of
// one's own, over 1,000 real documents; with NEARDUP_EXHAUSTIVE over 10,000.
func TestLexiconIdentity(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds models")
	}
	dir := shared(t)
	own := ownLexicon(t)
	for _, c := range []struct {
		name      string
		files     []string
		documents int
	}{
		{"all five", jieba.LexiconFiles(), 1000},
		{"words", []string{"jieba.dict.utf8"}, 100},
		{"hidden Markov model", []string{"hmm_model.utf8"}, 100},
		{"user words, idf and stop words", []string{"user.dict.utf8", "idf.utf8", "stop_words.utf8"}, 100},
	} {
		if testing.Short() && len(c.files) < len(jieba.LexiconFiles()) {
			continue // to read a lexicon takes longer than to cut by it
		}
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			var d *jieba.Dictionary
			if len(c.files) == len(jieba.LexiconFiles()) {
				d = ownDictionary(t)
			} else {
				some := fstest.MapFS{}
				for _, name := range c.files {
					some[name] = own[name]
				}
				d = lexiconOf(t, some)
			}
			s, err := gojieba.New(d)
			if errors.Is(err, gojieba.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			plain := dictionary(t)
			standard := &pair{d: plain, ours: plain.NewCutter(true)}
			ps := []*pair{{d: d, ours: d.NewCutter(true), theirs: s, hmm: true}, {d: d, ours: d.NewCutter(false), theirs: s}}
			full := os.Getenv(fullEnv) != ""
			documents, changed := c.documents, 0
			switch {
			case testing.Short():
				documents /= 4
			case os.Getenv("NEARDUP_EXHAUSTIVE") != "":
				documents *= 10
			}
			n := 0
			for _, file := range []string{"zh/blogs.jsonl.gz", "zh/laws.jsonl.gz"} {
				for text := range texts(t, dir, file, []string{"text"}) {
					if n == documents {
						break
					}
					n++
					if !full { // a piece, another one of each document
						from := min(n*7%2000, len(text)/2)
						text = bytes.ToValidUTF8(text[from:min(len(text), from+1000)], nil)
					}
					for _, p := range ps {
						if err := p.compare(text); err != nil {
							t.Fatalf("document %d: %v", n, err)
						}
					}
					standard.got = standard.ours.Cut(standard.got[:0], text)
					ps[0].got = ps[0].ours.Cut(ps[0].got[:0], text)
					if !slices.EqualFunc(standard.got, ps[0].got, func(a, b jieba.Word) bool { return a.Start == b.Start }) {
						changed++
					}
				}
			}
			if n < documents {
				t.Fatalf("%d documents, want %d", n, documents)
			}
			if c.name != "user words, idf and stop words" && changed < n/2 {
				t.Errorf("only %d of %d documents are cut otherwise than by jieba's own lexicon", changed, n)
			}
			for _, p := range ps {
				t.Logf("hmm %t: %d texts, %d bytes, %d words, 0 differences; %d are cut otherwise than by jieba's own", p.hmm, n, p.len, p.words, changed)
			}
		})
	}
}

func TestLexicon(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds models")
	}
	own := ownLexicon(t)
	d, plain := ownDictionary(t), dictionary(t)
	id := func(d *jieba.Dictionary, word string) int32 {
		id, ok := d.Lookup([]byte(word))
		if !ok {
			t.Fatalf("%s is not there", word)
		}
		return id
	}
	if tag := d.Tag(id(d, "中国")); tag != "zz" {
		t.Errorf("of 中国, which is there twice, the tag is %q", tag)
	}
	if v, ok := d.IDF(id(d, "neardup")); !ok || v != 9.5 {
		t.Errorf("idf %v, %t", v, ok)
	}
	if !d.IsStop(id(d, "的")) || !d.IsStop(id(d, "the")) || d.IsStop(id(d, "中国")) {
		t.Error("other stop words")
	}
	if got := d.UserWords(); len(got) != 4 || got[0].Text != "近重复" {
		t.Errorf("user words %v", got)
	}
	if !slices.Contains(d.Tags(), "zz") || slices.Contains(plain.Tags(), "zz") || slices.Contains(plain.Tags(), "") {
		t.Errorf("tags %v", d.Tags())
	}
	// A file of one's own takes the place of jieba's, and the rest are jieba's.
	more := jieba.UserWord{Text: "深度求索", Tag: "nz"}
	stop := lexiconOf(t, fstest.MapFS{"stop_words.utf8": {Data: []byte("中国\n")}}, more)
	if !stop.IsStop(id(stop, "中国")) || stop.IsStop(id(stop, "的")) {
		t.Error("other stop words")
	}
	for _, word := range []string{"的", "劳动防护", "中国"} {
		got, ok := stop.IDF(id(stop, word))
		want, wanted := plain.IDF(id(plain, word))
		if got != want || ok != wanted || stop.Tag(id(stop, word)) != plain.Tag(id(plain, word)) {
			t.Errorf("%s has idf %v and tag %q", word, got, stop.Tag(id(stop, word)))
		}
	}
	if stop.MeanIDF() != plain.MeanIDF() {
		t.Errorf("mean idf %v, want %v", stop.MeanIDF(), plain.MeanIDF())
	}
	// More user words are added to the lexicon's, and take the place of samples.
	few := fstest.MapFile{Data: []byte("来到 5 v\n很 1 d\n")}
	if got := lexiconOf(t, fstest.MapFS{"jieba.dict.utf8": &few, "user.dict.utf8": own["user.dict.utf8"]}, more).UserWords(); len(got) != 5 || got[4] != more {
		t.Errorf("user words %v", got)
	}
	if got := stop.UserWords(); len(got) != 1 || got[0] != more {
		t.Errorf("user words %v", got)
	}
	// A dictionary of a few words cuts, too.
	small := lexiconOf(t, fstest.MapFS{"jieba.dict.utf8": &few})
	text := "他来到北京"
	var got []string
	for _, w := range small.NewCutter(false).Cut(nil, []byte(text)) {
		got = append(got, text[w.Start:w.End])
	}
	if want := []string{"他", "来到", "北", "京"}; !slices.Equal(got, want) {
		t.Errorf("cut as %q, want %q", got, want)
	}
}

func TestLexiconErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds models")
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "it has none of jieba.dict.utf8"},
		{map[string]string{"README.md": "x"}, "name a folder that has at least one"},
		{map[string]string{"idf.utf8": "的 1\n", "stopwords.utf8": "的\n"}, "stopwords.utf8 is none of a lexicon's files"},
		{map[string]string{"idf.utf8": "的 1\n中国\n"}, "idf.utf8: line 2: "},
		{map[string]string{"jieba.dict.utf8": "的 1 uj\n中国 many ns\n"}, "jieba.dict.utf8: line 2: frequency"},
		{map[string]string{"stop_words.utf8": "的\n\xff\n"}, "stop_words.utf8: line 2: not UTF-8"},
		{map[string]string{"user.dict.utf8": "a b c d\n"}, "user.dict.utf8: line 1: "},
	} {
		files := fstest.MapFS{}
		for name, content := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(content)}
		}
		if _, err := jieba.ReadLexicon(files); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %s", c.files, err, c.want)
		}
	}
	if _, err := jieba.ReadLexicon(os.DirFS(filepath.Join(t.TempDir(), "gone"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// FuzzReadLexicon reads any two files: it never panics, and what it takes is
// written so that it reads the same again.
func FuzzReadLexicon(f *testing.F) {
	if testing.Short() {
		f.Skip("it builds models")
	}
	f.Add([]byte("的 9 uj\n中国 5 ns\n"), []byte("-0.5 -3.14e+100 -3.14e+100 -1\n-3.14e+100 -1 -1 -3.14e+100\n-1 -3.14e+100 -3.14e+100 -1\n-3.14e+100 -1 -1 -3.14e+100\n-1 -3.14e+100 -3.14e+100 -1\n中:-1\n国:-1\n中:-2\n的:-1\n"))
	f.Add([]byte("\ufeffa 1 \r\nb 2 x\n"), []byte("#\n"))
	f.Fuzz(func(t *testing.T, words, hmm []byte) {
		l, err := jieba.ReadLexicon(fstest.MapFS{
			"jieba.dict.utf8": {Data: words}, "hmm_model.utf8": {Data: hmm},
			"idf.utf8": {Data: []byte("的 1\n")}, "stop_words.utf8": {Data: []byte("的\n")},
		})
		if err != nil {
			return
		}
		d, err := l.Dictionary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var files [2]bytes.Buffer
		if own, err := d.WriteLexicon(&files[0], &files[1]); !own || err != nil {
			t.Fatal(own, err)
		}
		again := lexiconOf(t, fstest.MapFS{"jieba.dict.utf8": {Data: files[0].Bytes()}, "hmm_model.utf8": {Data: files[1].Bytes()}})
		text := append(slices.Clone(words), "的中国中的一"...)
		got, want := again.NewCutter(true).Cut(nil, text), d.NewCutter(true).Cut(nil, text)
		if !slices.EqualFunc(got, want, func(a, b jieba.Word) bool { return a.Start == b.Start }) {
			t.Fatalf("cut as %v, before as %v", got, want)
		}
	})
}
