package jieba

import (
	"fmt"
	"io"
	"slices"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// UserWord is a word of a user dictionary.
type UserWord = model.UserWord

// ParseUserWords reads a user dictionary in jieba's text form: a word a line,
// alone or followed by its tag, or by its frequency and its tag, separated by
// single spaces. Empty lines, a byte order mark and carriage returns before
// the end of a line are ignored. Lines that cppjieba would pass over in
// silence are errors.
func ParseUserWords(r io.Reader) ([]UserWord, error) {
	words, err := model.ParseUserWords(r)
	if err != nil {
		return nil, fmt.Errorf("jieba: user dictionary %w", err)
	}
	return words, nil
}

// UserWords returns the user dictionary of d.
func (d *Dictionary) UserWords() []UserWord { return slices.Clone(d.user) }

// WithUserWords returns a dictionary with another user dictionary: words takes
// the place of the user words d has, just as another file would in gojieba. Of
// a word given twice the second counts. The IDs of the words without a user
// dictionary are the same in both.
func (d *Dictionary) WithUserWords(words []UserWord) (*Dictionary, error) {
	for _, u := range words {
		if err := model.CheckUserWord(u); err != nil {
			return nil, fmt.Errorf("jieba: %w", err)
		}
	}
	n := plain(d.base, d.words)
	n.words, n.lexicon = d.words, d.lexicon
	keys := make([][]uint16, d.words, d.words+len(words))
	codes := make([]uint16, 0, 3*d.words) // of most words
	for id := range keys {
		from := len(codes)
		codes = d.speller.AppendCodes(codes, int32(id), d.check)
		keys[id] = codes[from:len(codes):len(codes)]
	}

	// The new ones, which may have new characters.
	runes := slices.Clone(d.runes)
	fresh := map[rune]uint16{}
	code := func(r rune) uint16 {
		if c := d.code(r); c != model.CodeUnknown {
			return c
		}
		if _, ok := fresh[r]; !ok {
			fresh[r] = uint16(len(runes))
			runes = append(runes, r)
		}
		return fresh[r]
	}
	ids := make(map[string]int32, len(words))
	var distinct []UserWord
	for _, u := range slices.Backward(words) {
		if _, ok := ids[u.Text]; !ok {
			ids[u.Text] = -1
			distinct = append(distinct, u)
		}
	}
	slices.Reverse(distinct)
	for _, u := range distinct {
		id, ok := d.Lookup([]byte(u.Text))
		if !ok || int(id) >= d.words {
			id = int32(len(keys))
			keys = append(keys, appendCodes(nil, u.Text, code))
			n.costs, n.tag, n.stop = append(n.costs, 0), append(n.tag, 0), append(n.stop, false)
			if len(runes) >= model.MaxCodes {
				return nil, fmt.Errorf("jieba: user dictionary: more than %d different characters", len(runes))
			}
		}
		ids[u.Text] = id
	}
	nodes, _, err := model.Pack(keys, len(runes))
	if err != nil {
		return nil, fmt.Errorf("jieba: user dictionary: %w", err)
	}
	n.nodes = nodes
	n.emit = slices.Concat(d.emit, slices.Repeat([][model.States]float64{model.NoEmission}, len(runes)-len(d.runes)))
	n.number(runes)
	n.speller = model.NewSpeller(n.nodes, len(n.costs)-1)
	for _, u := range distinct {
		if err := n.use(ids[u.Text], u); err != nil {
			return nil, err
		}
	}
	n.weigh()
	return n, nil
}

func appendCodes(dst []uint16, word string, code func(rune) uint16) []uint16 {
	for _, r := range word {
		dst = append(dst, code(r))
	}
	return dst
}
