package warc

import (
	"bytes"
	"strings"
)

// header is the lines of a record's or an HTTP message's header, with the one
// before its fields.
type header []byte

// get returns the value of the first field of that name, compared without
// case; nil if there is none. A value that goes on in further lines, which
// start with white space, is returned in one.
func (h header) get(name string) []byte {
	for rest := []byte(h); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		field, value, ok := bytes.Cut(line, []byte{':'})
		if !ok || blank(line) || !equalFold(bytes.TrimSpace(field), name) {
			continue
		}
		if value = bytes.TrimSpace(value); blank(rest) {
			value = bytes.Clone(value)
		}
		for blank(rest) {
			line, rest, _ = bytes.Cut(rest, []byte{'\n'})
			value = append(append(value, ' '), bytes.TrimSpace(line)...)
		}
		return bytes.TrimSpace(value)
	}
	return nil
}

// blank reports whether a line starts with white space: it is a part of the
// field before it.
func blank(line []byte) bool { return len(line) > 0 && (line[0] == ' ' || line[0] == '\t') }

// equalFold is strings.EqualFold for an s of ASCII.
func equalFold(b []byte, s string) bool { return len(b) == len(s) && strings.EqualFold(string(b), s) }

// media is a content type without its parameters, in lower case.
func media(contentType []byte) string {
	contentType, _, _ = bytes.Cut(contentType, []byte{';'})
	contentType, _, _ = bytes.Cut(contentType, []byte{','})
	return string(bytes.ToLower(bytes.TrimSpace(contentType)))
}
