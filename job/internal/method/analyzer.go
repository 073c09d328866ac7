package method

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/jieba"
	"github.com/neardup/neardup/simhash/template"
)

// A Segmenter cuts texts into the words of a dictionary, as jieba.Cutter.Cut does.
type Segmenter interface {
	Cut(dst []jieba.Word, text []byte, hmm bool) []jieba.Word
	Close() error // gives its memory back
}

// newGojieba loads the segmenter gojieba, if the program has it.
var newGojieba = func(*jieba.Dictionary) (Segmenter, error) {
	return nil, &config.SettingError{
		Name: "features.segmenter", Value: config.SegmenterGojieba,
		Remedy: "this program lacks it: take builtin, which cuts alike, or import package job/gojieba",
	}
}

// LinkGojieba says how to load the segmenter gojieba. It is a package's init that calls
// it: so only the programs that import that package need a C++ compiler and are linked
// with it.
func LinkGojieba(load func(*jieba.Dictionary) (Segmenter, error)) { newGojieba = load }

// NewAnalyzer makes the analyzer that the configuration describes, with the
// dictionary and the stop words that it names. release gives its memory back
// once no workspace is in use.
func NewAnalyzer(f config.Features) (a *simhash.Analyzer, release func() error, err error) {
	release = func() error { return nil }
	var extra simhash.Extra
	if f.StopList != "" {
		if extra.StopWords, err = readFile(f.StopList, simhash.ReadStopWords); err != nil {
			return nil, nil, err
		}
	}
	if f.Kind == simhash.KindWords {
		dictionary, err := Dictionary(f)
		if err != nil {
			return nil, nil, err
		}
		extra.Dictionary = dictionary
		if f.Segmenter == config.SegmenterGojieba {
			reference, err := newGojieba(dictionary)
			if err != nil {
				return nil, nil, err
			}
			release = reference.Close
			extra.Cut = func(dst []jieba.Word, text []byte) []jieba.Word { return reference.Cut(dst, text, f.HMM) }
		}
	}
	a, err = simhash.NewWith(f.Options, extra)
	if wrong, ok := errors.AsType[*simhash.TagError](err); ok {
		err = &config.SettingError{Name: "features.tags", Value: strconv.Quote(wrong.Tag), Remedy: wrong.Remedy}
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return a, release, nil
}

// NewNormalizer is NewAnalyzer for the normal form of texts alone. It reads no
// dictionary, which takes a quarter of a second.
func NewNormalizer(f config.Features) (a *simhash.Analyzer, release func() error, err error) {
	o := simhash.DefaultOptions()
	o.Kind, o.Simplify = simhash.KindNGrams, f.Simplify
	a, err = simhash.New(o)
	return a, func() error { return nil }, err
}

// Dictionary makes the dictionary of the configuration's lexicon and user
// words.
func Dictionary(f config.Features) (*jieba.Dictionary, error) {
	var words []jieba.UserWord
	for _, path := range f.UserWords {
		more, err := readFile(path, jieba.ParseUserWords)
		if err != nil {
			return nil, err
		}
		words = append(words, more...)
	}
	if f.Lexicon != "" {
		lexicon, err := jieba.ReadLexicon(os.DirFS(f.Lexicon))
		if err != nil {
			return nil, &config.SettingError{Name: config.SettingLexicon, Value: f.Lexicon, Remedy: err.Error()}
		}
		return lexicon.Dictionary(words)
	}
	dictionary, err := jieba.Default()
	if err != nil || len(words) == 0 {
		return dictionary, err
	}
	return dictionary.WithUserWords(words)
}

// Templates reads the file of templates that the configuration names. It returns nil
// if that names none.
func Templates(f config.Features) (*template.Model, error) {
	if f.Templates == "" {
		return nil, nil
	}
	return readFile(f.Templates, func(r io.Reader) (*template.Model, error) {
		blob, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		m := new(template.Model)
		return m, m.UnmarshalBinary(blob)
	})
}

// readFile opens the file at path and parses it.
func readFile[T any](path string, parse func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if v, err = parse(f); err != nil {
		return v, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
