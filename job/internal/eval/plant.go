package eval

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/neardup/neardup/job/internal/show"
)

// Edit is a kind of change that makes a near-duplicate of a document, by the
// name that Edits states it under.
type Edit string

// EditStatement states an edit.
type EditStatement struct {
	Name  Edit
	Doc   string  // what it does to the document
	Most  float64 // the greatest strength; beyond 1 for what adds to the document
	paper float64 // its strength in the protocol of the sources; 0: it is none of those
	apply func(e *editor, text string) string
}

// Edits states every edit. Strength is the share of the document that it
// changes, or of its length that it adds.
func Edits() []EditStatement {
	return []EditStatement{
		{"mirror", "line breaks and spaces set anew", 1, 1, func(_ *editor, text string) string { return strings.Join(show.Sentences(text), "\n") + "\n" }},
		{"script", "sentences in the other script of Chinese: traditional, simplified", 1, 1, (*editor).script},
		{"entities", "sentences with HTML entities in the place of characters", 1, 0, func(e *editor, text string) string { return e.some(text, entities) }},
		{"numbers", "digits changed: counters, dates, prices", 1, 1, (*editor).numbers},
		{"typos", "characters replaced, inserted and deleted: slips, OCR noise", 1, 0.03, (*editor).typos},
		{"drop", "sentences deleted", 1, 0.1, func(e *editor, text string) string { return e.some(text, func(string) string { return "" }) }},
		{"move", "sentences moved to the front", 1, 0.2, (*editor).move},
		{"reword", "sentences reworded: words exchanged, clauses turned round", 1, 0.1, func(e *editor, text string) string {
			return e.some(text, func(s string) string { return e.turned(synonymReplacer().Replace(s)) })
		}},
		{"truncate", "the end cut off", 1, 0.1, func(e *editor, text string) string { return cut(text, e.length-e.share) }},
		{"replace", "the end replaced by another document's: at 0.5, half the page", 1, 0.1, func(e *editor, text string) string {
			return cut(text, e.length-e.share) + e.passage(e.share)
		}},
		{"advert", "a passage of another document inserted", 10, 0.2, func(e *editor, text string) string {
			all := show.Sentences(text)
			return strings.Join(slices.Insert(all, e.IntN(len(all)+1), e.passage(e.share)), "")
		}},
		{"mixed", "English sentences mixed in", 10, 0, (*editor).mixed},
		{"menus", "menus before and after, one of four sites'", 10, 0.2, func(e *editor, text string) string {
			menu := e.menu()
			from := len(cut(menu, e.share/2))
			return menu[:from] + "\n" + text + "\n" + cut(menu[from:], e.share-e.share/2)
		}},
		{"page", "passages of other documents before and after: a longer page", 10, 0, func(e *editor, text string) string {
			before := e.IntN(e.share + 1)
			return e.passages(before) + "\n" + text + "\n" + e.passages(e.share-before)
		}},
	}
}

// statement returns that of an edit, nil if there is none.
func (e Edit) statement() *EditStatement {
	all := Edits()
	if i := slices.IndexFunc(all, func(s EditStatement) bool { return s.Name == e }); i >= 0 {
		return &all[i]
	}
	return nil
}

// Planned is an edit at a strength.
type Planned struct {
	Edit     Edit
	Strength float64
}

// String writes it as ParsePlanned reads it.
func (p Planned) String() string {
	return string(p.Edit) + "=" + strconv.FormatFloat(p.Strength, 'g', -1, 64)
}

// ParsePlanned reads an edit with its strength, like drop=0.2; of one that
// names none that is 0.1.
func ParsePlanned(s string) (Planned, error) {
	name, value, has := strings.Cut(s, "=")
	p := Planned{Edit(name), 0.1}
	if has {
		var err error
		if p.Strength, err = strconv.ParseFloat(value, 64); err != nil {
			return p, fmt.Errorf("%w: %q: write an edit and its strength, like drop=0.2", errPlanting, s)
		}
	}
	return p, p.check()
}

func (p Planned) check() error {
	s := p.Edit.statement()
	if s == nil {
		var names []string
		for _, e := range Edits() {
			names = append(names, string(e.Name))
		}
		return fmt.Errorf("%w: edit %q: write some of %s", errPlanting, p.Edit, strings.Join(names, ", "))
	}
	if !(p.Strength >= 0 && p.Strength <= s.Most) {
		return fmt.Errorf("%w: %s of strength %v: write a number from 0 to %v", errPlanting, p.Edit, p.Strength, s.Most)
	}
	return nil
}

// Planting says how duplicates are made.
type Planting struct {
	Edits []Planned // each planted document gets one, in turn
	Count int       // planted documents
	Seed  uint64
}

// errPlanting says what is wrong with a Planting.
var errPlanting = errors.New("cannot plant")

// Plant returns a corpus of the same documents and Count more, each an edited
// copy of one of them, drawn without replacement, and labelled as its pair. An
// id of a planted document is the original's, # and the edit. The same seed
// makes the same corpus.
func Plant(c *Corpus, p Planting) (*Corpus, error) {
	for _, e := range p.Edits {
		if err := e.check(); err != nil {
			return nil, err
		}
	}
	n := len(c.Documents)
	if len(p.Edits) == 0 && p.Count > 0 {
		return nil, fmt.Errorf("%w: write the edits", errPlanting)
	}
	if p.Count < 0 || p.Count > n {
		return nil, fmt.Errorf("%w: count %d: write a number from 0 to the %d documents", errPlanting, p.Count, n)
	}
	e := editor{Rand: rand.New(rand.NewPCG(p.Seed, 0x9e3779b97f4a7c15)), corpus: c, forms: scripts()}
	out := &Corpus{Documents: slices.Clone(c.Documents), Labelled: slices.Clone(c.Labelled), Kinds: map[Pair]string{}, Skipped: c.Skipped}
	maps.Copy(out.Kinds, c.Kinds)
	for i, original := range e.Perm(n)[:p.Count] {
		d := c.Documents[original]
		edit := p.Edits[i%len(p.Edits)]
		text := e.apply(edit, strings.ToValidUTF8(string(d.Text), "\ufffd"))
		out.Documents = append(out.Documents, Document{ID: d.ID + "#" + string(edit.Edit), Title: bytes.Clone(d.Title), Category: d.Category, Text: []byte(text)})
		pair := Pair{int32(original), int32(n + i)}
		out.Labelled = append(out.Labelled, pair)
		out.Kinds[pair] = edit.String()
	}
	slices.SortFunc(out.Labelled, Pair.compare)
	out.Labelled = slices.Compact(out.Labelled)
	return out, nil
}

// editor edits texts by chance.
type editor struct {
	*rand.Rand
	corpus *Corpus
	menus  []string // of the sites that planted documents are on; nil: none yet
	forms  *scriptTable

	strength      float64 // of the edit at hand
	length, share int     // characters of the text, and how many of them the strength stands for
}

// apply edits a text by an edit that there is.
func (e *editor) apply(p Planned, text string) string {
	e.strength, e.length = p.Strength, utf8.RuneCountInString(text)
	e.share = int(p.Strength * float64(e.length))
	return p.Edit.statement().apply(e, text)
}

func (e *editor) script(text string) string {
	forms := e.forms.other(text)
	return e.some(text, func(s string) string { return strings.Map(forms, s) })
}

func (e *editor) numbers(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' && e.Float64() < e.strength {
			return '0' + (c-'0'+1+e.Int32N(9))%10
		}
		return c
	}, text)
}

func (e *editor) move(text string) string {
	all, drawn := e.draw(text)
	slices.Sort(drawn)
	moved := ""
	for _, i := range drawn {
		moved, all[i] = moved+all[i], ""
	}
	return moved + strings.Join(all, "")
}

// draw returns the sentences of a text, and the places of some that are
// together about the share, in the order drawn.
func (e *editor) draw(text string) (_ []string, drawn []int) {
	all, share := show.Sentences(text), e.share
	for _, i := range e.Perm(len(all)) {
		n := utf8.RuneCountInString(all[i])
		if share < n/2 || share <= 0 {
			break
		}
		share -= n
		drawn = append(drawn, i)
	}
	return all, drawn
}

// some edits sentences that are together about the share.
func (e *editor) some(text string, edit func(sentence string) string) string {
	all, drawn := e.draw(text)
	for _, i := range drawn {
		all[i] = edit(all[i])
	}
	return strings.Join(all, "")
}

// cut returns the first n characters.
func cut(text string, n int) string {
	if n <= 0 {
		return ""
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// passage returns n successive characters of a document, fewer if it is
// shorter.
func (e *editor) passage(n int) string {
	text := strings.ToValidUTF8(string(e.corpus.Documents[e.IntN(len(e.corpus.Documents))].Text), "\ufffd")
	length := utf8.RuneCountInString(text)
	n = min(n, length)
	text = text[len(cut(text, e.IntN(length-n+1))):]
	return cut(text, n)
}

// passages returns passages of several documents of together n characters,
// fewer if the documents are few and short.
func (e *editor) passages(n int) string {
	var b strings.Builder
	for tries := 0; n > 0 && tries < 100; tries++ {
		text := e.passage(n)
		b.WriteString(text + "\n")
		n -= utf8.RuneCountInString(text)
	}
	return b.String()
}

// What makes a menu.
const (
	sites    = 4
	menuSize = 8000 // characters
)

// menu returns the menu of one of the sites: short lines.
func (e *editor) menu() string {
	for len(e.menus) < sites {
		var b strings.Builder
		for n := 0; n < menuSize; n += 8 {
			b.WriteString(strings.Join(strings.Fields(e.passage(3+e.IntN(8))), " ") + "\n")
		}
		e.menus = append(e.menus, b.String())
	}
	return e.menus[e.IntN(sites)]
}

// mixed puts English sentences behind sentences of a text.
func (e *editor) mixed(text string) string {
	all, n := append(show.Sentences(text), ""), e.share
	for at := e.Perm(len(all)); n > 0; at = append(at[1:], at[0]) {
		english := cut(e.english(), n)
		all[at[0]] += english
		n -= len(english)
	}
	return strings.Join(all, "")
}

// entities writes a text as HTML does in ASCII.
func entities(text string) string {
	var b strings.Builder
	for _, c := range html.EscapeString(text) {
		if c < utf8.RuneSelf {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "&#%d;", c)
		}
	}
	return b.String()
}

// typos replaces, deletes or inserts letters, those that come in taken from
// other documents.
func (e *editor) typos(text string) string {
	letters := []rune(text)
	for range e.share {
		if len(letters) == 0 {
			break
		}
		other := []rune(e.passage(1))
		if len(other) == 0 || !unicode.IsLetter(other[0]) {
			other = []rune{'的'}
		}
		switch at := e.IntN(len(letters)); e.IntN(3) {
		case 0:
			letters[at] = other[0]
		case 1:
			letters = slices.Delete(letters, at, at+1)
		default:
			letters = slices.Insert(letters, at, other[0])
		}
	}
	return string(letters)
}
