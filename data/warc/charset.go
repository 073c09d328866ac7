package warc

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// metaCharset finds a declaration further down than the 1,024 bytes that the
// HTML standard looks at.
var metaCharset = regexp.MustCompile(`(?i)<(?:meta|\?xml)[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_:.-]+)`)

const (
	metaWindow   = 16 << 10
	detectWindow = 32 << 10
)

// toUTF8 decodes a page. The encoding is told, in this order, from a byte
// order mark; from the bytes being UTF-8, which other encodings hardly ever
// are by chance; from the HTTP header; from the page's declaration; from its
// statistics. What no encoding explains comes back as Windows-1252.
func toUTF8(dst, body []byte, contentType string) []byte {
	enc, name, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], "")
	hasBOM := certain && (bytes.HasPrefix(body, []byte{0xef, 0xbb, 0xbf}) || bytes.HasPrefix(body, []byte{0xfe, 0xff}) || bytes.HasPrefix(body, []byte{0xff, 0xfe}))
	if !hasBOM {
		if validUTF8(body) && !statefulASCII(body) {
			return append(dst, bytes.ToValidUTF8(body, nil)...) // without a character that the end cuts
		}
		enc, name = declared(body, contentType)
		if enc == nil {
			enc, name = detect(body)
		}
	}
	switch name {
	case "utf-8":
		return append(dst, bytes.ToValidUTF8(bytes.TrimPrefix(body, []byte{0xef, 0xbb, 0xbf}), []byte("\uFFFD"))...)
	case "gbk", "gb2312":
		enc = simplifiedchinese.GB18030 // its superset
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil { // the decoders replace what they cannot decode; none is known to fail
		return append(dst, bytes.ToValidUTF8(body, []byte("\uFFFD"))...)
	}
	return append(dst, bytes.TrimPrefix(out, []byte("\uFEFF"))...)
}

// declared is the encoding that the HTTP header or the page names; nil when
// there is none, or it names UTF-8, which the page is not.
func declared(body []byte, contentType string) (encoding.Encoding, string) {
	var labels []string
	if _, after, ok := strings.Cut(strings.ToLower(contentType), "charset="); ok {
		labels = append(labels, strings.Trim(strings.TrimSpace(after), `"' ;`))
	}
	if m := metaCharset.FindSubmatch(body[:min(len(body), metaWindow)]); m != nil {
		labels = append(labels, string(m[1]))
	}
	for _, label := range labels {
		label, _, _ = strings.Cut(label, ";")
		enc, name := charset.Lookup(strings.TrimSpace(label))
		if enc == nil || strings.HasPrefix(name, "utf-16") || name == "replacement" {
			continue // a page declared as UTF-16 in ASCII is not in it
		}
		if name == "utf-8" {
			if mostlyUTF8(body) {
				return enc, name
			}
			continue
		}
		return enc, name
	}
	return nil, ""
}

// detect guesses the encoding from the statistics of the bytes.
func detect(body []byte) (encoding.Encoding, string) {
	if mostlyUTF8(body) {
		return encoding.Nop, "utf-8"
	}
	// Markup is ASCII and says nothing: what is not is what counts.
	sample := make([]byte, 0, detectWindow)
	for i := 0; i < len(body) && len(sample) < detectWindow; i++ {
		if c := body[i]; c >= 0x80 || c == 0x1b || i > 0 && body[i-1] >= 0x80 {
			sample = append(sample, c)
		} else if n := len(sample); n > 0 && sample[n-1] != ' ' {
			sample = append(sample, ' ')
		}
	}
	if statefulASCII(body) {
		sample = body[:min(len(body), detectWindow)]
	}
	if best, err := chardet.NewTextDetector().DetectBest(sample); err == nil {
		if enc, name := charset.Lookup(best.Charset); enc != nil && !strings.HasPrefix(name, "utf-") {
			return enc, name
		}
	}
	return charmap.Windows1252, "windows-1252"
}

// validUTF8 is utf8.Valid, but for a character that the end cuts.
func validUTF8(b []byte) bool {
	for i := 1; i <= min(3, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				b = b[:len(b)-i]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// mostlyUTF8 tells text that is UTF-8 but for a few damaged places: fewer
// than one in 20 of its non-ASCII characters.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	return bad*20 < good
}

// statefulASCII tells ISO-2022-JP and its like, which are valid UTF-8, by
// their escape sequences.
func statefulASCII(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$")) && bytes.Contains(b, []byte("\x1b("))
}
