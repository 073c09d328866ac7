package model

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type word struct {
	text   string
	weight float64 // log weight, -Inf for words of the idf and stop word lists
	tag    string
	idf    float64
	hasIDF bool
	stop   bool
}

// derive builds the model from the dictionaries that gojieba ships: the directory
// with jieba.dict.utf8, user.dict.utf8, hmm_model.utf8, idf.utf8 and
// stop_words.utf8.
func derive(dir string) (*Model, error) {
	m := &Model{}
	words := map[string]*word{}
	get := func(text string) *word {
		w := words[text]
		if w == nil {
			w = &word{text: text, weight: math.Inf(-1)}
			words[text] = w
		}
		return w
	}

	freqs, err := readDict(filepath.Join(dir, "jieba.dict.utf8"))
	if err != nil {
		return nil, err
	}
	for _, e := range freqs {
		m.FreqSum += e.freq
	}
	logs := map[float64]float64{}
	var all []float64
	heat := map[rune]float64{} // by how often a character occurs in the dictionary's corpus
	for _, e := range freqs {
		if _, ok := logs[e.freq]; !ok {
			logs[e.freq] = LogRatio(e.freq, m.FreqSum)
		}
		all = append(all, logs[e.freq])
		w := get(e.text)
		w.weight, w.tag = logs[e.freq], e.tag
		for _, r := range e.text {
			heat[r] += e.freq
		}
	}
	slices.Sort(all)
	m.Min, m.Median = all[0], all[len(all)/2]

	if err := readIDF(filepath.Join(dir, "idf.utf8"), m, get); err != nil {
		return nil, err
	}
	if err := readStopWords(filepath.Join(dir, "stop_words.utf8"), get); err != nil {
		return nil, err
	}
	for _, w := range words {
		for _, r := range w.text {
			heat[r] += 0
		}
	}
	if err := readUserDict(filepath.Join(dir, "user.dict.utf8"), m); err != nil {
		return nil, err
	}
	for _, u := range m.User {
		if words[u.Text] == nil {
			get(u.Text).weight = NewWord
		}
		for _, r := range u.Text {
			heat[r] += 0
		}
	}
	emit, err := readHMM(filepath.Join(dir, "hmm_model.utf8"), m)
	if err != nil {
		return nil, err
	}
	for r := range emit {
		heat[r] += 0
	}

	codes := number(heat, m)
	m.Emit = make([][States]float64, len(m.Runes))
	for c, r := range m.Runes {
		m.Emit[c] = NoEmission
		if e, ok := emit[r]; ok {
			m.Emit[c] = e
		}
	}
	return m, pack(m, words, codes)
}

// number gives the characters their codes, the frequent ones first.
func number(heat map[rune]float64, m *Model) map[rune]uint16 {
	m.Runes = FixedRunes()
	for _, r := range m.Runes {
		delete(heat, r)
	}
	runes := slices.SortedFunc(maps.Keys(heat), func(a, b rune) int {
		return cmp.Or(cmp.Compare(heat[b], heat[a]), cmp.Compare(a, b))
	})
	m.Runes = append(m.Runes, runes...)
	codes := make(map[rune]uint16, len(m.Runes))
	for c, r := range m.Runes {
		codes[r] = uint16(c)
	}
	return codes
}

func pack(m *Model, words map[string]*word, codes map[rune]uint16) error {
	texts := slices.Sorted(maps.Keys(words))
	keys, weights := make([][]uint16, len(texts)), make([]float64, len(texts))
	for i, text := range texts {
		for _, r := range text {
			keys[i] = append(keys[i], codes[r])
		}
		weights[i] = words[text].weight
	}
	nodes, _, err := Pack(keys, len(m.Runes))
	if err != nil {
		return err
	}
	m.Nodes = nodes
	byID := make([]*word, len(texts))
	for i, id := range m.renumber(weights) {
		byID[id] = words[texts[i]]
	}

	tags, idfs := map[string]uint8{"": 0}, map[float64]uint16{}
	m.Tags = []string{""}
	m.Tag, m.IDF = make([]uint8, len(byID)), make([]uint16, len(byID))
	for id, w := range byID {
		if _, ok := tags[w.tag]; !ok {
			if len(m.Tags) > math.MaxUint8 {
				return fmt.Errorf("more than %d tags", math.MaxUint8)
			}
			tags[w.tag] = uint8(len(m.Tags))
			m.Tags = append(m.Tags, w.tag)
		}
		m.Tag[id] = tags[w.tag]
		if w.hasIDF {
			if _, ok := idfs[w.idf]; !ok {
				if len(m.IDFs) >= math.MaxUint16 {
					return fmt.Errorf("more than %d idf values", math.MaxUint16)
				}
				m.IDFs = append(m.IDFs, w.idf)
				idfs[w.idf] = uint16(len(m.IDFs))
			}
			m.IDF[id] = idfs[w.idf]
		}
		if w.stop {
			m.Stop = append(m.Stop, uint32(id))
		}
	}
	return nil
}

type entry struct {
	text string
	freq float64
	tag  string
}

// lines calls f for every line of a file, without its newline.
func lines(path string, f func(n int, line string) error) error {
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !utf8.Valid(file) {
		return fmt.Errorf("%s: not UTF-8", path)
	}
	s := bufio.NewScanner(bytes.NewReader(file))
	s.Buffer(nil, len(file)+1)
	for n := 1; s.Scan(); n++ {
		if err := f(n, s.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return s.Err()
}

func readDict(path string) ([]entry, error) {
	var entries []entry
	seen := map[string]bool{}
	err := lines(path, func(_ int, line string) error {
		f := strings.Split(line, " ")
		if len(f) != 3 || seen[f[0]] || !isWord(f[0]) {
			return fmt.Errorf("expected a new word, its frequency and its tag, found %q", line)
		}
		freq, err := strconv.ParseUint(f[1], 10, 32)
		if err != nil {
			return err
		}
		seen[f[0]] = true
		entries = append(entries, entry{f[0], float64(freq), f[2]})
		return nil
	})
	return entries, err
}

func readUserDict(path string, m *Model) error {
	return lines(path, func(_ int, line string) error {
		f := strings.Split(line, " ")
		u := UserWord{Text: f[0]}
		switch len(f) {
		case 1:
		case 2:
			u.Tag = f[1]
		case 3:
			freq, err := strconv.ParseUint(f[1], 10, 32)
			if err != nil {
				return err
			}
			u.Weight, u.Tag = int(freq), f[2]
		default:
			return fmt.Errorf("%d fields", len(f))
		}
		m.User = append(m.User, u)
		return nil
	})
}

// isWord reports whether Cut can return text: of the characters that separate,
// each is a word of its own.
func isWord(text string) bool {
	return text != "" && (utf8.RuneCountInString(text) == 1 || !strings.ContainsAny(text, " \t\n，。\x00"))
}

func readIDF(path string, m *Model, get func(string) *word) error {
	sum, n := 0.0, 0
	err := lines(path, func(_ int, line string) error {
		text, value, ok := strings.Cut(line, " ")
		idf, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			return fmt.Errorf("expected a word and its idf, found %q", line)
		}
		sum += idf
		n++
		if isWord(text) {
			w := get(text)
			w.idf, w.hasIDF = idf, true
		}
		return nil
	})
	m.MeanIDF = sum / float64(n)
	return err
}

func readStopWords(path string, get func(string) *word) error {
	return lines(path, func(_ int, line string) error {
		if isWord(line) {
			get(line).stop = true
		}
		return nil
	})
}

// readHMM returns the emissions by character; the rest goes into m.
func readHMM(path string, m *Model) (map[rune][States]float64, error) {
	emit := map[rune][States]float64{}
	row := 0
	numbers := func(dst []float64, line string) error {
		f := strings.Fields(line)
		if len(f) != len(dst) {
			return fmt.Errorf("%d numbers, expected %d", len(f), len(dst))
		}
		for i := range f {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return err
			}
			dst[i] = v
		}
		return nil
	}
	err := lines(path, func(_ int, line string) error {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			return nil
		}
		row++
		switch {
		case row == 1:
			return numbers(m.Start[:], line)
		case row <= 1+States:
			return numbers(m.Trans[row-2][:], line)
		case row > 1+2*States:
			return fmt.Errorf("line after the last emissions")
		}
		state := row - 2 - States
		for _, field := range strings.Split(line, ",") {
			char, value, ok := strings.Cut(field, ":")
			r, size := utf8.DecodeRuneInString(char)
			v, err := strconv.ParseFloat(value, 64)
			if !ok || err != nil || size != len(char) {
				return fmt.Errorf("expected character:value, found %q", field)
			}
			e, ok := emit[r]
			if !ok {
				e = NoEmission
			}
			e[state] = v
			emit[r] = e
		}
		return nil
	})
	if err == nil && row != 1+2*States {
		err = fmt.Errorf("%s: %d lines of values", path, row)
	}
	return emit, err
}
