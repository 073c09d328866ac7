package charset

import (
	"io"

	"golang.org/x/text/transform"
)

// NewReader returns what r holds, decoded from its start: of encodings that
// are not decoded by line, see PerLine. What is no character is U+FFFD; a byte
// order mark comes through.
func (e *Encoding) NewReader(r io.Reader) io.Reader {
	if e.kind == utf8Kind {
		return r
	}
	return transform.NewReader(r, e.enc.NewDecoder())
}
