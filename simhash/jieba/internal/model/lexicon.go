package model

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The files of a lexicon, by the names that jieba gives them.
const (
	WordsFile = "jieba.dict.utf8"
	HMMFile   = "hmm_model.utf8"
	UserFile  = "user.dict.utf8"
	IDFFile   = "idf.utf8"
	StopFile  = "stop_words.utf8"
)

// Files lists the files of a lexicon.
func Files() []string { return []string{WordsFile, HMMFile, UserFile, IDFFile, StopFile} }

// Lexicon is what jieba's five files say, and what Build makes a Model of.
type Lexicon struct {
	Words   []Entry
	HMM     HMM
	User    []UserWord
	IDF     []IDF
	MeanIDF float64  // of all lines of the idf file
	Stop    []string // stop words, of any script
}

// Entry is a word of the dictionary with its frequency, a whole number from 1,
// and its part of speech. Of a word that comes twice the later one counts.
type Entry struct {
	Text string
	Freq float64
	Tag  string
}

// IDF is the inverse document frequency of a word.
type IDF struct {
	Text  string
	Value float64
}

// HMM is the hidden Markov model for the words that no dictionary has: natural
// logarithms of probabilities.
type HMM struct {
	Start [States]float64
	Trans [States][States]float64
	Emit  map[rune][States]float64
}

// UserWord is a word of a user dictionary.
type UserWord struct {
	Text   string
	Weight int    // its frequency; 0 for the median weight of the dictionary
	Tag    string // part of speech, may be empty
}

// MaxWordLength is the number of characters of the longest possible word,
// cppjieba's MAX_WORD_LENGTH.
const MaxWordLength = 512

// ErrWord is returned for a word that no text could contain.
var ErrWord = errors.New("impossible word")

// CheckWord returns an error for a word that Cut could never return.
func CheckWord(text string) error {
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0:
		return fmt.Errorf("%w: it is empty", ErrWord)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return fmt.Errorf("%w %q: not valid UTF-8 without NUL", ErrWord, text)
	case n > MaxWordLength:
		return fmt.Errorf("%w %q…: longer than %d characters", ErrWord, string([]rune(text)[:20]), MaxWordLength)
	case strings.ContainsAny(text, " \n") || n > 1 && strings.ContainsAny(text, "\t，。"):
		return fmt.Errorf("%w %q: text is always cut at space, tab, newline, ， and 。", ErrWord, text)
	}
	return nil
}

// CheckUserWord is CheckWord with the word's frequency.
func CheckUserWord(u UserWord) error {
	if err := CheckWord(u.Text); err != nil {
		return err
	}
	if u.Weight < 0 || u.Weight > math.MaxInt32 {
		return fmt.Errorf("%w %q: frequency %d is not between 0 and %d", ErrWord, u.Text, u.Weight, math.MaxInt32)
	}
	return nil
}

// eachLine calls f for every line of a text without its end, a byte order mark
// left out. Errors say which line it is.
func eachLine(r io.Reader, f func(line string) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	n := 0
	for s.Scan() {
		n++
		line := s.Text()
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		err := error(nil)
		if !utf8.ValidString(line) {
			err = errors.New("not UTF-8: save the file as UTF-8")
		} else {
			err = f(line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", n, err)
	}
	return nil
}

// maxLine is the most bytes of a line: jieba's emissions are lines of 100 KB.
const maxLine = 64 << 20

// Parse reads one file of a lexicon, by its name, into l, in the place of what l
// has of it. Empty lines are ignored, but for those errors say the line and what
// to write: what cppjieba would pass over in silence, or end the process for, is
// an error.
func (l *Lexicon) Parse(name string, content []byte) error {
	r := bytes.NewReader(content)
	switch name {
	case WordsFile:
		return l.parseWords(r)
	case HMMFile:
		return l.parseHMM(r)
	case UserFile:
		words, err := ParseUserWords(r)
		l.User = words
		return err
	case IDFFile:
		return l.parseIDF(r)
	case StopFile:
		l.Stop = nil
		return eachLine(r, func(line string) error {
			if line != "" {
				l.Stop = append(l.Stop, line)
			}
			return nil
		})
	}
	return fmt.Errorf("no file of a lexicon has this name: %s", strings.Join(Files(), ", "))
}

func (l *Lexicon) parseWords(r io.Reader) error {
	l.Words = nil
	err := eachLine(r, func(line string) error {
		if line == "" {
			return nil
		}
		f := strings.Split(line, " ")
		if len(f) != 3 {
			return fmt.Errorf("%.80q has %d fields: write a word, its frequency and its tag, like 中国 5234 ns", line, len(f))
		}
		freq, err := strconv.ParseUint(f[1], 10, 32)
		if err != nil || freq == 0 {
			return fmt.Errorf("frequency %q: write a whole number from 1 to %d", f[1], uint32(math.MaxUint32))
		}
		l.Words = append(l.Words, Entry{f[0], float64(freq), f[2]})
		return CheckWord(f[0])
	})
	if err == nil && len(l.Words) == 0 {
		err = errors.New("it has no word: write at least one, or leave the file out for jieba's own")
	}
	return err
}

// ParseUserWords reads a user dictionary: a word a line, alone or followed by
// its tag, or by its frequency and its tag, separated by single spaces.
func ParseUserWords(r io.Reader) (words []UserWord, err error) {
	err = eachLine(r, func(line string) error {
		if line == "" {
			return nil
		}
		u, err := parseUserWord(line)
		if err == nil {
			err = CheckUserWord(u)
		}
		words = append(words, u)
		return err
	})
	if err != nil {
		return nil, err
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

func (l *Lexicon) parseIDF(r io.Reader) error {
	l.IDF = nil
	sum := 0.0
	err := eachLine(r, func(line string) error {
		if line == "" {
			return nil
		}
		text, number, _ := strings.Cut(line, " ")
		idf, err := strconv.ParseFloat(number, 64)
		if err != nil || text == "" || !(idf >= 0 && idf <= maxIDF) {
			return fmt.Errorf("%.80q: write a word and its idf, a number from 0 to %v, like 劳动防护 13.9", line, maxIDF)
		}
		sum += idf
		l.IDF = append(l.IDF, IDF{text, idf})
		return nil
	})
	if err == nil && len(l.IDF) == 0 {
		err = errors.New("it has no idf: write at least one, or leave the file out for jieba's own")
	}
	l.MeanIDF = sum / float64(len(l.IDF))
	return err
}

// maxIDF is far above the logarithm of any number of documents.
const maxIDF = 1000.0

// parseHMM reads 9 lines: the start, the 4 × 4 transitions, and for each state
// the emissions as character:value with commas between them.
func (l *Lexicon) parseHMM(r io.Reader) error {
	m := HMM{Emit: map[rune][States]float64{}}
	row := 0
	err := eachLine(r, func(line string) error {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			return nil
		}
		row++
		switch {
		case row == 1:
			return logs(m.Start[:], line)
		case row <= 1+States:
			if err := logs(m.Trans[row-2][:], line); err != nil {
				return err
			}
			return checkTransitions(row-2, &m.Trans[row-2])
		case row > 1+2*States:
			return fmt.Errorf("a line after those of the model: write %d, of the start, %d transitions and %d emissions", 1+2*States, States, States)
		}
		return m.emissions(row-2-States, line)
	})
	if err == nil && row != 1+2*States {
		err = fmt.Errorf("%d lines of values: write %d, of the start, %d transitions and %d emissions", row, 1+2*States, States, States)
	}
	l.HMM = m
	return err
}

// emissions reads the line of one state.
func (m *HMM) emissions(state int, line string) error {
	for field := range strings.SplitSeq(line, ",") {
		char, value, _ := strings.Cut(field, ":")
		r, size := utf8.DecodeRuneInString(char)
		v, ok := logOf(value)
		if !ok || size == 0 || size != len(char) {
			return fmt.Errorf("%.80q: write a character and the logarithm of its probability, like 中:-5.2", field)
		}
		e, seen := m.Emit[r]
		if !seen {
			e = NoEmission
		}
		e[state] = v
		m.Emit[r] = e
	}
	return nil
}

func logs(dst []float64, line string) error {
	f := strings.Fields(line)
	for i := range dst {
		v, ok := 0.0, len(f) == len(dst)
		if ok {
			v, ok = logOf(f[i])
		}
		if !ok {
			return fmt.Errorf("%.80q: write %d logarithms of probabilities, at most 0, with spaces between them", line, len(dst))
		}
		dst[i] = v
	}
	return nil
}

// logOf reads the logarithm of a probability; whatever is below Unseen is that.
func logOf(text string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	return max(v, Unseen), err == nil && v <= 0
}

// checkTransitions refuses a model in which B or M is followed by anything but M
// or E, or E or S by anything but B or S: a word is S, or goes from B over M to
// E, and the search for the best way relies on it.
func checkTransitions(from int, to *[States]float64) error {
	for state, p := range to {
		if inside := from == B || from == M; inside != (state == E || state == M) && p > Unseen {
			return fmt.Errorf("%c is followed by %c: write %v there: a word is S, or goes from B over M to E", "BEMS"[from], "BEMS"[state], Unseen)
		}
	}
	return nil
}
