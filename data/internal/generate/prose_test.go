package generate

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

// subject is a field that pages are written about: its words and its own
// sentences. Chinese words are separated by spaces, English ones by "|".
type subject struct {
	name      string
	things    string
	people    string
	places    string
	acts      string
	ideas     string
	qualities string
	sentences string
}

func words(s string) []string { return strings.Fields(s) }
func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
func letters(s string) []string {
	return strings.Split(s, "")
}

// writer writes the pages of one language.
type writer struct {
	rand      *rand.Rand
	chinese   bool
	sentences *deck // those of every subject
	slots     map[string]func() string
	cast      map[string]string // names that stay the same through a page
}

// deck deals all its cards, in random order, before it deals one again.
type deck struct {
	rand  *rand.Rand
	cards []string
	next  int
}

func newDeck(r *rand.Rand, cards []string) *deck {
	d := &deck{rand: r, cards: append([]string(nil), cards...)}
	d.shuffle()
	return d
}

func (d *deck) shuffle() {
	d.rand.Shuffle(len(d.cards), func(i, j int) { d.cards[i], d.cards[j] = d.cards[j], d.cards[i] })
	d.next = 0
}

func (d *deck) deal() string {
	if d.next == len(d.cards) {
		d.shuffle()
	}
	d.next++
	return d.cards[d.next-1]
}

// some returns a deck of n of the words.
func some(r *rand.Rand, all []string, n int) func() string {
	d := newDeck(r, all)
	d.cards = d.cards[:min(n, len(d.cards))]
	return d.deal
}

func pick(r *rand.Rand, all []string) string { return all[r.IntN(len(all))] }

func newWriter(r *rand.Rand, chinese bool) *writer {
	w := &writer{rand: r, chinese: chinese}
	number := func() string { return strconv.Itoa(2 + r.IntN(97)) }
	year := func() string { return strconv.Itoa(1900 + r.IntN(125)) }
	if chinese {
		w.sentences = newDeck(r, lines(chineseSentences))
		name := func() string { return pick(r, chineseFamily) + pick(r, chineseGiven) }
		w.cast = map[string]string{
			"名": name(), "友": name(),
			"地": pick(r, chineseTownA) + pick(r, chineseTownB) + pick(r, chineseTownC),
		}
		w.slots = map[string]func() string{
			"时": some(r, chineseTimes, 6), "副": some(r, chineseManners, 6), "情": some(r, chineseMoods, 4),
			"量": some(r, chineseMeasure, 4), "数": number, "年": func() string { return year() + "年" },
		}
	} else {
		w.sentences = newDeck(r, lines(englishSentences))
		w.cast = map[string]string{
			"name": pick(r, englishFirst) + " " + pick(r, englishLast), "friend": pick(r, englishFirst),
			"town": pick(r, englishTownA) + pick(r, englishTownB),
		}
		w.slots = map[string]func() string{
			"time": some(r, englishTimes, 4), "manner": some(r, englishManners, 4), "mood": some(r, englishMoods, 3),
			"number": number, "year": year, "the": some(r, englishDeterminers, 3),
		}
	}
	for slot, word := range w.cast {
		w.slots[slot] = func() string { return word }
	}
	return w
}

// about chooses the words of a section on subject s.
func (w *writer) about(s subject) {
	if w.chinese {
		things := words(s.things)
		main := pick(w.rand, things)
		w.slots["主"] = func() string { return main }
		w.slots["物"] = some(w.rand, things, 3)
		w.slots["人"] = some(w.rand, words(s.people), 1)
		w.slots["处"] = some(w.rand, words(s.places), 2)
		w.slots["做"] = some(w.rand, words(s.acts), 3)
		w.slots["理"] = some(w.rand, words(s.ideas), 2)
		w.slots["形"] = some(w.rand, words(s.qualities), 2)
		return
	}
	split := func(s string) []string { return strings.Split(s, "|") }
	things := split(s.things)
	main := pick(w.rand, things)
	w.slots["main"] = func() string { return main }
	w.slots["thing"] = some(w.rand, things, 3)
	w.slots["person"] = some(w.rand, split(s.people), 2)
	w.slots["place"] = some(w.rand, split(s.places), 2)
	w.slots["act"] = some(w.rand, split(s.acts), 3)
	w.slots["idea"] = some(w.rand, split(s.ideas), 2)
	w.slots["quality"] = some(w.rand, split(s.qualities), 2)
}

var (
	slot = regexp.MustCompile(`\{[^}]*\}`)
	the  = regexp.MustCompile(`\bthe `)
)

// fill puts words into a pattern's slots.
func (w *writer) fill(pattern string) string {
	text := slot.ReplaceAllStringFunc(pattern, func(s string) string {
		word, ok := w.slots[s[1:len(s)-1]]
		if !ok {
			panic(fmt.Sprintf("pattern %q has an unknown slot %s", pattern, s))
		}
		return word()
	})
	if w.chinese {
		return text
	}
	text = the.ReplaceAllStringFunc(text, func(string) string { return w.slots["the"]() + " " })
	return strings.ToUpper(text[:1]) + text[1:]
}

// section writes n sentences on s in paragraphs. Some are the subject's own: no
// more than half of those, so that two pages on it share few.
func (w *writer) section(s subject, n int) []string {
	w.about(s)
	own := newDeck(w.rand, lines(s.sentences))
	ownLeft := len(own.cards) / 2
	var paragraphs, sentences []string
	size := 2 + w.rand.IntN(4)
	for i := range n {
		from := w.sentences
		if ownLeft > 0 && w.rand.IntN(5) < 2 {
			from = own
			ownLeft--
		}
		sentences = append(sentences, w.fill(from.deal()))
		if len(sentences) == size || i == n-1 {
			paragraphs = append(paragraphs, w.join(sentences))
			sentences, size = nil, 2+w.rand.IntN(4)
		}
	}
	return paragraphs
}

func (w *writer) join(sentences []string) string {
	if w.chinese {
		return strings.Join(sentences, "")
	}
	return strings.Join(sentences, " ")
}

// title writes the title of a page on the subject of the last section.
func (w *writer) title() string {
	if w.chinese {
		return w.fill(pick(w.rand, chineseTitles))
	}
	return w.fill(pick(w.rand, englishTitles))
}
