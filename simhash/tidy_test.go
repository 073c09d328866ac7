package simhash

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func normalOf(text string) string {
	return string(simplifiedForms().normal(nil, []byte(text), new(scratch)))
}

func TestEntitiesAreDecoded(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"&#x8FD1;&#20284;&nbsp;&quot;Caf&Eacute;&quot;", `近似 "café"`},
		{"a &lt;b&gt; c &AMP; d", "a <b> c & d"},
		{"AT&amp;amp;amp;T", "at&t"},
		{"&&#97;mp;nbsp;x", " x"}, // entities within an entity
		{"＆ｎｂｓｐ；x&#xff06;lt；", " x<"},
		{"&a\u00admp;&shy;&zwnj;b", "&b"},
		{"e&#x301;", "é"},
		{"&semi;&#59;&amp&semi;", ";;&"},
		{"a && b; &notit; &ampfoo; &amp &;&#; &#x; &nosuch; r&d; ?a=1&copy=2;", "a && b; &notit; &ampfoo; &amp &;&#; &#x; &nosuch; r&d; ?a=1&copy=2;"},
		{"&#0;&#xd800;&#x110000;", "\ufffd\ufffd\ufffd"},
	} {
		if got := normalOf(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// A text whose characters are written as entities, in whatever way and however
// often, has the normal form of the text.
func TestEntitiesAreSeenThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := string(rapid.SliceOfN(rapid.SampledFrom(interesting[6:]), 0, 40).Draw(t, "text"))
		// A dotted capital I before a mark has another form than one alone.
		plain = strings.NewReplacer("&", "", "\x00", "", "\u00ad", "", "\ufffd", "", "\u0130", "").Replace(plain)
		var b strings.Builder
		for _, c := range plain {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&b, "&#%d;", c)
			case 1:
				fmt.Fprintf(&b, "&#X%x;", c)
			case 2:
				b.WriteString(html.EscapeString(string(c)))
			default:
				b.WriteRune(c)
			}
		}
		text := b.String()
		for range rapid.IntRange(0, 3).Draw(t, "more often") {
			text = html.EscapeString(text)
		}
		if got, want := normalOf(text), normalOf(plain); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

// Names of any length, and in whatever case they are the table's.
func TestEveryEntityIsDecoded(t *testing.T) {
	for _, name := range []string{"amp", "AMP", "nbsp", "Ouml", "hellip", "mdash", "euro", "alpha", "therefore"} {
		entity := "&" + name + ";"
		want := normalOf(html.UnescapeString(entity))
		if got := normalOf(entity); got != want {
			t.Errorf("%s: %q, want %q", entity, got, want)
		}
	}
}

func numberedLines(from, n int, format string) (numbered, plain string) {
	var a, b strings.Builder
	for i := range n {
		line := fmt.Sprintf("line of %d words\n", i*i)
		fmt.Fprintf(&a, format, from+i)
		a.WriteString(line)
		b.WriteString(line)
	}
	return a.String(), b.String()
}

func TestLineNumbersAreCut(t *testing.T) {
	for _, format := range []string{"%d ", "%4d\t", "%d. ", "%03d: ", "  %d| ", "%d) "} {
		text, want := numberedLines(7, 30, format)
		if got := normalOf(text); got != want {
			t.Errorf("%q: %q", format, got)
		}
		header := "a title\n\n" + text
		if got := normalOf(header); got != "a title\n\n"+want {
			t.Errorf("%q with a title: %q", format, got)
		}
	}
	few, _ := numberedLines(1, minNumbered-1, "%d ")
	twice, _ := numberedLines(1, 30, "%d ")
	twice = strings.ReplaceAll(twice, "line of ", "")
	table := ""
	for i := range 20 {
		table += fmt.Sprintf("%d %d words\n", i, i+1900)
	}
	joined, _ := numberedLines(1, 20, "%d")
	decimals, _ := numberedLines(1, 20, "%d.5 ")
	same, _ := numberedLines(0, 20, "7 %d ")
	for _, text := range []string{few, table, joined, decimals, same, "day 44", "44\n", strings.Repeat("prose\n", 9) + few} {
		if got := normalOf(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := normalOf(twice); got == twice {
		t.Error("squares look like a second line number")
	}
}

// checkTidy says what the normal form promises of every text.
func checkTidy(t interface{ Fatalf(string, ...any) }, text []byte) {
	var s scratch
	for name, table := range map[string]*formTable{"traditional": traditionalForms(), "simplified": simplifiedForms()} {
		once := table.normal([]byte("x&"), text, &s)
		if !bytes.HasPrefix(once, []byte("x&")) {
			t.Fatalf("%s form of %q changes what stood before it: %q", name, text, once)
		}
		once = once[2:]
		if again := table.normal(nil, once, &s); !bytes.Equal(once, again) {
			t.Fatalf("%s form of %q is not one itself:\n    %q\nnot %q", name, text, once, again)
		}
		form := table.append(nil, text, &s)
		if !bytes.ContainsAny(form, "&") && bytes.Count(form, []byte("\n")) < minNumbered-1 && !bytes.Equal(once, form) {
			t.Fatalf("%s form of %q: %q, want %q", name, text, once, form)
		}
	}
}

func TestNormalFormIsItsOwn(t *testing.T) {
	part := rapid.OneOf(
		rapid.Map(rapid.SampledFrom(interesting), func(c rune) string { return string(c) }),
		rapid.SampledFrom([]string{"&", ";", "#", "#x", "amp", "amp;", "&amp;", "&nbsp;", "&#", "&#x26;", "38", "semi", "＆", "；", "\n", "1 ", "2. "}),
		rapid.Map(rapid.IntRange(0, 0x20000), func(c int) string { return fmt.Sprintf("&#%d;", c) }))
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		number := rapid.IntRange(0, 3).Draw(t, "from")
		numbered := rapid.Bool().Draw(t, "numbered")
		for _, p := range rapid.SliceOfN(part, 0, 60).Draw(t, "parts") {
			b.WriteString(p)
			if numbered && p == "\n" || rapid.IntRange(0, 3).Draw(t, "break") == 0 {
				fmt.Fprintf(&b, "\n%d ", number)
				number++
			}
		}
		checkTidy(t, []byte(b.String()))
	})
}

func FuzzNormal(f *testing.F) {
	f.Add([]byte("&amp;#x26;＆ａｍｐ；nbsp;&&#97;mp;&semi;"))
	text, _ := numberedLines(1, 20, "%d ")
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, text []byte) { checkTidy(t, text) })
}
