package page

import "strings"

// tag is an element's name, as far as names are told apart.
type tag uint8

// The tags. Those up to lastInline do not break a line.
const (
	tagOther  tag = iota // an unknown element: a block, as custom elements are used
	tagInline            // an inline element that means nothing to us: b, span, …
	tagA
	tagTime
	tagLabel
	tagButton
	lastInline = tagButton
)

const (
	tagDiv tag = lastInline + 1 + iota
	tagSection
	tagArticle
	tagMain
	tagBody
	tagP
	tagPre
	tagBlockquote
	tagH1
	tagH2
	tagH3
	tagH4 // and h5, h6
	tagTable
	tagTr
	tagTd // and th
	tagUl // and ol, menu
	tagLi
	tagDl
	tagDt
	tagDd
	tagFigure
	tagFigcaption // and caption
	tagDetails
	tagSummary
	tagHeader
	tagAddress
	tagForm // and fieldset
	tagAside
	tagNav
	tagFooter
	tagDialog
	tagOption
	tagFallback // noscript, object, video …: what a browser shows that cannot do better
	tagSVG      // and math
	tagTemplate
	tagHTML
	tagHead
	tagTitle
	tagMeta
	tagBr
	tagHr
	tagVoid // img, input …: no content
	tagRaw  // script, style, iframe …: content without markup, which nobody sees
	tagPlaintext
	tagSelect
	tagCount
)

// A name is told by its first eight letters, lower case, and its length.
func nameKey(name []byte) uint64 {
	var k uint64
	for i, c := range name {
		if i == 8 {
			break
		}
		k |= uint64(c|0x20) << (8 * i)
	}
	return k + uint64(len(name))<<56
}

// wordTable has short names, as nameKey tells them, and a value of each.
type wordTable map[uint64]uint8

// newWordTable makes the table of lists of names, set off by spaces: a name's
// value is the index of its list.
func newWordTable(lists []string) wordTable {
	t := wordTable{}
	for v, list := range lists {
		for name := range strings.FieldsSeq(list) {
			t[nameKey([]byte(name))] = uint8(v)
		}
	}
	return t
}

// tagNames lists the names of each tag.
var tagNames = newWordTable([]string{
	tagInline: "abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr q rb ruby rt s samp small span strike strong sub sup tt u var wbr",
	tagA:      "a", tagTime: "time", tagLabel: "label", tagButton: "button",
	tagDiv: "div", tagSection: "section", tagArticle: "article", tagMain: "main", tagBody: "body",
	tagP: "p", tagPre: "pre listing xmp", tagBlockquote: "blockquote",
	tagH1: "h1", tagH2: "h2", tagH3: "h3", tagH4: "h4 h5 h6",
	tagTable: "table", tagTr: "tr", tagTd: "td th", tagUl: "ul ol menu dir", tagLi: "li", tagDl: "dl", tagDt: "dt", tagDd: "dd",
	tagFigure: "figure", tagFigcaption: "figcaption caption", tagDetails: "details", tagSummary: "summary",
	tagHeader: "header", tagAddress: "address", tagForm: "form fieldset", tagAside: "aside", tagNav: "nav", tagFooter: "footer", tagDialog: "dialog",
	tagOption: "option optgroup", tagFallback: "noscript noframes object applet video audio canvas", tagSVG: "svg math", tagTemplate: "template",
	tagHTML: "html", tagHead: "head", tagTitle: "title", tagMeta: "meta", tagBr: "br", tagHr: "hr",
	tagVoid: "img input link base col area embed source track param frame bgsound keygen",
	tagRaw:  "script style iframe noembed textarea", tagSelect: "select datalist", tagPlaintext: "plaintext",
})
