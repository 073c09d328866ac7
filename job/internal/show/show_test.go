package show

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain 文字\tof\na line":  "plain 文字\tof\na line",
		"evil\u202egpj.exe":     "evil⟨U+202E⟩gpj.exe",
		"a\x00b\x1b[31m":        "a⟨U+0000⟩b⟨U+001B⟩[31m",
		"zero\u200bwidth\ufeff": "zero⟨U+200B⟩width⟨U+FEFF⟩",
		"\u2066x\u2069":         "⟨U+2066⟩x⟨U+2069⟩",
		"می\u200cخواهم":         "می\u200cخواهم",
		"bad\xff":               "bad\ufffd",
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) is %q, want %q", text, got, want)
		}
	}
}

// An excerpt is the text, or its first characters and an ellipsis.
func TestExcerpt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "most")
		got := Excerpt([]byte(text), most)
		if runes := []rune(text); len(runes) <= most {
			if got != text {
				t.Fatalf("%q, want all of %q", got, text)
			}
		} else if got != string(runes[:most])+"…" {
			t.Fatalf("%q, want %d characters of %q", got, most, text)
		}
	})
	if got := Excerpt([]byte("a\xffb"), 5); got != "a\ufffdb" || strings.Contains(got, "\xff") {
		t.Errorf("%q", got)
	}
}
