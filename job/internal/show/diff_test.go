package show

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The pieces give both texts back.
func TestDiffGivesTheTextsBack(t *testing.T) {
	texts := rapid.StringOfN(rapid.SampledFrom([]rune("ab 文字。\n")), 0, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		first, second := "", ""
		pieces := Diff([]byte(a), []byte(b))
		for _, p := range pieces {
			if p.Op != Second {
				first += p.Text
			}
			if p.Op != First {
				second += p.Text
			}
		}
		want := func(s string) string { return strings.Join(slices.Collect(tokens([]byte(s))), "") }
		if first != want(a) || second != want(b) {
			t.Fatalf("%q and %q from %v", first, second, pieces)
		}
		rowsA, rowsB, alike := "", "", 0
		for _, r := range SideBySide(pieces, 0) {
			for _, p := range r.First {
				rowsA += p.Text
			}
			for _, p := range r.Second {
				rowsB += p.Text
			}
			alike += r.Alike
		}
		solid := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if alike == 0 && (solid(rowsA) != solid(first) || solid(rowsB) != solid(second)) {
			t.Fatalf("rows of %q and %q, want %q and %q", rowsA, rowsB, first, second)
		}
		if a == b && rowsA+rowsB != "" && strings.Count(a, "。") > 2 {
			t.Fatalf("equal texts show %q", rowsA)
		}
		for _, colour := range []bool{false, true} {
			var out bytes.Buffer
			if err := WriteSideBySide(&out, SideBySide(pieces, 0), 60, colour, same); err != nil {
				t.Fatal(err)
			}
			for l := range strings.Lines(out.String()) {
				left, _, found := strings.Cut(l, " │ ")
				if !found {
					continue
				}
				n, escape := 0, false
				for _, c := range left {
					switch {
					case c == '\x1b':
						escape = true
					case escape:
						escape = c != 'm'
					default:
						n += cells.RuneWidth(c)
					}
				}
				if n != 28 {
					t.Fatalf("a left column of %d cells in %q", n, l)
				}
			}
			if colour != strings.Contains(out.String(), "\x1b") && strings.ContainsAny(out.String(), "[{") {
				t.Fatalf("colour %t: %q", colour, out.String())
			}
		}
	})
}

func TestDiffIsByWord(t *testing.T) {
	pieces := Diff([]byte("the quick brown fox"), []byte("the quiet brown fox"))
	want := []Piece{{Both, "the "}, {First, "quick"}, {Second, "quiet"}, {Both, " brown fox"}}
	if !slices.Equal(pieces, want) {
		t.Errorf("%v", pieces)
	}
	pieces = Diff([]byte("图书馆新馆开放"), []byte("图书馆的新馆开放"))
	if want := []Piece{{Both, "图书馆"}, {Second, "的"}, {Both, "新馆开放"}}; !slices.Equal(pieces, want) {
		t.Errorf("%v", pieces)
	}
}

// A text by itself takes the whole width, has no marks, and is all there.
func TestWrap(t *testing.T) {
	text := "第一行很长，超过了二十个格子的宽度，所以要断开。\n\nshort line\n" + strings.Repeat("word ", 30)
	got := Wrap(text, 40)
	for line := range strings.Lines(got) {
		if n := Cells(strings.TrimSuffix(line, "\n")); n > 40 || n == 0 {
			t.Errorf("a line of %d cells: %q", n, line)
		}
	}
	plain := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "")), "") }
	if plain(got) != plain(text) || !strings.Contains(got, "\nshort line\n") {
		t.Errorf("%q", got)
	}
}

func TestWriteSideBySide(t *testing.T) {
	a := []byte("第一句相同。第二句相同。第三句相同。第四句旧的说法。第五句。")
	b := []byte("第一句相同。第二句相同。第三句相同。第四句新的说法。第五句。")
	var out bytes.Buffer
	if err := WriteSideBySide(&out, SideBySide(Diff(a, b), 0), 60, false, same); err != nil {
		t.Fatal(err)
	}
	want := "                     … 2 the same …\n" +
		"第三句相同。                 │ 第三句相同。\n" +
		"第四句[-旧-]的说法。         │ 第四句{+新+}的说法。\n" +
		"第五句。                     │ 第五句。\n"
	if out.String() != want {
		t.Errorf("\n%swant\n%s", out.String(), want)
	}
}

func same(n int) string { return fmt.Sprintf("… %d the same …", n) }
