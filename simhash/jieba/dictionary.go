package jieba

import (
	_ "embed"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

//go:generate go test ./internal/model -run TestModelIsCurrent -update

//go:embed model.bin
var embedded []byte

// Digest tells the embedded dictionary from others: of the same digest the same
// words come out.
func Digest() uint32 { return crc32.Checksum(embedded, crc32.MakeTable(crc32.Castagnoli)) }

// Dictionary is the words a Cutter knows, with their weights, and the hidden
// Markov model for the words nobody listed. It is immutable and safe for
// concurrent use.
//
// Words are numbered from 0 to Len()-1. Besides the words of jieba's
// dictionary, the most frequent first, these are the words only its idf and
// stop word lists have: Cut does not prefer them, but they may come out of it.
type Dictionary struct {
	base  *model.Model     // as it is with jieba's sample user dictionary
	runes []rune           // by character code
	bmp   *[1 << 16]uint16 // character code by character, CodeUnknown for none
	rest  map[rune]uint16  // the same beyond the basic multilingual plane

	nodes      []model.Node // nil with compact, which has them too
	costs      []float64    // by ID+1: log weight with its sign turned; the first is Inf
	characters []character  // by code
	compact    *compact     // nil: look and solve cut, not solveFast, and nodes is the trie
	joins      []uint8      // by code: 1 if the character can be part of an unlisted word
	kinds      kinds
	emit       [][model.States]float64 // by code

	speller model.Speller
	tags    []string
	tag     []uint16 // by ID
	idf     []uint32 // by ID: index into base.IDFs plus 1, 0 for none
	stop    []bool   // by ID

	words int // without the new words of the user dictionary
	user  []UserWord

	lexicon *model.Lexicon // nil: words and hidden Markov model are jieba's own
}

// Default returns the dictionary and the model gojieba v1.4.7 uses, its sample
// user dictionary of four words included. They are embedded in the program and
// decoded once.
var Default = sync.OnceValues(func() (*Dictionary, error) { return load(embedded) })

func load(file []byte) (*Dictionary, error) {
	m, err := model.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("jieba: %w", err)
	}
	return dictionaryOf(m)
}

// dictionaryOf returns the dictionary of a model with its user dictionary.
func dictionaryOf(m *model.Model) (*Dictionary, error) {
	d := plain(m, len(m.Weight))
	d.nodes, d.emit, d.words = m.Nodes, m.Emit, len(m.Weight)-m.New
	m.Nodes = nil // which weigh lets go of
	d.number(m.Runes)
	d.speller = model.NewSpeller(d.nodes, len(d.costs)-1)
	for _, u := range m.User {
		id, _ := d.Lookup([]byte(u.Text))
		if err := d.use(id, u); err != nil {
			return nil, err
		}
	}
	d.weigh()
	return d, nil
}

// plain returns a dictionary of the first words of m, as they are without a user
// dictionary. It has no characters nor trie yet.
func plain(m *model.Model, words int) *Dictionary {
	d := &Dictionary{base: m, tags: slices.Clone(m.Tags), idf: m.IDF[:words], tag: make([]uint16, words), stop: make([]bool, words)}
	d.costs = append(make([]float64, 0, words+1), math.Inf(1))
	for id, w := range m.Weight[:words] {
		d.costs, d.tag[id] = append(d.costs, -w), m.Tag[id]
	}
	for _, id := range m.Stop {
		if int(id) < words {
			d.stop[id] = true
		}
	}
	return d
}

// use makes word id the user word u.
func (d *Dictionary) use(id int32, u UserWord) error {
	d.costs[id+1] = -d.base.Median
	if u.Weight > 0 {
		d.costs[id+1] = -model.LogRatio(float64(u.Weight), d.base.FreqSum)
	}
	tag := slices.Index(d.tags, u.Tag)
	if tag < 0 {
		if tag = len(d.tags); tag > math.MaxUint16 {
			return fmt.Errorf("jieba: more than %d different tags", tag)
		}
		d.tags = append(d.tags, u.Tag)
	}
	d.tag[id] = uint16(tag)
	if r, size := utf8.DecodeRuneInString(u.Text); size == len(u.Text) {
		d.joins[d.code(r)] = 0
	}
	d.user = append(d.user, u)
	return nil
}

// weigh sets the characters and the compact trie. A character that is no word
// costs what cppjieba has it cost: the most.
func (d *Dictionary) weigh() {
	d.characters = make([]character, len(d.runes))
	for code := range d.characters {
		c := &d.characters[code]
		value := d.nodes[code].Value()
		c.cost, c.word = d.costs[value], newWord(value, 1)
		if math.IsInf(c.cost, 1) {
			c.cost = -d.base.Min
		}
		if uint16(code)-1 < model.LastSeparator {
			c.word |= separates
		}
	}
	if hasFast {
		d.compact = newCompact(d.nodes, d.costs, len(d.runes))
	}
	if d.compact != nil {
		d.nodes = nil
	}
}

// first returns the node of a character that starts a word.
func (d *Dictionary) first(code uint16) model.Node {
	if d.compact != nil {
		return d.compact.nodes[code]
	}
	return d.nodes[code]
}

// check returns the code of the character that leads to a slot.
func (d *Dictionary) check(slot uint32) uint16 {
	if d.compact != nil {
		return d.compact.checks[slot]
	}
	return d.nodes[slot].Check()
}

// child returns the node that the next character leads to, and whether there is one.
func (d *Dictionary) child(n model.Node, code uint16) (model.Node, bool) {
	slot := n.Base() + uint32(code)
	if d.compact != nil {
		return d.compact.nodes[slot], d.compact.checks[slot] == code
	}
	n = d.nodes[slot]
	return n, n.Check() == code
}

// number sets the tables that go by character.
func (d *Dictionary) number(runes []rune) {
	d.runes = runes
	d.bmp = new([1 << 16]uint16)
	d.rest = map[rune]uint16{}
	for c, r := range runes {
		switch {
		case r < 0:
		case int(r) < len(d.bmp):
			d.bmp[r] = uint16(c)
		default:
			d.rest[r] = uint16(c)
		}
	}
	d.bmp[0] = model.CodeBreak
	for r := 0xd800; r < 0xe000; r++ {
		d.bmp[r] = model.CodeBreak // surrogates: not valid in UTF-8
	}
	d.kinds = newKinds()
	d.joins = make([]uint8, len(runes))
	for c := range d.joins {
		if c < model.CodeBreak || c > model.LastSeparator {
			d.joins[c] = 1
		}
	}
}

// Code returns the number that stands for a character in CutCodes: one above
// zero for the characters of the words, zero for most others. It is less than
// MaxCode.
func (d *Dictionary) Code(r rune) uint16 { return d.code(r) }

// MaxCode is above all character codes.
const MaxCode = model.MaxCodes - 1

func (d *Dictionary) code(r rune) uint16 {
	if uint(r) < uint(len(d.bmp)) {
		return d.bmp[r]
	}
	return d.rest[r]
}

// Len returns the number of words; their IDs are 0 to Len()-1.
func (d *Dictionary) Len() int { return d.speller.Len() }

// Word returns the text of a word, "" for an ID that no word has.
func (d *Dictionary) Word(id int32) string { return string(d.AppendWord(nil, id)) }

// AppendWord appends the text of a word to dst, nothing for an ID that no word has.
func (d *Dictionary) AppendWord(dst []byte, id int32) []byte {
	if uint(id) >= uint(d.Len()) {
		return dst
	}
	var room [16]uint16
	for _, c := range d.speller.AppendCodes(room[:0], id, d.check) {
		dst = utf8.AppendRune(dst, d.runes[c])
	}
	return dst
}

// Lookup returns the ID of a word.
func (d *Dictionary) Lookup(word []byte) (id int32, ok bool) {
	var node model.Node
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if r == utf8.RuneError && size == 1 {
			return -1, false
		}
		if i == 0 {
			node = d.first(d.code(r))
		} else if node, ok = d.child(node, d.code(r)); !ok {
			return -1, false
		}
		i += size
	}
	if len(word) == 0 {
		return -1, false
	}
	id = int32(node.Value()) - 1
	return id, id >= 0
}

// IDF returns the inverse document frequency of a word, false if jieba's list
// has none for it; jieba then takes MeanIDF.
func (d *Dictionary) IDF(id int32) (float64, bool) {
	if uint(id) >= uint(len(d.idf)) || d.idf[id] == 0 {
		return 0, false
	}
	return d.base.IDFs[d.idf[id]-1], true
}

// MeanIDF returns the mean of all inverse document frequencies.
func (d *Dictionary) MeanIDF() float64 { return d.base.MeanIDF }

// Tags lists the parts of speech that words of the dictionary have, each once.
func (d *Dictionary) Tags() []string {
	return slices.DeleteFunc(slices.Clone(d.tags), func(tag string) bool { return tag == "" })
}

// Tag returns the part of speech of a word in ICTCLAS's notation, such as "n"
// or "ns", and "" if the dictionary has none.
func (d *Dictionary) Tag(id int32) string {
	if uint(id) >= uint(len(d.tag)) {
		return ""
	}
	return d.tags[d.tag[id]]
}

// IsStop reports whether a word is on jieba's list of stop words.
func (d *Dictionary) IsStop(id int32) bool {
	return uint(id) < uint(len(d.stop)) && d.stop[id]
}
