package simhash

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestReadStopWords(t *testing.T) {
	got, err := ReadStopWords(strings.NewReader("\ufeff的\r\n\n# articles\n  the \nof course\n"))
	if want := []string{"的", "the", "of course"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("words %q, %v, want %q", got, err, want)
	}
	if _, err := ReadStopWords(strings.NewReader("good\nbad\xff\n")); err == nil || !strings.Contains(err.Error(), "stop list: line 2: is not UTF-8") {
		t.Errorf("error %v, want line 2", err)
	}
	broken := errors.New("disk on fire")
	if _, err := ReadStopWords(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func FuzzReadStopWords(f *testing.F) {
	f.Add([]byte("的\nthe\n# no\n"))
	f.Fuzz(func(t *testing.T, list []byte) {
		words, err := ReadStopWords(bytes.NewReader(list))
		if err != nil {
			return
		}
		for _, w := range words {
			if w == "" || w != strings.TrimSpace(w) || !utf8.ValidString(w) || w[0] == '#' {
				t.Fatalf("word %q in %q", w, list)
			}
		}
		again, err := ReadStopWords(strings.NewReader(strings.Join(words, "\n")))
		if err != nil || !slices.Equal(again, words) && !bytes.HasPrefix([]byte(strings.Join(words, "")), []byte("\ufeff")) {
			t.Fatalf("words %q are read again as %q, %v", words, again, err)
		}
	})
}

func TestStopWordsAreLeftOut(t *testing.T) {
	text := []byte("今天的天氣很好，The weather isn’t bad。カナ 魑魅龘龘")
	texts := func(a *Analyzer) (words []string) {
		for _, f := range a.NewWorkspace().Features(nil, nil, text) {
			words = append(words, f.Text)
		}
		slices.Sort(words)
		return words
	}
	keep := func(o *Options) { o.Stop = StopNone }
	all := texts(newAnalyzer(t, keep))
	for _, stop := range []string{"天气", "天氣", "Weather", "ISN’T", "カナ", "的"} {
		got := texts(newAnalyzer(t, keep, Extra{StopWords: []string{stop}}))
		gone := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(got, w) })
		if want := normalForm([]byte(stop), folded()); len(gone) != 1 || gone[0] != want || len(got) != len(all)-1 {
			t.Errorf("stop word %q leaves %q out of %q, want %q", stop, gone, all, want)
		}
	}
	builtin := texts(newAnalyzer(t, nil))
	for _, w := range []string{"的", "很", "the", "isn't"} {
		if slices.Contains(builtin, w) || !slices.Contains(all, w) {
			t.Errorf("%q is in %q, or not in %q", w, builtin, all)
		}
	}
}

func TestTrainer(t *testing.T) {
	w := newAnalyzer(t, func(o *Options) { o.Stop = StopNone }).NewWorkspace()
	var odd, even, whole Trainer
	for i, text := range []string{"版权所有 a b", "版权所有 b c c", "版权所有 c d", "x y"} {
		features := w.Features(nil, nil, []byte(text))
		whole.Add(features)
		if i%2 == 1 {
			odd.Add(features)
		} else {
			even.Add(features)
		}
	}
	odd.Merge(&even)
	var merged Trainer
	merged.Merge(&odd)
	for _, trainer := range []*Trainer{&whole, &merged} {
		if trainer.Documents() != 4 {
			t.Errorf("%d documents, want 4", trainer.Documents())
		}
		want := []WordIDF{{"版权所有", math.Log(4. / 3)}, {"b", math.Log(2)}, {"c", math.Log(2)}}
		if got := trainer.IDF(2); !slices.Equal(got, want) {
			t.Errorf("idf %v, want %v", got, want)
		}
		if n := len(trainer.IDF(1)); n != 7 {
			t.Errorf("%d words have an idf, want 7", n)
		}
		for _, c := range []struct {
			share float64
			docs  int
			want  string
		}{
			{0.5, 1, "版权所有"},
			{0.4, 2, "版权所有 b c"},
			{0.4, 3, "版权所有"},
			{0.75, 1, ""},
			{0, 1, "版权所有 b c a d x y"},
		} {
			if got := strings.Join(trainer.StopWords(c.share, c.docs), " "); got != c.want {
				t.Errorf("share %v, %d documents: %q, want %q", c.share, c.docs, got, c.want)
			}
		}
	}
}
