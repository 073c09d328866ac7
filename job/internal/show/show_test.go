package show

import (
	"strings"
	"testing"
	"unicode/utf8"

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

func TestColumns(t *testing.T) {
	var c Columns
	c.Row("id", "n", "title")
	c.Row("文字", 1, "a\tb\x1b[31m")
	c.Row("long", "", strings.Repeat("x", 2000))
	c.Row(strings.Repeat("长", 1<<20), 2, "")
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	space := func(n int) string { return strings.Repeat(" ", n) }
	for i, want := range []string{
		"id" + space(159) + "n  title",
		"文字" + space(157) + "1  a⟨U+0009⟩b⟨U+001B⟩[31m",
		"long" + space(160) + strings.Repeat("x", 999) + "…",
		strings.Repeat("长", 79) + "…  2",
		"",
	} {
		if lines[i] != want {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
}

// A line has no more cells than it may, ends no line and hides nothing.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab文́ \n\t\x1b\u202e\u200b👩🏽‍🚀\xff")), 0, 3000, -1).Draw(t, "text")
		got := Cut(text, 20)
		if cells.StringWidth(got) > 20 || strings.IndexFunc(got, hidden) >= 0 || !utf8.ValidString(got) {
			t.Fatalf("%q of %q", got, text)
		}
		if !strings.HasSuffix(got, "…") && got != visible(text, "") {
			t.Fatalf("%q of %q", got, text)
		}
	})
}

// An address breaks between its parts, and stays escaped.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"m.example.org": "m.<wbr>example.<wbr>org", "http://a/b?c=d_e": "http:/<wbr>/<wbr>a/<wbr>b?<wbr>c=<wbr>d_<wbr>e",
		`<b onclick="x">&.`: "&lt;b onclick=<wbr>&#34;x&#34;&gt;&amp;.<wbr>", "a\u202eb": "a⟨U+202E⟩b",
	} {
		if got := string(address(text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
