package warc

import (
	"strings"
	"testing"
)

func TestHeader(t *testing.T) {
	h := header("WARC/1.0: no field\r\nA: 1\r\nb :2 \r\nC:\r\n\t3\r\n  4\r\nno field\r\n E: folded\r\nA: 5\r\nd:\n6\nF:\n x")
	for name, want := range map[string]string{
		"a": "1", "B": "2", "c": "3 4", "d": "", "6": "", "E": "", "f": "x", "": "", "WARC/1.0": "no field",
	} {
		if got := string(h.get(name)); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestLongHeader takes time that grows with the header's length: a value of
// very many lines.
func TestLongHeader(t *testing.T) {
	h := header("A: b\r\n" + strings.Repeat(" c\r\n", 1<<20) + "D: e\r\n")
	if got := h.get("A"); len(got) != 1+2<<20 {
		t.Errorf("%d bytes", len(got))
	}
	if got := string(h.get("D")); got != "e" {
		t.Errorf("%q", got)
	}
}

func TestMedia(t *testing.T) {
	for contentType, want := range map[string]string{
		"": "", "text/html": "text/html", "Text/HTML; charset=x": "text/html", " text/plain ,x": "text/plain", "IMAGE/png": "image/png", "html": "html",
	} {
		if got := media([]byte(contentType)); got != want {
			t.Errorf("%q: %q, want %q", contentType, got, want)
		}
	}
}
