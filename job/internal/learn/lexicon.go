package learn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/jieba"
)

// LexiconOptions say what Dump.Lexicon takes for a stop word, and of which words
// it states the idf.
type LexiconOptions struct {
	MaxShare     float64 // a word of a larger share of the documents is a stop word,
	MinDocuments int     // if it occurs in so many
	IDFDocuments int     // words of so many documents have an idf, the others its mean
}

// Lexicon is what a dump says of its words: a lexicon's idf and stop words.
type Lexicon struct {
	Documents int
	IDF       []simhash.WordIDF // the most frequent first
	Trained   []string          // stop words of the dump, the most frequent first
	Known     []string          // stop words of the lexicon in use that are not among these

	features config.Features
}

// Lexicon trains idf and stop words from a dump, with the words of the
// configuration's own lexicon. What the configuration leaves out of a fingerprint
// (stop words, parts of speech, all but the top features) is counted all the same.
func (d Dump) Lexicon(ctx context.Context, o LexiconOptions) (_ *Lexicon, err error) {
	if err := d.Config.Check(); err != nil {
		return nil, err
	}
	f := d.Config.Features
	if f.Kind != simhash.KindWords {
		return nil, &config.SettingError{Name: "features.kind", Value: f.Kind, Remedy: "a lexicon is of words: write words"}
	}
	f.Stop, f.StopList, f.Tags, f.Top, f.IgnoreBelow, f.Weight = simhash.StopNone, "", nil, 0, 0, simhash.WeightTF
	analyzer, release, err := method.NewAnalyzer(f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()

	var all simhash.Trainer
	err = d.each(ctx, func(each documents) (merge func(), err error) {
		var one simhash.Trainer
		var features []simhash.Feature
		w := analyzer.NewWorkspace()
		err = each(func(doc *data.Document) error {
			features = w.Features(features[:0], doc.Title, doc.Text)
			one.Add(features)
			return nil
		})
		return func() { all.Merge(&one) }, err
	})
	if err != nil {
		return nil, err
	}
	l := &Lexicon{Documents: all.Documents(), IDF: all.IDF(o.IDFDocuments), Trained: all.StopWords(o.MaxShare, o.MinDocuments), features: f}
	if len(l.IDF) == 0 {
		return nil, fmt.Errorf("no word is in %d of the %d documents: train on more of them, or on fewer documents a word", o.IDFDocuments, l.Documents)
	}
	l.Known, err = knownStop(f, l.Trained)
	return l, err
}

// knownStop returns the stop words of the lexicon in use but for those.
func knownStop(f config.Features, but []string) (words []string, err error) {
	d, err := method.Dictionary(f)
	if err != nil {
		return nil, err
	}
	had := make(map[string]bool, len(but))
	for _, word := range but {
		had[word] = true
	}
	for id := range int32(d.Len()) {
		if word := d.Word(id); d.IsStop(id) && !had[word] {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return words, nil
}

// Write writes the lexicon into a folder that the setting features.lexicon
// takes: idf and stop words, and what else there is of the lexicon that it was
// trained with.
func (l *Lexicon) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, path := range l.features.LexiconFiles() {
		name := filepath.Base(path)
		if name == jieba.IDFFile || name == jieba.StopFile {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := data.WriteFileAtomic(filepath.Join(folder, name), content); err != nil {
			return err
		}
	}
	err := writeLines(filepath.Join(folder, jieba.IDFFile), func(out *bufio.Writer) {
		for _, w := range l.IDF {
			fmt.Fprintf(out, "%s %.9f\n", w.Word, w.IDF)
		}
	})
	if err != nil {
		return err
	}
	return writeLines(filepath.Join(folder, jieba.StopFile), func(out *bufio.Writer) {
		for _, words := range [][]string{l.Trained, l.Known} {
			for _, word := range words {
				fmt.Fprintln(out, word)
			}
		}
	})
}

// writeLines writes a file that appears when it is complete.
func writeLines(path string, write func(*bufio.Writer)) error {
	file, err := data.CreateAtomic(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(file)
	write(out)
	if err := out.Flush(); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Commit()
}
