package passage

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/simhash"
)

func read(text string) []uint32 { return new(simhash.LetterReader).Read(nil, []byte(text)) }

// random is n letters drawn from so many of a script that begins there.
func random(rng *rand.Rand, n int, from rune, of int) []uint32 {
	letters := make([]uint32, n)
	for i := range letters {
		letters[i] = uint32(from) + 1 + uint32(rng.IntN(of))
	}
	return letters
}

// index is that of items.
func index(t testing.TB, items ...[]uint32) *Index {
	t.Helper()
	var b Builder
	for i, letters := range items {
		if n, err := b.Add(letters); err != nil || n != i {
			t.Fatalf("item %d got number %d: %v", i, n, err)
		}
	}
	return b.Build()
}

// Any stretch in common that weighs Seen is seen, wherever it stands in both; of
// letters of an alphabet 29 do, of Chinese characters nine.
func TestSeen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		script := rapid.SampledFrom([]string{"latin", "han", "mixed"}).Draw(t, "script")
		some := func(n int) []uint32 {
			switch script {
			case "latin":
				return random(rng, n, 'a', 26)
			case "han":
				return random(rng, n, '一', 2000)
			}
			letters := random(rng, n, 'a', 26)
			for i := range letters {
				if rng.IntN(3) == 0 {
					letters[i] = uint32('一') + 1 + uint32(rng.IntN(2000))
				}
			}
			return letters
		}
		var run []uint32
		switch script {
		case "latin":
			run = some(29)
		case "han":
			run = some(9)
		default:
			for run = some(12); WeightOf(run) < Seen; {
				run = append(run, some(1)...)
			}
		}
		around := func(most int) []uint32 {
			return slices.Concat(some(rng.IntN(most)), run, some(rng.IntN(most)))
		}
		var b Builder
		if _, err := b.Add(some(100)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(around(3000)); err != nil {
			t.Fatal(err)
		}
		s := NewSearcher(b.Build(), Rules{Share: 2, Run: 1})
		for _, h := range s.Search(around(3000)) {
			if h.Item == 1 && h.Run >= len(run) {
				return
			}
		}
		t.Fatalf("a run of %d letters, weight %d, is not seen", len(run), WeightOf(run))
	})
}

// An alignment is what the texts say: its letters in common are no more than the
// longest common subsequence has, and where few edits are apart, no fewer.
func TestExtendAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		a := random(rng, 20+rng.IntN(80), 'a', 26)
		b := slices.Clone(a)
		edits := rng.IntN(6)
		for range edits {
			at := rng.IntN(len(b))
			switch rng.IntN(3) {
			case 0:
				b[at] = uint32('a') + 1 + uint32(rng.IntN(26))
			case 1:
				b = slices.Insert(b, at, uint32('a')+1+uint32(rng.IntN(26)))
			default:
				b = slices.Delete(b, at, at+1)
			}
		}
		var x aligner
		on := x.extend(a, b, 0, 0, len(a), len(b), 1)
		back := x.extend(a, b, len(a)-1, len(b)-1, len(a), len(b), -1)
		want := subsequence(a, b)
		for _, r := range []reach{on, back} {
			if got := subsequence(a[:r.doc], b[:r.item]); r == on && got != r.equal {
				t.Fatalf("%d of %d and %d letters are said to be in common, %d are", r.equal, r.doc, r.item, got)
			}
			if r.equal > want || r.run > r.equal || r.first > r.equal {
				t.Fatalf("%+v of texts that have %d in common", r, want)
			}
			// What it leaves out at the end costs more than it would bring.
			if r.equal < want-12 {
				t.Fatalf("%+v after %d edits of texts that have %d in common", r, edits, want)
			}
		}
		if edits == 0 && (on.run != len(a) || back.first != len(a)) {
			t.Fatalf("equal texts: %+v %+v", on, back)
		}
	})
}

// subsequence is the length of the longest common subsequence.
func subsequence(a, b []uint32) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			was := row[j+1]
			if row[j+1] = max(was, row[j]); x == y {
				row[j+1] = diagonal + 1
			}
			diagonal = was
		}
	}
	return row[len(b)]
}

func TestVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	question := random(rng, 120, 'a', 26)
	long := random(rng, 5000, 'a', 26)
	other := random(rng, 3000, 'a', 26)
	line := random(rng, 60, 'a', 26) // that all quote
	x := index(t, slices.Concat(question[:60], line, question[60:]), slices.Concat(long, line), random(rng, 400, 'a', 26))
	s := NewSearcher(x, Rules{Share: 0.7, Run: 300, Least: 48})
	whole := x.Item(0)
	edited := slices.Clone(whole)
	for i := 10; i < len(edited); i += 40 {
		edited[i] = '一'
	}
	for _, c := range []struct {
		name  string
		doc   []uint32
		items []int
		want  []Verdict
	}{
		{"nothing", other, nil, nil},
		{"empty", nil, nil, nil},
		{"a question", whole, []int{0}, []Verdict{Copy}},
		{"a question in a book", slices.Concat(other, whole, other), []int{0}, []Verdict{Carries}},
		{"an edited one", slices.Concat(other, edited, other), []int{0}, []Verdict{Carries}},
		{"its halves exchanged", slices.Concat(other, whole[90:], other[:50], whole[:90]), []int{0}, []Verdict{Carries}},
		{"half of it", slices.Concat(other, whole[:90]), nil, nil},
		{"a line that both quote", slices.Concat(other, line, other), nil, nil},
		{"a page of the long one", long[1000:1200], []int{1}, []Verdict{Contained}},
		{"a few words of it", long[1000:1040], nil, nil},
		{"a page of it among others", slices.Concat(other, long[1000:1400], other), []int{1}, []Verdict{Shared}},
		{"twice", slices.Concat(whole, other, whole), []int{0, 0}, []Verdict{Carries, Carries}},
	} {
		hits := s.Search(c.doc)
		var items []int
		var got []Verdict
		for _, h := range hits {
			items, got = append(items, h.Item), append(got, h.Verdict)
			if h.From < 0 || h.From >= h.To || h.To > len(c.doc) || h.ItemFrom >= h.ItemTo || h.ItemTo > len(x.Item(h.Item)) || h.Share > 1 || h.Covered > 1 || h.Run > h.Equal {
				t.Errorf("%s: %+v", c.name, h)
			}
		}
		if !slices.Equal(items, c.items) || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v of items %v, want %v of %v", c.name, got, items, c.want, c.items)
		}
	}
}

// Case, width, punctuation, line breaks and traditional characters make no
// difference.
func TestForms(t *testing.T) {
	x := index(t, read("Which of the rivers, named below, flows into the Black Sea? 下面哪条河流入黑海？请从四个选项里选出正确的一个。"))
	s := NewSearcher(x, Rules{Share: 0.9})
	hits := s.Search(read("… ＷＨＩＣＨ of the rivers—named\nbelow—flows into the\tblack sea 下面哪條河流入黑海，請從四個選項裏選出正確的一個"))
	if len(hits) != 1 || hits[0].Verdict != Copy || hits[0].Share != 1 {
		t.Errorf("got %+v", hits)
	}
}

// What many items share leads to few of them, and tells none of the others from
// what is their own.
func TestCommonGrams(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	form := random(rng, 60, 'a', 26)
	var items [][]uint32
	for range 200 {
		items = append(items, slices.Concat(form, random(rng, 60, 'a', 26)))
	}
	s := NewSearcher(index(t, items...), Rules{Share: 0.7})
	if hits := s.Search(slices.Concat(random(rng, 100, 'a', 26), form)); len(hits) > 0 {
		t.Errorf("the form alone: %+v", hits)
	}
	if n := len(s.seeds); n == 0 || n > mostOf*len(form) {
		t.Errorf("the form has %d seeds", n)
	}
	for i, item := range items {
		if hits := s.Search(item); len(hits) != 1 || hits[0].Item != i || hits[0].Verdict != Copy {
			t.Fatalf("item %d: %+v", i, hits)
		}
	}
}

// Neither rows of one letter nor a page that repeats itself a thousand times take
// time that grows faster than they do.
func TestRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	unit := random(rng, 40, 'a', 26)
	repeated := slices.Repeat(unit, 25)
	s := NewSearcher(index(t, repeated, slices.Repeat([]uint32{'0' + 1}, 3000)), Rules{Share: 0.7})
	if hits := s.Search(slices.Repeat([]uint32{'0' + 1}, 1<<20)); len(hits) > 0 {
		t.Errorf("zeros: %+v", hits)
	}
	if hits := s.Search(slices.Repeat(unit, 20_000)); len(hits) == 0 || hits[0].Item != 0 {
		t.Error("the repeated page is not found")
	}
}

// edited is a text of which a share of the letters was exchanged, left out or added to.
func edited(rng *rand.Rand, text []uint32, share float64, from rune, of int) (out []uint32) {
	for _, c := range text {
		if rng.Float64() >= share {
			out = append(out, c)
			continue
		}
		switch rng.IntN(3) {
		case 0:
			out = append(out, random(rng, 1, from, of)...)
		case 1:
			out = append(out, c)
			out = append(out, random(rng, 1, from, of)...)
		}
	}
	return out
}

// A text that was edited all over is found, up to a tenth of an alphabet's letters and a
// fifth of Chinese, however long it is and whatever stands around it.
func TestEditedAllOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	for _, script := range []struct {
		from  rune
		of    int
		share float64
	}{{'a', 26, .1}, {'一', 3000, .2}} {
		missed, of := 0, 0
		for range 150 {
			item := random(rng, 400+rng.IntN(4000), script.from, script.of)
			doc := slices.Concat(random(rng, rng.IntN(300), script.from, script.of), edited(rng, item, script.share, script.from, script.of), random(rng, rng.IntN(300), script.from, script.of))
			s := NewSearcher(index(t, random(rng, 2000, script.from, script.of), item), Rules{Share: .7, Run: 300, Least: 48})
			hits := s.Search(doc)
			if of++; len(hits) != 1 || hits[0].Item != 1 || hits[0].Share < .7 {
				missed++
			}
		}
		if missed > of/100 {
			t.Errorf("%c: %d of %d are not found", script.from, missed, of)
		}
	}
}

// An item of which most is a form that many have is found by the rest of it, even if the
// form was edited too.
func TestEditedForm(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 9))
	form := random(rng, 2000, 'a', 26)
	var items [][]uint32
	for range 60 {
		items = append(items, slices.Concat(form, random(rng, 80, 'a', 26)))
	}
	s, missed := NewSearcher(index(t, items...), Rules{Share: .7, Run: 300, Least: 48}), 0
	for i, item := range items {
		hits := s.Search(edited(rng, item, .05, 'a', 26))
		if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Item == i && h.Verdict == Copy }) {
			missed++
		}
	}
	if missed > 3 {
		t.Errorf("%d of %d items are not found", missed, len(items))
	}
}

// Long texts that have only phrases in common, as laws have, are not aligned.
func TestPhrases(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	var doc, item []uint32
	for range 30 {
		phrase := random(rng, 12, '一', 3000)
		doc = slices.Concat(doc, phrase, random(rng, 150, '一', 3000))
		item = slices.Concat(item, phrase, random(rng, 120, '一', 3000))
	}
	s := NewSearcher(index(t, item), Rules{Share: .7, Run: 300, Least: 48})
	if hits := s.Search(doc); len(hits) > 0 || len(s.seeds) < 30 || len(s.windows) > 0 {
		t.Errorf("%d seeds, hits %+v", len(s.seeds), hits)
	}
	run := random(rng, 100, '一', 3000)
	doc, item = slices.Concat(doc[:3000], run), slices.Concat(item[len(item)-3000:], run)
	s = NewSearcher(index(t, item), s.rules)
	if hits := s.Search(doc); len(hits) != 1 || hits[0].Verdict != Shared || hits[0].Run != 100 {
		t.Errorf("with a long run: %+v", hits)
	}
}

// A run weighs what its own letters do, whatever stands around it: 100 letters of an
// alphabet among Chinese ones are too few to be a hit, 100 Chinese ones in English are not.
func TestMixedRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	texts := func(run []uint32, n int, from rune, of int) (item, doc []uint32) {
		sides := func() []uint32 {
			return slices.Concat(random(rng, n, from, of), run, random(rng, n, from, of))
		}
		return sides(), sides()
	}
	for _, c := range []struct {
		name string
		run  []uint32
		from rune
		of   int
		hits int
	}{
		{"150 letters among Chinese ones", random(rng, 150, 'a', 26), '一', 3000, 0},
		{"300 letters among Chinese ones", random(rng, 300, 'a', 26), '一', 3000, 1},
		{"99 Chinese letters in English", random(rng, 99, '一', 3000), 'a', 26, 0},
		{"110 Chinese letters in English", random(rng, 110, '一', 3000), 'a', 26, 1},
	} {
		item, doc := texts(c.run, 2000, c.from, c.of)
		s := NewSearcher(index(t, item), Rules{Share: .7, Run: 300, Least: 48})
		if hits := s.Search(doc); len(hits) != c.hits {
			t.Errorf("%s: hits %+v", c.name, hits)
		}
	}
}

// A book shares phrases with an item all over, and has it in one place, in two parts and
// with edits: only there is it aligned.
func TestBook(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	var item, book []uint32
	var phrases [][]uint32
	for range 40 {
		phrases = append(phrases, random(rng, 12, '一', 3000))
		item = slices.Concat(item, phrases[len(phrases)-1], random(rng, 120, '一', 3000))
	}
	pages := func(n int) {
		for range n {
			book = slices.Concat(book, phrases[rng.IntN(len(phrases))], random(rng, 200, '一', 3000))
		}
	}
	pages(500)
	from := len(book)
	half := len(item) / 2
	book = slices.Concat(book, edited(rng, item[half:], .05, '一', 3000))
	pages(8)
	book = slices.Concat(book, edited(rng, item[:half], .05, '一', 3000))
	to := len(book)
	pages(500)
	s := NewSearcher(index(t, item), Rules{Share: .7, Run: 300, Least: 48})
	if hits := s.Search(book); len(hits) != 1 || hits[0].Verdict != Carries || hits[0].From < from-300 || hits[0].From > from || hits[0].To < to || hits[0].To > to+300 {
		t.Errorf("hits %+v, want one from %d to %d", hits, from, to)
	}
	if len(s.windows) != 1 || s.windows[0].From < from-2*len(item) || s.windows[0].To > to+2*len(item) {
		t.Errorf("windows %+v of %d letters", s.windows, len(book))
	}
}

// Whatever the texts, a search ends and what it says is within them.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog again"), []byte("and the quick brown fox jumped over the lazy dog again"))
	f.Add([]byte("aaaaaaaaaaaabbbbbbbbbbbbccccccccccccdddddddddd"), []byte("abcdabcdabcdabcdabcdabcdabcd"))
	f.Fuzz(func(t *testing.T, item, doc []byte) {
		var l simhash.LetterReader
		a, b := l.Read(nil, item), l.Read(nil, doc)
		s := NewSearcher(index(t, a), Rules{Share: 0.1, Run: 1})
		for _, h := range s.Search(b) {
			if h.From < 0 || h.From >= h.To || h.To > len(b) || h.ItemFrom < 0 || h.ItemFrom >= h.ItemTo || h.ItemTo > len(a) {
				t.Fatalf("%+v of %d and %d letters", h, len(b), len(a))
			}
			last := h.From
			for _, p := range h.Parts {
				if p.From < last || p.To <= p.From || p.To > h.To {
					t.Fatalf("%+v: parts", h)
				}
				last = p.To
			}
			if h.Parts[0].From != h.From || last != h.To {
				t.Fatalf("%+v: the parts do not make the stretch", h)
			}
			if h.Equal > min(h.To-h.From, h.ItemTo-h.ItemFrom) || h.Run > h.Equal && len(s.group.parts) <= 1 {
				t.Fatalf("%+v has more in common than there is", h)
			}
			c := l.Cursor(doc)
			if from, to := c.Start(h.From), c.End(h.To); from.Byte >= to.Byte || from.Character >= to.Character || to.Byte > len(doc) || to.Character > len([]rune(string(doc))) {
				t.Fatalf("%+v stands from %d to %d", h, from, to)
			}
		}
	})
}
