package warc

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

// converter makes documents of records. It owns what is used again from one
// to the next, and belongs to one goroutine.
type converter struct {
	path   string
	opts   data.ReaderOptions
	bodies bodies
	msg    message
	raw    []byte // of the last record that was skipped
	pages  *pages
}

func (r *reader) newConverter() *converter {
	return &converter{path: r.archive.path, opts: r.opts, bodies: bodies{limit: r.opts.RecordLimit()}, pages: newPages(r.opts, r.charset)}
}

func (c *converter) close() { c.bodies.close() }

// wanted reports whether a record may be a page; if not, what it is.
func wanted(h header) (yes bool, what string) {
	kind := strings.ToLower(string(h.get("WARC-Type")))
	contentType := media(h.get("Content-Type"))
	switch kind {
	case "response":
		return contentType == "application/http" || contentType == "", contentType
	case "resource", "conversion":
		return isPage(contentType) || saysNothing(contentType), contentType
	}
	return false, kind
}

// convert fills doc from a record that is wanted, whose block was read as far
// as it is not too large.
func (c *converter) convert(doc *data.Document, r *record) error {
	doc.Offset = r.offset
	contentType, body, encoded := r.header.get("Content-Type"), r.block, ""
	response := equalFold(r.header.get("WARC-Type"), "response")
	if response {
		if err := c.msg.parse(r.block); err != nil {
			return c.skip(r, data.ReasonMalformed, err)
		}
		if c.opts.HTTPStatus != data.HTTPStatusAll && (c.msg.status < 200 || c.msg.status > 299) {
			return c.skip(r, data.ReasonHTTPStatus, fmt.Errorf("status %d", c.msg.status))
		}
		contentType = c.msg.header.get("Content-Type")
		if m := media(contentType); !isPage(m) && !saysNothing(m) {
			return notPage(c.path, r.offset, m)
		}
	}
	if limit := c.opts.RecordLimit(); r.length > limit {
		return c.skip(r, data.ReasonTooLarge, fmt.Errorf("%d bytes: longer than %d", r.length, limit))
	}
	if response {
		var err error
		if body, encoded, doc.Cut, err = c.bodies.decode(&c.msg); err != nil {
			return c.skip(r, data.ReasonTooLarge, err)
		}
	}
	if response && c.bodies.damaged && !r.sure {
		return c.skip(r, data.ReasonUndecodable, errors.New("the body is damaged, and no checksum tells whether it was so when it was captured"))
	}
	if n := data.MemoryOf(len(body)); n > r.took { // it was compressed
		data.Give(c.opts.Pages, r.took)
		r.took = data.Take(c.opts.Pages, n)
	}
	if len(r.header.get("WARC-Truncated")) > 0 {
		doc.Cut = true
	}
	if len(body) == 0 {
		return c.skip(r, data.ReasonNoText, errors.New("the body is empty"))
	}
	kind, sniffed := media(contentType), sniff(body)
	unknown := saysNothing(kind)
	if unknown {
		kind = sniffed
	}
	switch binary := isBinary(body) && !bytes.Contains(bytes.ToLower(contentType), []byte("charset=utf-16")); {
	case encoded != "" && (binary || sniffed == "application/x-gzip"):
		return c.skip(r, data.ReasonUndecodable, fmt.Errorf("the body cannot be decoded: Content-Encoding %.40q", encoded))
	case !isPage(kind) || isOther(sniffed):
		return notPage(c.path, r.offset, sniffed)
	case binary && unknown:
		return notPage(c.path, r.offset, "unknown type")
	case binary:
		return c.skip(r, data.ReasonUndecodable, fmt.Errorf("the body is binary, not %s", kind))
	}
	if err := c.pages.text(doc, body, string(contentType), kind == "text/html" || kind == "application/xhtml+xml"); err != nil {
		return c.skip(r, data.ReasonNoText, err)
	}
	c.identify(doc, r)
	// The crawler looked at the text; the page says it of itself, the server of all its pages.
	if l := r.header.get("WARC-Identified-Content-Language"); len(l) > 0 {
		doc.Language = append(doc.Language[:0], l...)
	} else if len(doc.Language) == 0 && response {
		doc.Language = append(doc.Language, c.msg.header.get("Content-Language")...)
	}
	return nil
}

func (c *converter) identify(doc *data.Document, r *record) {
	url := bytes.Trim(r.header.get("WARC-Target-URI"), "<> ")
	id := bytes.Trim(r.header.get("WARC-Record-ID"), "<> ")
	if c.opts.WARCID != data.WARCIDRecord && len(url) > 0 || len(id) == 0 {
		id = url
	}
	doc.ID = append(doc.ID, id...)
	if len(doc.ID) == 0 {
		doc.ID = field.AppendDefaultID(doc.ID, c.path, r.offset)
	}
	doc.Date = field.ParseDate(r.header.get("WARC-Date"))
}

// skip is the bad record of a record; its bytes are valid until the next.
func (c *converter) skip(r *record, reason string, err error) error {
	c.raw = append(append(c.raw[:0], r.header...), r.block[:min(len(r.block), keptRaw)]...)
	return &data.BadRecord{Source: c.path, Offset: r.offset, Reason: reason, Err: err, Raw: c.raw[:min(len(c.raw), keptRaw)]}
}

// notPage is the bad record of a record that is no page; its bytes are not
// kept.
func notPage(path string, offset int64, what string) error {
	if what == "" {
		what = "unknown type"
	}
	return &data.BadRecord{Source: path, Offset: offset, Reason: data.ReasonNotPage, Err: errors.New(what)}
}

// isPage tells the types that are read as documents.
func isPage(media string) bool {
	switch media {
	case "text/html", "application/xhtml+xml", "text/plain", "text/markdown", "text/x-markdown":
		return true
	}
	return false
}

// saysNothing tells the types that servers send when they do not know, and
// what is no type, like "html": the body is looked at.
func saysNothing(media string) bool {
	switch media {
	case "", "*/*", "unknown/unknown", "application/unknown", "application/x-unknown", "application/octet-stream", "binary/octet-stream":
		return true
	}
	return !strings.Contains(media, "/")
}

// sniff tells a body's type from its first bytes, as browsers do, and by the
// tags that every page of HTML has somewhere near its beginning.
func sniff(body []byte) string {
	sniffed := media([]byte(http.DetectContentType(body)))
	if strings.HasPrefix(sniffed, "text/") && sniffed != "text/html" {
		head := bytes.ReplaceAll(body[:min(len(body), 1024)], []byte{0}, nil) // UTF-16
		head = bytes.ToLower(head)
		for _, tag := range []string{"<!doctype html", "<html", "<head>", "<body", "<title>"} {
			if bytes.Contains(head, []byte(tag)) {
				return "text/html"
			}
		}
	}
	return sniffed
}

// isOther tells, of what http.DetectContentType says, what is certainly no
// text, whatever the server called it.
func isOther(sniffed string) bool {
	for _, prefix := range []string{"image/", "audio/", "video/", "font/", "application/pdf", "application/zip", "application/x-gzip", "application/x-rar", "application/wasm", "application/vnd.ms-fontobject"} {
		if strings.HasPrefix(sniffed, prefix) {
			return true
		}
	}
	return false
}

// isBinary reports whether body is no text in any encoding: of random bytes 9
// in 100 are control characters that no text has. The bytes of UTF-16 are,
// but those of markup have a zero at every other place.
func isBinary(body []byte) bool {
	sample := body[:min(len(body), 2048)]
	controls := 0
	var zeros [2]int // at even and odd places
	for i, b := range sample {
		switch {
		case b == 0:
			zeros[i&1]++
		case isControl(b):
			controls++
		}
	}
	if most, least := max(zeros[0], zeros[1]), min(zeros[0], zeros[1]); most*10 > len(sample) && least*10 < most {
		return false
	}
	return controls > 2+len(sample)/50
}

// isControl tells the control characters that no text has, in whatever encoding.
func isControl(b byte) bool {
	return b < 0x20 && b != '\t' && b != '\n' && b != '\f' && b != '\r' && b != 0x0e && b != 0x0f && b != 0x1a && b != 0x1b || b == 0x7f
}
