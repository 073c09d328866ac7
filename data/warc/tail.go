package warc

import "bytes"

// withoutTail returns a page without the binary data behind it: what a server
// or a crawler appended is no text, and would make the page's encoding seem to
// be another. It looks at the last KiB; only where that is binary, at more.
func withoutTail(body []byte) []byte {
	const step = 1 << 10
	start := len(body)
	for start >= 2*step && isBinary(body[start-step:start]) {
		start -= step
	}
	if start == len(body) {
		return body
	}
	begin := start - step
	for begin < len(body) && !isControl(body[begin]) {
		begin++
	}
	if end := bytes.LastIndexByte(body[:begin], '>'); end >= 0 {
		return body[:end+1]
	}
	return body
}
