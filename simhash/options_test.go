package simhash

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/neardup/neardup/simhash/jieba"
)

func TestOptionsMistakes(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Bits = 48 }, "bits 48: write 32, 64 or 128"},
		{func(o *Options) { o.Kind = "shingles" }, `kind "shingles": write one of words, ngrams`},
		{func(o *Options) { o.Weight = "bm25" }, `weight "bm25": write one of tf, tfidf, sqrt-tfidf, unit, levels, tf-position`},
		{func(o *Options) { o.Stop = "" }, `stop "": write one of none, builtin`},
		{func(o *Options) { o.N = 17 }, "n 17: write a number from 1 to 16"},
		{func(o *Options) { o.TitleWeight = -1 }, "title_weight -1: write a number from 0 to 100"},
		{func(o *Options) { o.Top = -1 }, "top -1: write a number from 0"},
		{func(o *Options) { o.MinFeatures = -1 }, "min_features -1: write a number from 0"},
		{func(o *Options) { o.Tags = []string{"n", ""} }, "write parts of speech like n, v or nr"},
		{func(o *Options) { o.Kind, o.Weight = KindNGrams, WeightTFIDF }, "write tf or unit, or kind words"},
		{func(o *Options) { o.Kind, o.Weight = KindNGrams, WeightPosition }, "write tf or unit, or kind words"},
		{func(o *Options) { o.Kind, o.Exclude = KindNGrams, []string{ExcludeLatin} }, "write kind words, or leave it out"},
		{func(o *Options) { o.Exclude = []string{"punctuation"} }, "write some of latin, digits; punctuation is never part of a word"},
		{func(o *Options) { o.IgnoreBelow = -1 }, "ignore_below -1: write a number from 0"},
		{func(o *Options) { o.Kind, o.Top = KindNGrams, 20 }, "write kind words, or leave them out with kind ngrams"},
	} {
		o := DefaultOptions()
		c.change(&o)
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
		if a, err := New(o); err == nil || a != nil || !strings.HasPrefix(err.Error(), "simhash: ") {
			t.Errorf("New returns %v, %v for %+v", a, err, o)
		}
	}
	for _, o := range variety() {
		if err := o.Check(); err != nil {
			t.Error(err)
		}
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "write 32, 64 or 128") {
		t.Errorf("error %v of no options", err)
	}
	o := DefaultOptions()
	o.Kind = KindNGrams
	if _, err := NewWith(o, Extra{StopWords: []string{"the"}}); err == nil || !strings.Contains(err.Error(), "write kind words") {
		t.Errorf("error %v, want that n-grams take no stop words", err)
	}
}

func TestTags(t *testing.T) {
	for _, c := range []struct{ tag, want string }{
		{"名词", `tags "名词": no word of the dictionary is one: write n`},
		{"Verb", "write v"},
		{"foo", "write some of a, b, c, d"},
		{"N", "write some of"},
	} {
		o := DefaultOptions()
		o.Tags = []string{"v", c.tag}
		_, err := New(o)
		if wrong, ok := errors.AsType[*TagError](err); !ok || wrong.Tag != c.tag || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.tag, err, c.want)
		}
	}
	// All that the remedies name are there.
	d := defaultDictionary(t)
	for name, tag := range partsOfSpeech {
		if err := checkTags([]string{tag}, d.Tags()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A user dictionary's own tags are tags.
	if testing.Short() {
		return // to make one takes a second
	}
	own, err := d.WithUserWords([]jieba.UserWord{{Text: "近重复", Tag: "名词"}})
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Tags = []string{"名词"}
	if _, err := NewWith(o, Extra{Dictionary: own}); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreRead(t *testing.T) {
	for _, want := range variety() {
		text, err := yaml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := DefaultOptions()
		if err := yaml.Unmarshal(text, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("YAML %s is read as %+v, %v", text, got, err)
		}
		if text, err = json.Marshal(want); err != nil {
			t.Fatal(err)
		}
		got = DefaultOptions()
		if err := json.Unmarshal(text, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("JSON %s is read as %+v, %v", text, got, err)
		}
	}
}
