package page

import "bytes"

// Bytes that end a name in a tag: of the tag, or of an attribute.
var nameEnd = func() (t [256]bool) {
	for _, c := range " \t\n\f\r/>=" {
		t[c] = true
	}
	return t
}()

// attributes are those of a start tag that matter.
type attributes struct {
	class, id, lang, style, role, item, content, name, kind, srcdoc []byte

	href, hidden, ariaHidden, shadowRoot bool

	xml   bool // the name space of XHTML
	empty bool // the tag ends with a slash
}

// parse reads the attributes of a tag, whose name ends where b starts, and
// returns what stands behind the tag; closed is false where the page ends first.
func (a *attributes) parse(b []byte) (rest []byte, closed bool) {
	i := 0
	for {
		for i < len(b) && (b[i] <= ' ' || b[i] == '/') {
			i++
		}
		if i >= len(b) {
			return nil, false
		}
		if b[i] == '>' {
			a.empty = i > 0 && b[i-1] == '/'
			return b[i+1:], true
		}
		from := i
		i++ // an attribute's name may start with =
		for i < len(b) && !nameEnd[b[i]] {
			i++
		}
		name := b[from:i]
		for i < len(b) && b[i] <= ' ' {
			i++
		}
		var value []byte
		if i < len(b) && b[i] == '=' {
			i++
			for i < len(b) && b[i] <= ' ' {
				i++
			}
			switch {
			case i >= len(b):
				return nil, false
			case b[i] == '"' || b[i] == '\'':
				end := bytes.IndexByte(b[i+1:], b[i])
				if end < 0 {
					return nil, false
				}
				value = b[i+1 : i+1+end]
				i += end + 2
			default:
				from := i
				for i < len(b) && b[i] > ' ' && b[i] != '>' {
					i++
				}
				value = b[from:i]
			}
		}
		a.set(name, value)
	}
}

// set keeps an attribute if it matters.
func (a *attributes) set(name, value []byte) {
	var lower [16]byte
	if len(name) > len(lower) {
		return
	}
	for i, c := range name {
		lower[i] = c | 0x20
	}
	switch string(lower[:len(name)]) {
	case "id":
		a.id = value
	case "class":
		a.class = value
	case "style":
		a.style = value
	case "role":
		a.role = value
	case "lang":
		a.lang = value
	case "xml:lang":
		if a.lang == nil {
			a.lang = value
		}
	case "name", "property", "http-equiv":
		a.name = value
	case "content":
		a.content = value
	case "type", "itemtype":
		a.kind = value
	case "itemprop":
		a.item = value
	case "srcdoc":
		a.srcdoc = value
	case "href":
		a.href = true
	case "hidden":
		a.hidden = true
	case "aria-hidden":
		a.ariaHidden = a.ariaHidden || foldEqual(value, "true")
	case "xmlns":
		a.xml = true
	case "shadowrootmode":
		a.shadowRoot = true
	}
}

// foldEqual compares with a name in lower case.
func foldEqual(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != name[i] && b[i] != name[i] {
			return false
		}
	}
	return true
}

// hides reports whether a style hides what has it.
func hides(style []byte) bool {
	for _, p := range [...]struct{ property, value string }{{"display", "none"}, {"visibility", "hidden"}} {
		rest := style
		for {
			i := bytes.Index(rest, []byte(p.property))
			if i < 0 {
				break
			}
			rest = bytes.TrimLeft(rest[i+len(p.property):], " ")
			if len(rest) > 0 && rest[0] == ':' && bytes.HasPrefix(bytes.TrimLeft(rest[1:], " "), []byte(p.value)) {
				return true
			}
		}
	}
	return false
}

// words returns the marks of the words of a class or an id: runs of letters,
// which a change from lower to upper case ends too.
func words(b []byte) (marks uint32) {
	for i, n := 0, 0; i < len(b) && n < maxMarks; n++ {
		for i < len(b) && (b[i]|0x20 < 'a' || b[i]|0x20 > 'z') {
			i++
		}
		var k uint64
		length := 0
		for i < len(b) && b[i]|0x20 >= 'a' && b[i]|0x20 <= 'z' {
			if length < 8 {
				k |= uint64(b[i]|0x20) << (8 * length)
			}
			length++
			if i+1 < len(b) && b[i] >= 'a' && b[i+1]&0x20 == 0 {
				i++
				break
			}
			i++
		}
		if length > 1 {
			if m := markWords[k+uint64(length)<<56]; m != 0 {
				marks |= 1 << m
			}
		}
	}
	return marks
}
