// Package labels reads and writes what people say of pairs of documents:
// whether two are near-duplicates, who says so, when and why. A file of labels
// belongs to its user. The package refuses what it does not understand instead
// of guessing, and never decides what a label means for a measurement.
package labels

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Answer is what one reader says of a pair.
type Answer int8

// The answers. A row without one says that the reader has none (any more).
const (
	None Answer = iota
	No
	Unsure
	Yes
)

// String is the answer as files have it.
func (a Answer) String() string { return [...]string{"", "no", "unsure", "yes"}[a] }

// words are the ways to write an answer, in lower case.
var words = map[string]Answer{
	"": None, "yes": Yes, "y": Yes, "true": Yes, "t": Yes, "the same": Yes, "same": Yes, "duplicate": Yes, "near-duplicate": Yes, "near-duplicates": Yes, "dup": Yes,
	"是": Yes, "相同": Yes, "同": Yes, "重复": Yes, "一样": Yes, "对": Yes,
	"no": No, "n": No, "false": No, "f": No, "not the same": No, "not same": No, "different": No, "distinct": No, "not a duplicate": No, "not duplicate": No, "non-duplicate": No,
	"否": No, "不是": No, "不同": No, "不相同": No, "不重复": No, "不一样": No, "错": No,
	"unsure": Unsure, "?": Unsure, "？": Unsure, "not sure": Unsure, "maybe": Unsure, "unclear": Unsure, "unknown": Unsure, "不确定": Unsure, "不清楚": Unsure,
}

// ParseAnswer reads an answer: yes, no or unsure in words of English or
// Chinese, in any case, or 1 and 0. Nothing is None.
func ParseAnswer(text string) (Answer, error) {
	word := strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n_\u3000", r) }), " "))
	if a, ok := words[word]; ok {
		return a, nil
	}
	switch n, err := strconv.ParseFloat(word, 64); {
	case err == nil && n == 1:
		return Yes, nil
	case err == nil && n == 0 && !math.Signbit(n):
		return No, nil
	}
	return None, fmt.Errorf("verdict %q: write yes, no or unsure", shortened(text))
}

// shortened is text for an error.
func shortened(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Row is what a reader says of a pair.
type Row struct {
	A, B   string // ids
	Answer Answer
	Who    string    // empty: not said
	When   time.Time // zero: not said
	Why    string
	Kind   string // how the pair came about, where that is known

	said bool // by a column of the file, and not by its being there alone
}

// Pair is two documents with all that is said of them.
type Pair struct {
	A, B   string // as the first row has them
	Answer Answer // what most of those say who say yes or no; Unsure if as many say either, or none says one
	Kind   string
	Votes  []Row // the last of each reader, in the order of the readers' names
}

// Disagree reports whether one reader says yes and another says no.
func (p *Pair) Disagree() bool {
	says := func(a Answer) bool { return slices.ContainsFunc(p.Votes, func(r Row) bool { return r.Answer == a }) }
	return says(Yes) && says(No)
}

// Merge brings together what several rows say of a pair, whichever of its two
// documents they name first. Of several rows of one reader the one with the
// latest time counts; without times, the last. A pair whose readers all took
// back what they said is left out. The pairs are in the order in which they
// first appear.
func Merge(rows []Row) []Pair {
	type key struct{ a, b string }
	at := map[key]int{}
	var pairs []Pair
	for _, r := range rows {
		k := key{min(r.A, r.B), max(r.A, r.B)}
		i, had := at[k]
		if !had {
			i = len(pairs)
			at[k] = i
			pairs = append(pairs, Pair{A: r.A, B: r.B})
		}
		p := &pairs[i]
		p.Kind = cmp.Or(p.Kind, r.Kind)
		v := slices.IndexFunc(p.Votes, func(v Row) bool { return v.Who == r.Who })
		switch {
		case v < 0:
			p.Votes = append(p.Votes, r)
		case !r.When.Before(p.Votes[v].When) || r.When.IsZero():
			p.Votes[v] = r
		}
	}
	for i := range pairs {
		p := &pairs[i]
		p.Votes = slices.DeleteFunc(p.Votes, func(v Row) bool { return v.Answer == None })
		slices.SortFunc(p.Votes, func(a, b Row) int { return cmp.Compare(a.Who, b.Who) })
		balance := 0
		for _, v := range p.Votes {
			switch v.Answer {
			case Yes:
				balance++
			case No:
				balance--
			}
		}
		switch p.Answer = Unsure; {
		case balance > 0:
			p.Answer = Yes
		case balance < 0:
			p.Answer = No
		}
	}
	return slices.DeleteFunc(pairs, func(p Pair) bool { return len(p.Votes) == 0 })
}
