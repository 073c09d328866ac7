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
type UserWord = model.UserWord

// maxWordLength is the number of characters of the longest possible word,
// cppjieba's MAX_WORD_LENGTH.
const maxWordLength = 512

// errUserWord is returned for a user word that no text could contain.
var errUserWord = errors.New("impossible user word")

func check(u UserWord) error {
	n := utf8.RuneCountInString(u.Text)
	switch {
	case n == 0:
		return fmt.Errorf("%w: it is empty", errUserWord)
	case !utf8.ValidString(u.Text) || strings.ContainsRune(u.Text, 0):
		return fmt.Errorf("%w %q: not valid UTF-8 without NUL", errUserWord, u.Text)
	case n > maxWordLength:
		return fmt.Errorf("%w %q…: longer than %d characters", errUserWord, string([]rune(u.Text)[:20]), maxWordLength)
	case strings.ContainsAny(u.Text, " \n") || n > 1 && strings.ContainsAny(u.Text, "\t，。"):
		return fmt.Errorf("%w %q: text is always cut at space, tab, newline, ， and 。", errUserWord, u.Text)
	case u.Weight < 0 || u.Weight > math.MaxInt32:
		return fmt.Errorf("%w %q: frequency %d is not between 0 and %d", errUserWord, u.Text, u.Weight, math.MaxInt32)
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
			err = check(u)
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
		if err := check(u); err != nil {
			return nil, fmt.Errorf("jieba: %w", err)
		}
	}
	n := plain(d.base, d.words)
	n.words = d.words
	keys := make([][]uint16, d.words, d.words+len(words))
	for id := range keys {
		keys[id] = appendCodes(nil, d.Word(int32(id)), d.code)
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
	n.spell()
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
