package model

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// build returns a small model of words, given as strings of the characters
// that follow the fixed ones, with their weights.
func build(tb interface{ Fatal(...any) }, words []string, weights []float64) *Model {
	m := &Model{
		Runes:   append(FixedRunes(), []rune("的一是不了在人有我他這")...),
		FreqSum: 1000, Median: -5, Min: -9, MeanIDF: 11.5,
		Tags: []string{"", "n"}, IDFs: []float64{3.25},
		Start: [States]float64{-1, Unseen, Unseen, -2},
		Trans: [States][States]float64{
			B: {Unseen, -1, -2, Unseen}, E: {-1, Unseen, Unseen, -2},
			M: {Unseen, -1, -2, Unseen}, S: {-1, Unseen, Unseen, -2},
		},
		User: []UserWord{{Text: "的一", Weight: 3, Tag: "nz"}},
	}
	m.Emit = slices.Repeat([][States]float64{NoEmission}, len(m.Runes))
	var keys [][]uint16
	for _, w := range words {
		var key []uint16
		for _, r := range w {
			key = append(key, uint16(slices.Index(m.Runes, r)))
		}
		keys = append(keys, key)
	}
	nodes, ends, err := Pack(keys, len(m.Runes))
	if err != nil {
		tb.Fatal(err)
	}
	for i, slot := range ends {
		if nodes[slot].Value() != uint32(i+1) {
			tb.Fatal("Pack: value of word", i, "is", nodes[slot].Value())
		}
	}
	m.Nodes = nodes
	m.renumber(slices.Clone(weights))
	for id := range m.Weight {
		m.Tag = append(m.Tag, uint16(id%2))
		m.IDF = append(m.IDF, uint32(id%2))
	}
	if len(words) > 0 {
		m.Stop = []uint32{uint32(len(words) - 1)}
	}
	return m
}

// spelled returns the words of a model with their weights.
func spelled(m *Model) map[string]float64 {
	words := map[string]float64{}
	speller := NewSpeller(m.Nodes, len(m.Weight))
	for id := range speller.Len() {
		var text []rune
		codes := speller.AppendCodes(nil, int32(id), func(slot uint32) uint16 { return m.Nodes[slot].Check() })
		for _, c := range codes {
			text = append(text, m.Runes[c])
		}
		words[string(text)] = m.Weight[id]
	}
	return words
}

// TestRoundTrip packs random words, writes and reads the model and finds every
// word with its weight again, and no other.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("的一是不了在人有我他這aZ9")), 1, 6, -1), 0, 60, rapid.ID[string]).Draw(t, "words")
		var weights []float64
		want := map[string]float64{}
		for _, w := range words {
			weight := rapid.SampledFrom([]float64{-1.5, -2, -3, -8.25, Listed, NewWord}).Draw(t, "weight")
			weights = append(weights, weight)
			want[w] = weight
		}
		m := build(t, words, weights)
		file, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		read, err := Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(read.Nodes, m.Nodes) || read.New != m.New || !slices.Equal(read.Runes, m.Runes) ||
			!slices.Equal(read.User, m.User) || !slices.Equal(read.Tags, m.Tags) || !slices.Equal(read.Stop, m.Stop) {
			t.Fatal("the model read differs from the one written")
		}
		got := spelled(read)
		if len(got) != len(want) {
			t.Fatalf("%d words, want %d", len(got), len(want))
		}
		for w, weight := range want {
			if g, ok := got[w]; !ok || g != weight && !(math.IsNaN(g) && math.IsNaN(weight)) {
				t.Fatalf("word %q has weight %v, want %v", w, g, weight)
			}
		}
		// IDs go by descending weight, new words last.
		for id := 1; id < len(read.Weight)-read.New; id++ {
			if read.Weight[id] > read.Weight[id-1] {
				t.Fatalf("word %d is heavier than the one before", id)
			}
		}
		for _, w := range read.Weight[len(read.Weight)-read.New:] {
			if !math.IsNaN(w) {
				t.Fatal("a listed word among the new ones")
			}
		}
	})
}

func TestPackLimits(t *testing.T) {
	if _, _, err := Pack([][]uint16{{1}}, MaxCodes); err == nil {
		t.Error("as many codes as noCheck were accepted")
	}
	nodes, _, err := Pack(nil, FirstCode)
	if err != nil || len(nodes) < FirstCode {
		t.Errorf("no words: %d slots, error %v", len(nodes), err)
	}
}

func TestDecodeHeader(t *testing.T) {
	file, err := encode(build(t, []string{"的一"}, []float64{-1}))
	if err != nil {
		t.Fatal(err)
	}
	newer := slices.Clone(file)
	binary.LittleEndian.PutUint32(newer[len(magic):], Version+1)
	long := slices.Clone(file)
	binary.LittleEndian.PutUint32(long[len(magic)+4:], math.MaxUint32)
	for name, file := range map[string][]byte{
		"empty": nil, "cut": file[:len(file)-1], "newer": newer, "long": long, "other": []byte("PAR1PAR1PAR1PAR1PAR1PAR1"),
	} {
		if _, err := Decode(file); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s file: error %v", name, err)
		}
	}
}

// TestLogRatio compares with values of Python's decimal module at 60 digits,
// rounded to float64, and with math.Log, which is off by one place at most.
func TestLogRatio(t *testing.T) {
	const sum = 60101983
	for freq, want := range map[float64]float64{
		1:      -0x1.1e95b902fa811p+4,
		2:      -0x1.137e97837d642p+4,
		3:      -0x1.0d01ce884d7e1p+4,
		10:     -0x1.f37cab171faddp+3,
		3245:   -0x1.3a742f69e3bedp+3,
		796991: -0x1.14ab4a4f5d329p+2,
		sum:    0,
	} {
		if got := LogRatio(freq, sum); got != want {
			t.Errorf("LogRatio(%v, %v) = %x, want %x", freq, sum, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		freq := float64(rapid.IntRange(1, math.MaxInt32).Draw(t, "freq"))
		got, near := LogRatio(freq, sum), math.Log(freq/sum)
		if math.Abs(got-near) > math.Abs(near)*0x1p-52 {
			t.Fatalf("LogRatio(%v, %v) = %x, math.Log %x", freq, sum, got, near)
		}
	})
}
