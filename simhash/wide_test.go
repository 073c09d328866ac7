package simhash

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// needWide skips a test of the assembly where there is none.
func needWide(t *testing.T) {
	t.Helper()
	if !hasWide {
		t.Skip("no assembly on this machine")
	}
}

// checkWide compares what is made of text sixteen characters at a time with
// what is made of it one at a time.
func checkWide(t interface {
	Helper()
	Fatalf(string, ...any)
}, w *Workspace, text []byte) {
	t.Helper()
	result := w.Fingerprint(nil, text)
	normal := bytes.Clone(w.Normal())
	hasWide = false
	want := w.Fingerprint(nil, text)
	hasWide = true
	if !bytes.Equal(normal, w.Normal()) {
		t.Fatalf("normal form of %q:\n     %q\nwant %q", text, normal, w.Normal())
	}
	if result != want {
		t.Fatalf("%q: %v, want %v", text, result, want)
	}
}

// The assembly and the Go code make the same of every text, valid or not.
func TestWideAgrees(t *testing.T) {
	needWide(t)
	simplified, traditional := analyzer(t, DefaultOptions()), analyzer(t, variety()[2])
	part := rapid.OneOf(rapid.SampledFrom(phrases[:9]), rapid.SampledFrom([]string{"ＡＢ，１", "e\u0301", "a", "'", "\u212b"}), textPart)
	for _, a := range []*Analyzer{simplified, traditional} {
		w := a.NewWorkspace()
		rapid.Check(t, func(rt *rapid.T) {
			var text []byte
			for _, p := range rapid.SliceOfN(part, 0, 120).Draw(rt, "text") {
				text = append(text, p...)
			}
			checkWide(rt, w, text)
		})
	}
}

func FuzzWide(f *testing.F) {
	f.Add([]byte(goldenText))
	f.Add([]byte(strings.Join(phrases, "")))
	f.Add([]byte("近似重复\x80文档的检测是网页去重的基础\xed\xa0\x80abc"))
	w := analyzer(f, DefaultOptions()).NewWorkspace()
	f.Fuzz(func(t *testing.T, text []byte) {
		needWide(t)
		checkWide(t, w, text)
	})
}

// Every character, at every place of a block, has the same form and the same
// cell both ways.
func TestWideReadsEveryCharacter(t *testing.T) {
	needWide(t)
	w := analyzer(t, DefaultOptions()).NewWorkspace()
	var text []byte
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r < 0x30000 || r%1009 == 0 {
			text = utf8.AppendRune(text, r)
		}
	}
	for shift := range 3 {
		checkWide(t, w, append(bytes.Repeat([]byte("x"), shift), text...))
	}
}
