package simhash

import "github.com/neardup/neardup/simhash/jieba"

// Cutter cuts text into words that cover it without gap or overlap, and
// appends them to dst. The text is valid UTF-8: runs of ideographs, a newline
// after each. A newline is a word of its own, and nothing on one side of it
// has an effect on the other. One goroutine uses a Cutter at a time.
type Cutter interface {
	Cut(dst []jieba.Word, text []byte) []jieba.Word
}

// Lexicon is what a segmenter's dictionary knows of its words, by id from 0
// to Len() − 1. It is safe for concurrent use.
type Lexicon interface {
	Len() int
	Word(id int32) string
	IDF(id int32) (float64, bool) // false: it has none, and weighs MeanIDF
	MeanIDF() float64
	Tag(id int32) string // part of speech, such as n, v or nr
	IsStop(id int32) bool
}

// Segmenter cuts runs of ideographs into words.
type Segmenter struct {
	// Lexicon has the words' idf, part of speech and stop flags. An id that a
	// Cutter gives a word is the index of exactly that word.
	Lexicon Lexicon
	// NewCutter is called once for every workspace, concurrently.
	NewCutter func() Cutter
}

// Jieba returns the segmenter that cuts as jieba does, with that dictionary.
// With hmm it also finds words that no dictionary lists.
func Jieba(d *jieba.Dictionary, hmm bool) Segmenter {
	return Segmenter{Lexicon: d, NewCutter: func() Cutter { return d.NewCutter(hmm) }}
}
