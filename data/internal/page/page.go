// Package page finds the text of HTML pages: the title, the language, the main
// text (what the page is about, without the menus, lists of other pages,
// notices and footers that a site puts around it) and the visible text (all
// that a reader sees).
//
// A page is read once, from front to back, into blocks of text and the elements
// that they stand in; there is no tree. A model, trained on pages whose main
// text is known, judges each block by itself, its neighbours and its elements, a
// second one by what the first said of those too, and the blocks are taken that make the best expected F1. Reading takes time
// linear in the page, and no allocation once the memory has grown to its size.
//
// It reads UTF-8 only, never executes a script, and never fails: what is no
// HTML is text.
package page

// Version is that of the texts: pages of which two versions find the text do not
// give the same, and match less than pages of one version do. It grows with
// whatever changes the text of pages that there are many of.
const Version = 8

// Extractor finds the text of pages, one after the other. Its zero value is
// ready for use; its memory is used again for each page. One goroutine uses it
// at a time.
type Extractor struct {
	scanner

	counter   counter
	measures  []measures
	runs      []group     // of like siblings
	groups    []group     // of blocks in elements alike, anywhere on the page
	grouped   []int32     // of each block
	grouping  counter     // of the groups
	stretches []stretch   // of prose
	places    []place     // of the blocks
	ancestors []ancestors // of the nodes
	features  []uint8     // by feature, then by block
	stride    int         // blocks that a feature has room for
	scores    []int32     // of the blocks
	seconds   []int32
	expected  expectations
	chosen    []bool // the blocks of the main text
	body      int    // see Body
	lower     []byte
	brought   brought
	none      None

	aroundMarks uint32 // what marks blocks as around the page: see around
	aroundTags  uint64
}

// Parse reads a page, which is valid UTF-8, and must not change before the next.
// What the other methods say is about the page parsed last.
func (x *Extractor) Parse(html []byte) {
	x.none, x.body = "", 0
	x.scan(html)
}

// Body returns where, in the text that AppendMain appended, the body of short news
// begins: as many bytes of title and summary stand before it. It is 0 where the body
// is most of the text, and of pages that are no news.
func (x *Extractor) Body() int { return x.body }

// Title returns the text of the page's title element; without one the title
// that it tells others to show, else the first heading. It is valid until the
// next Parse.
func (x *Extractor) Title() []byte {
	switch {
	case len(x.title) > 0:
		return x.title
	case len(x.shownTitle) > 0:
		return x.shownTitle
	}
	for i := range x.blocks {
		if n := &x.nodes[x.blocks[i].node]; n.within&(1<<tagH1) != 0 && n.hidden == 0 {
			return x.blockText(i)
		}
	}
	return nil
}

// Language returns what the page says that its language is, as it stands there;
// nothing when it says nothing. It is valid until the next Parse.
func (x *Extractor) Language() []byte { return x.language }

func (x *Extractor) blockText(i int) []byte { return x.text[x.blocks[i].start:x.blocks[i].end] }

// AppendVisible appends the text that a reader of the page sees, a line for
// each block. What a page keeps for browsers that cannot do better, or hides,
// counts where it has next to no other text; a page that has none at all, as
// its scripts would fetch it, gives its description.
func (x *Extractor) AppendVisible(dst []byte) []byte {
	limit, mass := x.seen()
	if mass < fewSeen && len(x.description) > 0 {
		return append(dst, x.description...)
	}
	return x.join(dst, func(i int) bool { return x.nodes[x.blocks[i].node].hidden&^hiddenAria <= limit })
}

// Bytes of text below which a page has next to none.
const (
	fewShown = 100 // what is there for other browsers is looked at too
	fewSeen  = 20  // what is hidden is looked at too, or the description taken
)

// seen returns the highest value of node.hidden that a reader sees, 0 unless
// there is next to no such text; and how many bytes of text that is.
func (x *Extractor) seen() (limit uint8, mass int32) {
	var masses [hiddenStyle + hiddenFallback + 1]int32
	for i := range x.blocks {
		masses[x.nodes[x.blocks[i].node].hidden&^hiddenAria] += x.blocks[i].mass
	}
	mass = masses[0]
	if fallback := masses[hiddenFallback]; mass < fewShown && fallback > mass {
		limit, mass = hiddenFallback, mass+fallback
	}
	if mass < fewSeen {
		limit, mass = hiddenStyle+hiddenFallback, x.nodes[0].mass
	}
	return limit, mass
}

// join appends the blocks that are wanted, a line each.
func (x *Extractor) join(dst []byte, wanted func(i int) bool) []byte {
	from := len(dst)
	for i := range x.blocks {
		if !wanted(i) {
			continue
		}
		if len(dst) > from {
			dst = append(dst, '\n')
		}
		dst = append(dst, x.blockText(i)...)
	}
	return dst
}
