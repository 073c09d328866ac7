//go:build cgo

package gojieba_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	upstream "github.com/yanyiwu/gojieba"
	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

func Example() {
	d, err := jieba.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := gojieba.New(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	text := []byte("他来到了网易杭研大厦")
	for _, w := range s.Cut(nil, text, true) {
		fmt.Printf("%s ", text[w.Start:w.End])
	}
	fmt.Println()
	// Output: 他 来到 了 网易 杭研 大厦
}

var shared = sync.OnceValues(func() (*gojieba.Segmenter, error) {
	d, err := jieba.Default()
	if err != nil {
		return nil, err
	}
	return gojieba.New(d)
})

func load(tb testing.TB) (*jieba.Dictionary, *gojieba.Segmenter) {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	d, err := jieba.Default()
	if err != nil {
		tb.Fatal(err)
	}
	return d, s
}

// bare is what gojieba itself makes of a text.
func bare(x *upstream.Jieba, d *jieba.Dictionary, text string, hmm bool) []jieba.Word {
	var words []jieba.Word
	start := int32(0)
	for _, w := range x.Cut(text, hmm) {
		id, _ := d.Lookup([]byte(w))
		words = append(words, jieba.Word{Start: start, End: start + int32(len(w)), ID: id})
		start += int32(len(w))
	}
	return words
}

// TestSameAsBare checks that valid text goes to gojieba as it is, its sample
// user dictionary included.
func TestSameAsBare(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the dictionary once more")
	}
	d, s := load(t)
	x := upstream.NewJieba()
	defer x.Free()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"蓝翔", "区块链", "韩玉鉴赏", "云计算", "他来到", "了", "网易杭研", "大厦", "，", " ", "iPhone", "15", "😀", "𠀀", "é"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		for _, hmm := range []bool{true, false} {
			if got, want := s.Cut(nil, []byte(text), hmm), bare(x, d, text, hmm); !slices.Equal(got, want) {
				t.Fatalf("hmm %t, %q: got %v, want %v", hmm, text, got, want)
			}
		}
	})
}

// TestTraps gives both segmenters what gojieba drops or cuts short.
func TestTraps(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the dictionary once more")
	}
	d, s := load(t)
	ours := d.NewCutter(true)
	for _, text := range []string{
		"", "\x00", "\xff", "中国\xff人民", "中国\x00人民", "\x00\x00中国", "中国\xe4\xb8", "\xed\xa0\x80中国\xf8", "\xc0\x80",
		"网易杭\x80研", strings.Repeat("\xff中", 100),
	} {
		if got, want := s.Cut(nil, []byte(text), true), ours.Cut(nil, []byte(text)); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
	if words := s.Cut(nil, []byte("中国\xff人民"), true); len(words) != 3 {
		t.Errorf("an invalid byte left %d words", len(words))
	}
}

func TestMissingDictionary(t *testing.T) {
	d, _ := load(t)
	path := upstream.HMM_PATH
	defer func() { upstream.HMM_PATH = path }()
	upstream.HMM_PATH = filepath.Join(t.TempDir(), "hmm_model.utf8")
	_, err := gojieba.New(d)
	if !errors.Is(err, gojieba.ErrUnavailable) || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), upstream.HMM_PATH) {
		t.Errorf("error %v", err)
	}
}

func TestTemporaryDirectory(t *testing.T) {
	d, _ := load(t)
	dir := filepath.Join(t.TempDir(), "a;b")
	t.Setenv("TMPDIR", dir)
	if _, err := gojieba.New(d); err == nil {
		t.Error("a temporary directory that does not exist was accepted")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := gojieba.New(d); err == nil {
		t.Error("a path that gojieba would split was accepted")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files left behind, error %v", len(left), err)
	}
}

func TestClose(t *testing.T) {
	if testing.Short() {
		t.Skip("loads the dictionary once more")
	}
	d, _ := load(t)
	s, err := gojieba.New(d)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 50 {
				if n := len(s.Cut(nil, []byte("来到北京"), true)); n != 2 && n != 0 {
					t.Errorf("%d words", n)
				}
			}
		})
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if words := s.Cut(nil, []byte("来到北京"), true); len(words) != 0 {
		t.Errorf("a closed segmenter found %v", words)
	}
	if err := s.Close(); !errors.Is(err, gojieba.ErrClosed) {
		t.Errorf("second Close: %v", err)
	}
}

func BenchmarkCut(b *testing.B) {
	_, s := load(b)
	text := []byte(strings.Repeat("小明硕士毕业于中国科学院计算所，后在日本京都大学深造。", 25))
	var words []jieba.Word
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		words = s.Cut(words[:0], text, true)
	}
}
