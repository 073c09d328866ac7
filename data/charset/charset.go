// Package charset turns bytes of text into UTF-8. It decides which encoding
// they are in as browsers do: by a byte order mark; by being UTF-8; by what
// the HTTP header and then the page say, unless the bytes refute it; by the
// statistics of the bytes. The encodings and their labels are those of the
// WHATWG Encoding Standard; UTF-32 and HZ, which it has no more, are told from
// the bytes. It never looks at what the text says, and never
// fails: a byte that no encoding explains becomes U+FFFD.
package charset

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
)

// Encoding is a character encoding. There is one value of each, so encodings
// compare with ==.
type Encoding struct {
	name string
	kind kind
	enc  encoding.Encoding

	build sync.Once
	table *table // of the kinds singleByte and doubleByte
}

type kind int

const (
	utf8Kind kind = iota
	utf16Little
	utf16Big
	singleByte
	doubleByte
	stateful // ISO-2022-JP, HZ
	utf32Kind
)

// UTF8 is UTF-8, and ASCII within it.
var UTF8 = encodings["utf-8"]

// encodings are all that are decoded, by the standard's name.
var encodings = func() map[string]*Encoding {
	kinds := map[string]kind{"utf-8": utf8Kind, "utf-16le": utf16Little, "utf-16be": utf16Big, "iso-2022-jp": stateful}
	for _, name := range []string{"gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"} {
		kinds[name] = doubleByte
	}
	for _, name := range []string{
		"ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-8-i",
		"iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "windows-874",
		"windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257",
		"windows-1258", "x-mac-cyrillic",
	} {
		kinds[name] = singleByte
	}
	all := make(map[string]*Encoding, len(kinds))
	for name, kind := range kinds {
		enc, err := htmlindex.Get(name)
		if err != nil {
			enc = encoding.Replacement // none is missing: a test looks at all
		}
		all[name] = &Encoding{name: name, kind: kind, enc: enc}
	}
	all["gbk"] = all["gb18030"] // as the standard decodes it
	// The standard has these no more, and old pages do: they are told from the
	// bytes alone.
	for name, enc := range map[string]encoding.Encoding{
		"utf-32le": utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), "utf-32be": utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM),
	} {
		all[name] = &Encoding{name: name, kind: utf32Kind, enc: enc}
	}
	all["hz-gb-2312"] = &Encoding{name: "hz-gb-2312", kind: stateful, enc: simplifiedchinese.HZGB2312}
	return all
}()

// lookup returns the encoding of its name, or of a label of the WHATWG Encoding
// Standard, like gbk, latin1 or utf-16be; nil when there is none.
func lookup(label string) *Encoding {
	if e := encodings[strings.ToLower(label)]; e != nil {
		return e
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil
	}
	name, _ := htmlindex.Name(enc) // "" is the name of none
	return encodings[strings.ToLower(name)]
}

// Name is the encoding's name in the WHATWG Encoding Standard, lower case, or
// that of IANA; GBK is gb18030, which contains it.
func (e *Encoding) Name() string { return e.name }

// PerLine tells that a file in the encoding can be cut into lines, and a line
// into fields, before it is decoded: line feed, comma, tab and quote are the
// bytes of ASCII and nothing else. Of the other encodings, UTF-16 and
// ISO-2022-JP, a file is decoded from its start: NewReader.
func (e *Encoding) PerLine() bool {
	return e.kind == utf8Kind || e.kind == singleByte || e.kind == doubleByte
}

// NewReader returns what r holds, decoded from its start: of encodings that
// are not decoded by line, see PerLine. What is no character is U+FFFD; a byte
// order mark comes through.
func (e *Encoding) NewReader(r io.Reader) io.Reader {
	if e.kind == utf8Kind {
		return r
	}
	return transform.NewReader(r, e.enc.NewDecoder())
}

// Hint is what is known of a text besides its bytes.
type Hint struct {
	ContentType string // value of the HTTP header; "" when there is none
	HTML        bool   // the text is HTML or XML, and may declare its encoding
}

// Decoder decodes texts, one after the other. The zero value decides the
// encoding of each. It is used by one goroutine at a time, and once it has
// seen texts like those to come, it allocates nothing but what reading a
// declaration takes.
type Decoder struct {
	// Encoding, if not nil, is the encoding of every text, whatever the text
	// or the header say.
	Encoding *Encoding

	buf    []byte
	sample []byte

	decoders map[*Encoding]transform.Transformer
}

// NewDecoder returns a decoder of texts in the encoding of that label of the
// WHATWG Encoding Standard, or with "" of texts whose encoding is told from each.
func NewDecoder(label string) (d Decoder, err error) {
	if label == "" {
		return d, nil
	}
	if d.Encoding = lookup(label); d.Encoding == nil {
		err = fmt.Errorf("unknown encoding %q: write a label of the WHATWG Encoding Standard, like utf-8, gb18030, big5, shift_jis, euc-kr, utf-16le, windows-1252 or koi8-r", label)
	}
	return d, err
}

// Decode returns body in UTF-8, without a byte order mark, and the encoding
// that it was in. The text is a part of body or of the decoder's own memory,
// and valid until the next call. A character of UTF-8 that the end of body
// cuts is left out; other bytes that are no characters are U+FFFD. The time is
// linear in the length of body.
func (d *Decoder) Decode(body []byte, hint Hint) ([]byte, *Encoding) {
	e := d.Encoding
	if e == nil {
		var valid bool
		if e, valid = d.decide(body, hint); valid {
			return whole(bytes.TrimPrefix(body, bomUTF8)), e
		}
	}
	return d.decode(body, e), e
}

// Decide returns the encoding that body is in.
func (d *Decoder) Decide(body []byte, hint Hint) *Encoding {
	if d.Encoding != nil {
		return d.Encoding
	}
	e, _ := d.decide(body, hint)
	return e
}

// decode decodes body, of which the encoding is known.
func (d *Decoder) decode(body []byte, e *Encoding) []byte {
	if e.kind == utf8Kind {
		body = whole(bytes.TrimPrefix(body, bomUTF8))
		if utf8.Valid(body) {
			return body
		}
		return bytes.TrimPrefix(bytes.ToValidUTF8(body, []byte("\uFFFD")), bomUTF8)
	}
	if d.decoders == nil {
		d.decoders = make(map[*Encoding]transform.Transformer)
	}
	if d.decoders[e] == nil {
		d.decoders[e] = e.enc.NewDecoder()
	}
	text, _, _ := transform.Append(d.decoders[e], d.buf[:0], body) // it replaces what it cannot decode
	d.buf = bytes.TrimPrefix(text, bomUTF8)
	return d.buf
}

// Byte order marks.
var (
	bomUTF8  = []byte("\xef\xbb\xbf")
	bomLarge = []byte("\xfe\xff")
	bomSmall = []byte("\xff\xfe")

	bom32Large = []byte("\x00\x00\xfe\xff")
	bom32Small = []byte("\xff\xfe\x00\x00")
)

// bom returns the encoding that a byte order mark tells, or nil.
func bom(b []byte) *Encoding {
	switch {
	case bytes.HasPrefix(b, bomUTF8):
		return UTF8
	case bytes.HasPrefix(b, bom32Large):
		return encodings["utf-32be"]
	case bytes.HasPrefix(b, bom32Small): // begins with that of UTF-16
		return encodings["utf-32le"]
	case bytes.HasPrefix(b, bomLarge):
		return encodings["utf-16be"]
	case bytes.HasPrefix(b, bomSmall):
		return encodings["utf-16le"]
	}
	return nil
}

// whole returns b without a character of UTF-8 that its end cuts.
func whole(b []byte) []byte {
	for i := 1; i <= min(3, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// decide returns the encoding of body; valid tells that it is UTF-8 without a
// fault.
func (d *Decoder) decide(body []byte, hint Hint) (e *Encoding, valid bool) {
	if e := bom(body); e != nil {
		return e, e == UTF8 && utf8.Valid(whole(body))
	}
	if e := wideASCII(body); e != nil {
		return e, false
	}
	if utf8.Valid(whole(body)) {
		switch {
		case escapes(body):
			return encodings["iso-2022-jp"], false
		case tildes(body):
			return encodings["hz-gb-2312"], false
		}
		return UTF8, true
	}
	if mostlyUTF8(body) {
		return UTF8, false
	}
	d.sample = sample(d.sample[:0], body)
	header := lookup(parameter(hint.ContentType))
	if header != nil && d.fits(header, body) {
		return header, false
	}
	if hint.HTML {
		if e := lookup(string(prescan(body))); e != nil && e != header && d.fits(e, body) {
			return e, false
		}
	}
	return best(d.sample, body), false
}

// fits tells that a text which is not UTF-8 may well be in the encoding that
// was declared.
func (d *Decoder) fits(e *Encoding, body []byte) bool {
	switch e.kind {
	case utf8Kind, stateful, utf32Kind:
		return false // they would have been seen
	case utf16Little, utf16Big:
		return wide(body, plainlyWide) == e
	}
	return !refuted(e, d.sample, body)
}
