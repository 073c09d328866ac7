package eval

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Edit is a kind of change that makes a near-duplicate of a document.
type Edit string

// The edits. Strength, 0 to 1, is the share of the document that they change.
const (
	EditMirror      Edit = "mirror"      // nothing but line breaks and spaces
	EditAdvert      Edit = "advert"      // a passage of another document inserted
	EditNumbers     Edit = "numbers"     // digits changed: counters, dates, prices
	EditDrop        Edit = "drop"        // sentences left out
	EditMove        Edit = "move"        // sentences moved to the front
	EditReword      Edit = "reword"      // sentences reworded: words of a small table exchanged, clauses turned round
	EditTruncate    Edit = "truncate"    // the end cut off
	EditBoilerplate Edit = "boilerplate" // passages that several documents share, before and after
	EditReplace     Edit = "replace"     // the end replaced by another document's: at 0.5, half the page
	EditScript      Edit = "script"      // sentences in traditional characters, or of a traditional text in simplified ones
	EditTypos       Edit = "typos"       // characters replaced, inserted and deleted
)

// Edits lists every edit.
func Edits() []Edit {
	return []Edit{EditMirror, EditAdvert, EditNumbers, EditDrop, EditMove, EditReword, EditTruncate, EditBoilerplate, EditReplace, EditScript, EditTypos}
}

// Planned is an edit at a strength: the share of the document that it changes,
// 0 to 1.
type Planned struct {
	Edit     Edit
	Strength float64
}

// String writes it as ParsePlanned reads it.
func (p Planned) String() string {
	return string(p.Edit) + "=" + strconv.FormatFloat(p.Strength, 'g', -1, 64)
}

// ParsePlanned reads an edit with its strength, like drop=0.2. One that names
// no strength gets the default.
func ParsePlanned(s string, strength float64) (Planned, error) {
	name, value, has := strings.Cut(s, "=")
	p := Planned{Edit(name), strength}
	if has {
		var err error
		if p.Strength, err = strconv.ParseFloat(value, 64); err != nil {
			return p, fmt.Errorf("%w: %q: write an edit and a strength from 0 to 1, like drop=0.2", errPlanting, s)
		}
	}
	return p, p.check()
}

func (p Planned) check() error {
	if !slices.Contains(Edits(), p.Edit) {
		return fmt.Errorf("%w: edit %q: write some of %v", errPlanting, p.Edit, Edits())
	}
	if !(p.Strength >= 0 && p.Strength <= 1) {
		return fmt.Errorf("%w: strength %v: write a number from 0 to 1", errPlanting, p.Strength)
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
	switch {
	case len(p.Edits) == 0 && p.Count > 0:
		return nil, fmt.Errorf("%w: write some of the edits %v", errPlanting, Edits())
	case p.Count < 0 || p.Count > n:
		return nil, fmt.Errorf("%w: count %d: write a number from 0 to the %d documents", errPlanting, p.Count, n)
	}
	forms, err := scripts()
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(p.Seed, 0x9e3779b97f4a7c15))
	e := editor{Rand: r, corpus: c, forms: forms}
	out := &Corpus{Documents: slices.Clone(c.Documents), Labelled: slices.Clone(c.Labelled), Kinds: maps.Clone(c.Kinds), Skipped: c.Skipped}
	if out.Kinds == nil {
		out.Kinds = make(map[Pair]string, p.Count)
	}
	for range min(4, n) {
		e.shells = append(e.shells, e.passage(200))
	}
	for i, original := range r.Perm(n)[:p.Count] {
		d := c.Documents[original]
		edit := p.Edits[i%len(p.Edits)]
		text := strings.ToValidUTF8(string(d.Text), "\ufffd")
		text = e.apply(edit, text)
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
	shells []string // boilerplate that several planted documents share
	forms  *scriptTable
}

func (e *editor) apply(p Planned, text string) string {
	length := utf8.RuneCountInString(text)
	share := int(p.Strength * float64(length)) // characters to change
	switch p.Edit {
	case EditMirror:
		return strings.Join(sentences(text), "\n") + "\n"
	case EditAdvert:
		all := sentences(text)
		return strings.Join(slices.Insert(all, e.IntN(len(all)+1), e.passage(share)), "")
	case EditNumbers:
		return strings.Map(func(c rune) rune {
			if c >= '0' && c <= '9' && e.Float64() < p.Strength {
				return '0' + (c-'0'+1+e.Int32N(9))%10
			}
			return c
		}, text)
	case EditDrop:
		return e.some(text, share, func(string) string { return "" })
	case EditMove:
		all, drawn := e.draw(text, share)
		slices.Sort(drawn)
		moved := ""
		for _, i := range drawn {
			moved, all[i] = moved+all[i], ""
		}
		return moved + strings.Join(all, "")
	case EditReword:
		return e.some(text, share, func(s string) string { return e.turned(synonymReplacer().Replace(s)) })
	case EditScript:
		forms := e.forms.other(text)
		return e.some(text, share, func(s string) string { return strings.Map(forms, s) })
	case EditTruncate:
		return cut(text, length-share)
	case EditBoilerplate:
		shell := e.shells[e.IntN(len(e.shells))]
		return cut(shell, share/2) + "\n" + text + "\n" + cut(shell, share-share/2)
	case EditReplace:
		return cut(text, length-share) + e.passage(share)
	case EditTypos:
		return e.typos(text, share)
	}
	return text
}

// sentences cuts a text behind every character that ends one. What has a letter
// or digit right behind it, as the point of a number or an address, ends none.
func sentences(text string) []string {
	var all []string
	from := 0
	for i, c := range text {
		if !isSentenceEnd(c) {
			continue
		}
		end := i + utf8.RuneLen(c)
		next, _ := utf8.DecodeRuneInString(text[end:])
		if strings.ContainsRune(".!?;", c) && (unicode.IsDigit(next) || unicode.Is(unicode.Latin, next)) {
			continue
		}
		all = append(all, text[from:end])
		from = end
	}
	if from < len(text) {
		all = append(all, text[from:])
	}
	return all
}

// draw returns the sentences of a text, and of those of together about share
// characters their places, in the order drawn.
func (e *editor) draw(text string, share int) (all []string, drawn []int) {
	all = sentences(text)
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

// some edits sentences of together about share characters.
func (e *editor) some(text string, share int, edit func(sentence string) string) string {
	all, drawn := e.draw(text, share)
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
	text := []rune(strings.ToValidUTF8(string(e.corpus.Documents[e.IntN(len(e.corpus.Documents))].Text), "\ufffd"))
	n = min(n, len(text))
	from := e.IntN(len(text) - n + 1)
	return string(text[from : from+n])
}

// typos replaces, deletes or inserts n letters, those that come in taken from
// other documents.
func (e *editor) typos(text string, n int) string {
	letters := []rune(text)
	for range n {
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
