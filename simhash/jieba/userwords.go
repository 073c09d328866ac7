package jieba

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// UserWord is a word of a user dictionary.
type UserWord struct {
	Text   string
	Weight int    // its frequency; 0 for the median weight of jieba's dictionary
	Tag    string // part of speech, may be empty
}

// MaxWordLength is the number of characters of the longest possible word.
const MaxWordLength = 512

// ErrUserWord is returned for a user word that no text could contain.
var ErrUserWord = errors.New("impossible user word")

func (u UserWord) check() error {
	n := utf8.RuneCountInString(u.Text)
	switch {
	case n == 0:
		return fmt.Errorf("%w: it is empty", ErrUserWord)
	case !utf8.ValidString(u.Text) || strings.ContainsRune(u.Text, 0):
		return fmt.Errorf("%w %q: not valid UTF-8 without NUL", ErrUserWord, u.Text)
	case n > MaxWordLength:
		return fmt.Errorf("%w %q…: longer than %d characters", ErrUserWord, string([]rune(u.Text)[:20]), MaxWordLength)
	case strings.ContainsAny(u.Text, " \n") || n > 1 && strings.ContainsAny(u.Text, "\t，。"):
		return fmt.Errorf("%w %q: text is always cut at space, tab, newline, ， and 。", ErrUserWord, u.Text)
	case u.Weight < 0 || u.Weight > math.MaxInt32:
		return fmt.Errorf("%w %q: frequency %d is not between 0 and %d", ErrUserWord, u.Text, u.Weight, math.MaxInt32)
	}
	return nil
}

// ParseUserWords reads a user dictionary in jieba's text form: a word a line,
// alone or followed by its tag, or by its frequency and its tag, separated by
// single spaces. Empty lines, a byte order mark and carriage returns before
// the end of a line are ignored. Lines that cppjieba would pass over in
// silence are errors.
func ParseUserWords(r io.Reader) ([]UserWord, error) {
	var words []UserWord
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	n := 0
	for s.Scan() {
		n++
		line := s.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if line == "" {
			continue
		}
		u, err := parseUserWord(line)
		if err == nil {
			err = u.check()
		}
		if err != nil {
			return nil, fmt.Errorf("jieba: user dictionary line %d: %w", n, err)
		}
		words = append(words, u)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("jieba: user dictionary after line %d: %w", n, err)
	}
	return words, nil
}

func parseUserWord(line string) (UserWord, error) {
	f := strings.Split(strings.TrimSuffix(line, " "), " ")
	u := UserWord{Text: f[0]}
	switch len(f) {
	case 1:
	case 2:
		u.Tag = f[1]
	case 3:
		freq, err := strconv.Atoi(f[1])
		if err != nil || freq <= 0 {
			return u, fmt.Errorf("frequency %q is not a positive number", f[1])
		}
		u.Weight, u.Tag = freq, f[2]
	default:
		return u, fmt.Errorf("%d fields; write the word, its frequency and its tag", len(f))
	}
	return u, nil
}

// UserWords returns the user dictionary of d.
func (d *Dictionary) UserWords() []UserWord { return slices.Clone(d.user) }

// WithUserWords returns a dictionary with another user dictionary: words takes
// the place of the user words d has, just as another file would in gojieba. Of
// a word given twice the second counts. The IDs of the words without a user
// dictionary are the same in both.
func (d *Dictionary) WithUserWords(words []UserWord) (*Dictionary, error) {
	for _, u := range words {
		if err := u.check(); err != nil {
			return nil, fmt.Errorf("jieba: %w", err)
		}
	}
	n := &Dictionary{
		start: d.start, trans: d.trans,
		idfs: d.idfs, idf: d.idf[:d.words:d.words], meanIDF: d.meanIDF,
		stop:    slices.Clone(d.stop[:d.words]),
		tags:    slices.Clone(d.tags),
		tag:     slices.Clone(d.tag[:d.words]),
		freqSum: d.freqSum, median: d.median,
		words: d.words, user: slices.Clone(words),
	}
	// The words without a user dictionary, as they stand there.
	log := make([]float64, d.words, d.words+len(words))
	for slot, id := range d.ids {
		if id >= 0 && int(id) < d.words {
			log[id] = d.weights[d.nodes[slot].Weight()]
		}
	}
	for _, c := range d.covered {
		log[c.id], n.tag[c.id] = d.weights[c.weight], c.tag
	}
	standing := slices.Clone(log)

	runes := slices.Clone(d.runes)
	fresh := map[rune]uint16{} // characters d has no code for
	code := func(r rune) uint16 {
		c := d.code(r)
		if c == model.CodeUnknown {
			if c = fresh[r]; c == model.CodeUnknown {
				c = uint16(len(runes))
				fresh[r] = c
				runes = append(runes, r)
			}
		}
		return c
	}
	entries := make([]model.Entry, d.words, d.words+len(words))
	for id := range entries {
		entries[id].Key = appendCodes(nil, d.Word(int32(id)), d.code)
	}
	var covers []covered
	tags := map[string]uint16{}
	for t, tag := range n.tags {
		tags[tag] = uint16(t)
	}
	added := map[string]int32{}
	for _, u := range words {
		id, ok := added[u.Text]
		if !ok {
			id, ok = d.Lookup([]byte(u.Text))
			if ok = ok && int(id) < d.words; ok {
				covers = append(covers, covered{id: id, tag: n.tag[id]})
			} else {
				id = int32(len(entries))
				entries = append(entries, model.Entry{Key: appendCodes(nil, u.Text, code)})
				log, n.tag, n.stop = append(log, 0), append(n.tag, 0), append(n.stop, false)
			}
			added[u.Text] = id
		}
		log[id] = n.median
		if u.Weight > 0 {
			log[id] = model.LogRatio(float64(u.Weight), n.freqSum)
		}
		tag, ok := tags[u.Tag]
		if !ok {
			if len(n.tags) > math.MaxUint16 {
				return nil, fmt.Errorf("jieba: more than %d tags", math.MaxUint16)
			}
			tag = uint16(len(n.tags))
			tags[u.Tag] = tag
			n.tags = append(n.tags, u.Tag)
		}
		n.tag[id] = tag
		if len(runes) >= model.MaxCodes {
			break // Pack says so
		}
	}

	weights, index := model.WeightTable(slices.Concat(log, standing))
	n.weights = weights
	for id := range entries {
		entries[id].Weight = index(log[id])
	}
	for i := range covers {
		covers[i].weight = index(standing[covers[i].id])
	}
	nodes, slots, err := model.Pack(entries, len(runes))
	if err != nil {
		return nil, fmt.Errorf("jieba: user dictionary: %w", err)
	}
	n.nodes, n.covered = nodes, covers
	n.emit = slices.Concat(d.emit, slices.Repeat([][model.States]float64{model.NoEmission}, len(runes)-len(d.runes)))
	n.number(runes)
	n.spell(slots)
	n.index(slots)
	for _, u := range words {
		n.isolate(u.Text)
	}
	return n, nil
}

func appendCodes(dst []uint16, word string, code func(rune) uint16) []uint16 {
	for _, r := range word {
		dst = append(dst, code(r))
	}
	return dst
}
