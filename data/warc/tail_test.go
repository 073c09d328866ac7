package warc

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
)

// Binary data behind a page is no text of it, and does not change its encoding.
func TestWithoutTail(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	binary := make([]byte, 20_000)
	for i := range binary {
		binary[i] = byte(r.Uint32())
	}
	paragraph := strings.Repeat("Es fällt den Füchsen schwer, über träge Hunde zu springen, sagen ältere Jäger. ", 40)
	for name, html := range map[string]string{
		"page":                 "<html><body><p>" + paragraph + "</p></body></html>\n",
		"page without its end": "<html><body><p>" + paragraph + "</p>",
	} {
		for _, tail := range [][]byte{nil, binary[:1100], binary[:5000], binary} {
			var doc data.Document
			p := newPages(data.ReaderOptions{}, charset.Decoder{})
			if err := p.text(&doc, append([]byte(html), tail...), "text/html", true); err != nil {
				t.Fatal(err)
			}
			if got, want := string(doc.Text), strings.TrimSpace(paragraph); got != want {
				t.Errorf("%s with %d bytes behind it: %d bytes of text, want %d: …%.80q", name, len(tail), len(got), len(want), got[max(0, len(got)-80):])
			}
		}
	}
	for _, body := range [][]byte{nil, bytes.Repeat([]byte("a\x00"), 2000), binary} {
		if got := withoutTail(body); !bytes.Equal(got, body) && !bytes.Equal(body, binary) {
			t.Errorf("%d bytes of %.8q: %d are left", len(body), body, len(got))
		}
	}
}
