package page

import (
	"bytes"
	"encoding/json"
)

// Text that a page brings as data, for its scripts or frames to show: the body
// that it gives to search engines (JSON-LD), the state that frameworks send
// along (Next.js and its flight rows, Nuxt), and the page within an iframe.
const (
	fewBrought   = 200     // bytes that are a body
	fewParagraph = 80      // … and a part of one, of a key that other things have too
	mostBrought  = 1 << 20 // bytes of strings that are decoded
	mostScripts  = 64      // scripts and frames that are looked at
	mostNested   = 2       // strings that are JSON within strings
)

// bodyKeys are the names that bodies have, small letters only, best first. ""
// stands for strings in a list.
var bodyKeys = [...]string{"articlebody", "bodyhtml", "contenthtml", "body", "bodytext", "content", "html", "markdown", "paragraph", "text", "value", "children", ""}

// stateMarks are what scripts with a page's state begin with, or soon have.
var stateMarks = [...][]byte{[]byte("__NEXT"), []byte("__next_f"), []byte("__NUXT"), []byte("__INITIAL"), []byte("__PRELOADED"), []byte("__APOLLO")}

// bring keeps a script if it may bring text.
func (s *scanner) bring(a *attributes, content []byte) {
	if len(content) < fewBrought || len(s.scripts) >= mostScripts {
		return
	}
	brings := bytes.Contains(a.kind, []byte("json"))
	for _, m := range stateMarks {
		brings = brings || bytes.Contains(content[:min(len(content), 100)], m)
	}
	if brings {
		s.scripts = append(s.scripts, content)
	}
}

// brought is what AppendMain makes of such data.
type brought struct {
	texts [len(bodyKeys)][]byte // HTML, by key
	left  int                   // bytes that may be decoded
	inner *scanner
}

// appendBrought appends the body that the page brings as data; nothing when
// none can be told.
func (x *Extractor) appendBrought(dst []byte) []byte {
	d := &x.brought
	for i := range d.texts {
		d.texts[i] = d.texts[i][:0]
	}
	d.left = mostBrought
	for _, script := range x.scripts {
		d.strings(script, 0)
	}
	for _, frame := range x.frames {
		if len(frame) >= fewBrought {
			d.add(len(bodyKeys)-1, x.unescaped(frame))
		}
	}
	best := -1
	for i, text := range d.texts {
		if len(text) >= fewBrought && (best < 0 || best > 0 && len(text) > len(d.texts[best])) {
			best = i
		}
	}
	if best < 0 {
		return dst
	}
	if d.inner == nil {
		d.inner = &scanner{}
	}
	d.inner.scan(d.texts[best])
	from := len(dst)
	for i := range d.inner.blocks {
		k := &d.inner.blocks[i]
		if d.inner.nodes[k.node].hidden&^hiddenAria != 0 {
			continue
		}
		if len(dst) > from {
			dst = append(dst, '\n')
		}
		dst = append(dst, d.inner.text[k.start:k.end]...)
	}
	return dst
}

// unescaped is an attribute's value with its character references decoded.
func (s *scanner) unescaped(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			return append(out, b...)
		}
		out = append(out, b[:i]...)
		text, n := s.reference(b[i:])
		out, b = append(out, text...), b[i+n:]
	}
	return out
}

// strings takes the strings of a script: those between double quotes, with the
// name before the colon in front of them, quoted or not.
func (d *brought) strings(b []byte, nested int) {
	key := len(bodyKeys) - 1
	for i := 0; i < len(b) && d.left > 0; i++ {
		if b[i] != '"' {
			continue
		}
		end, escaped := i+1, false
		for end < len(b) && b[end] != '"' {
			if b[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		if end >= len(b) {
			return
		}
		next := end + 1
		for next < len(b) && b[next] <= ' ' {
			next++
		}
		switch {
		case next < len(b) && b[next] == ':':
			key = bodyKey(b[i+1 : end])
		case end-i < fewParagraph:
		default:
			before := bytes.TrimRight(b[max(0, i-40):i], " \n\t")
			switch last := len(before) - 1; {
			case last < 0 || before[last] != ':':
				if key > 0 && last >= 0 && before[last] != '[' && before[last] != ',' {
					key = len(bodyKeys) - 1
				}
			case last > 0 && before[last-1] != '"':
				name := before[:last]
				key = bodyKey(name[1+bytes.LastIndexAny(name, "{,[( "):])
			}
			d.value(key, b[i:end+1], escaped, nested)
		}
		i = end
	}
}

// bodyKey is the place of a name in bodyKeys; -1 for none.
func bodyKey(name []byte) int {
	var lower [16]byte
	n := 0
	for _, c := range name {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			if n == len(lower) {
				return -1
			}
			lower[n] = c | 0x20
			n++
		}
	}
	for i, k := range bodyKeys {
		if k != "" && k == string(lower[:n]) {
			return i
		}
	}
	return -1
}

// value takes a string, in its quotes.
func (d *brought) value(key int, quoted []byte, escaped bool, nested int) {
	text := quoted[1 : len(quoted)-1]
	if escaped {
		var s string
		if json.Unmarshal(quoted, &s) != nil {
			return
		}
		text = []byte(s)
	}
	d.left -= len(text)
	if nested < mostNested && (bytes.Contains(text, []byte(`":"`)) || bytes.Contains(text, []byte(`\"`))) {
		d.strings(text, nested+1)
		return
	}
	if key >= 0 && (key == 0 || isSentences(text)) {
		d.add(key, text)
	}
}

// isSentences tells text of a reader from what scripts keep in strings.
func isSentences(b []byte) bool {
	if len(b) < fewParagraph {
		return false
	}
	stops := bytes.Count(b, []byte(". ")) + bytes.Count(b, []byte(".<")) + bytes.Count(b, []byte("。")) + bytes.Count(b, []byte("! ")) + bytes.Count(b, []byte("? "))
	if last := b[len(b)-1]; last == '.' || last == '!' || last == '?' {
		stops++
	}
	return stops > 0 && bytes.IndexByte(b, '{') < 0
}

// add takes a part of a body: HTML, or text whose lines are paragraphs.
func (d *brought) add(key int, text []byte) {
	if bytes.Contains(d.texts[key], text) && len(d.texts[key]) < 1<<14 {
		return // a body that is there twice
	}
	if bytes.IndexByte(text, '<') < 0 {
		d.texts[key] = append(d.texts[key], "<pre>"...)
		d.texts[key] = append(d.texts[key], text...)
		d.texts[key] = append(d.texts[key], "</pre>"...)
		return
	}
	d.texts[key] = append(append(append(d.texts[key], "<div>"...), text...), "</div>"...)
}
