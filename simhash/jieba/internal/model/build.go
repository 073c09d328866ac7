package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// word is a word of a model that is built.
type word struct {
	weight float64 // log weight, Listed for words of the idf and stop word lists
	tag    string
	idf    float64
	hasIDF bool
	stop   bool
}

// Build makes the model of a lexicon.
func Build(l *Lexicon) (*Model, error) {
	m := &Model{User: l.User, MeanIDF: l.MeanIDF, Start: l.HMM.Start, Trans: l.HMM.Trans}
	words := make(map[string]*word, len(l.Words))
	heat := map[rune]float64{} // by how often a character occurs in the dictionary's corpus
	get := func(text string, weight float64) *word {
		w := words[text]
		if w == nil {
			w = &word{weight: weight}
			words[text] = w
			for _, r := range text {
				heat[r] += 0
			}
		}
		return w
	}
	m.weigh(l.Words, func(e *Entry, weight float64) {
		w := get(e.Text, weight)
		w.weight, w.tag = weight, e.Tag
		for _, r := range e.Text {
			heat[r] += e.Freq
		}
	})
	for _, i := range l.IDF {
		if isWord(i.Text) {
			w := get(i.Text, Listed)
			w.idf, w.hasIDF = i.Value, true
		}
	}
	for _, text := range l.Stop {
		if isWord(text) {
			get(text, Listed).stop = true
		}
	}
	get("。", Listed) // which stands between runs of ideographs
	for _, u := range m.User {
		get(u.Text, NewWord)
	}
	for r := range l.HMM.Emit {
		heat[r] += 0
	}
	codes, err := m.code(heat)
	if err != nil {
		return nil, err
	}
	m.Emit = make([][States]float64, len(m.Runes))
	for c, r := range m.Runes {
		m.Emit[c] = NoEmission
		if e, ok := l.HMM.Emit[r]; ok {
			m.Emit[c] = e
		}
	}
	return m, m.pack(words, codes)
}

// isWord reports whether Cut can return text: a space, too, is a word by itself.
func isWord(text string) bool { return text == " " || CheckWord(text) == nil }

// weigh sets FreqSum, Median and Min, and calls each with the log weight of each
// word.
func (m *Model) weigh(entries []Entry, each func(e *Entry, weight float64)) {
	for i := range entries {
		m.FreqSum += entries[i].Freq
	}
	logs := map[float64]float64{}
	all := make([]float64, len(entries))
	for i := range entries {
		e := &entries[i]
		weight, ok := logs[e.Freq]
		if !ok {
			weight = LogRatio(e.Freq, m.FreqSum)
			logs[e.Freq] = weight
		}
		all[i] = weight
		each(e, weight)
	}
	slices.Sort(all)
	m.Min, m.Median = all[0], all[len(all)/2]
}

// code gives the characters their codes, the frequent ones first.
func (m *Model) code(heat map[rune]float64) (map[rune]uint16, error) {
	m.Runes = FixedRunes()
	for _, r := range m.Runes {
		delete(heat, r)
	}
	runes := slices.SortedFunc(maps.Keys(heat), func(a, b rune) int {
		return cmp.Or(cmp.Compare(heat[b], heat[a]), cmp.Compare(a, b))
	})
	m.Runes = append(m.Runes, runes...)
	if len(m.Runes) >= MaxCodes {
		return nil, fmt.Errorf("%d different characters, at most %d are possible", len(m.Runes), MaxCodes-1)
	}
	codes := make(map[rune]uint16, len(m.Runes))
	for c, r := range m.Runes {
		codes[r] = uint16(c)
	}
	return codes, nil
}

// pack sets the trie, and what goes by ID.
func (m *Model) pack(words map[string]*word, codes map[rune]uint16) error {
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

	tags, idfs := map[string]uint16{"": 0}, map[float64]uint32{}
	m.Tags = []string{""}
	m.Tag, m.IDF = make([]uint16, len(byID)), make([]uint32, len(byID))
	for id, w := range byID {
		if _, ok := tags[w.tag]; !ok {
			if len(m.Tags) > math.MaxUint16 {
				return fmt.Errorf("more than %d tags", math.MaxUint16)
			}
			tags[w.tag] = uint16(len(m.Tags))
			m.Tags = append(m.Tags, w.tag)
		}
		m.Tag[id] = tags[w.tag]
		if w.hasIDF {
			if _, ok := idfs[w.idf]; !ok {
				m.IDFs = append(m.IDFs, w.idf)
				idfs[w.idf] = uint32(len(m.IDFs))
			}
			m.IDF[id] = idfs[w.idf]
		}
		if w.stop {
			m.Stop = append(m.Stop, uint32(id))
		}
	}
	return nil
}

// logs returns the table of the distinct log weights and a function from log
// weight to index.
func (m *Model) logs() ([]float64, func(float64) uint32) {
	table := slices.DeleteFunc(slices.Clone(m.Weight), func(w float64) bool {
		return math.IsInf(w, -1) || math.IsNaN(w)
	})
	slices.Sort(table)
	table = slices.Insert(slices.Compact(table), 0, NewWord, Listed)
	return table, func(w float64) uint32 {
		// NaN sorts before -Inf, and that before all numbers.
		i, _ := slices.BinarySearch(table, w)
		return uint32(i)
	}
}

// renumber gives the words the IDs of the model, in place of those that Pack
// gave them, given their weights by the latter. It returns the new ID of each.
func (m *Model) renumber(weight []float64) []int32 {
	var weights, order []uint32
	m.Weight = weight
	logs, index := m.logs()
	for _, n := range m.Nodes {
		if v := n.Value(); v != 0 {
			order = append(order, v-1)
			weights = append(weights, index(weight[v-1]))
		}
	}
	number(m, weights, logs)
	ids := make([]int32, len(order))
	i := 0
	for _, n := range m.Nodes {
		if v := n.Value(); v != 0 {
			ids[order[i]] = int32(v - 1)
			i++
		}
	}
	return ids
}

// Lexicon returns the lexicon that the model was built from, but for the order
// of the words and those of the idf and stop word lists that Cut never returns.
// The frequencies are exact: they are whole numbers, which a correctly rounded
// logarithm gives back.
func (m *Model) Lexicon() *Lexicon {
	l := &Lexicon{User: m.User, MeanIDF: m.MeanIDF, HMM: HMM{Start: m.Start, Trans: m.Trans, Emit: map[rune][States]float64{}}}
	speller := NewSpeller(m.Nodes, len(m.Weight))
	check := func(slot uint32) uint16 { return m.Nodes[slot].Check() }
	stop := make([]bool, len(m.Weight))
	for _, id := range m.Stop {
		stop[id] = true
	}
	var codes []uint16
	var text strings.Builder
	for id := range speller.Len() {
		codes = speller.AppendCodes(codes[:0], int32(id), check)
		text.Reset()
		for _, c := range codes {
			text.WriteRune(m.Runes[c])
		}
		word := text.String()
		if w := m.Weight[id]; !math.IsNaN(w) && !math.IsInf(w, -1) {
			l.Words = append(l.Words, Entry{word, math.Round(math.Exp(w) * m.FreqSum), m.Tags[m.Tag[id]]})
		}
		if i := m.IDF[id]; i > 0 {
			l.IDF = append(l.IDF, IDF{word, m.IDFs[i-1]})
		}
		if stop[id] {
			l.Stop = append(l.Stop, word)
		}
	}
	for c, e := range m.Emit {
		if r := m.Runes[c]; r >= 0 && e != NoEmission {
			l.HMM.Emit[r] = e
		}
	}
	return l
}
