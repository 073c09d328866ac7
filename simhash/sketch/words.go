package sketch

import (
	"slices"
	"unicode"

	"github.com/neardup/neardup/simhash/jieba"
)

// A wordAligner finds texts of few letters of which one has another word in the place
// of a word. A slip of the pen seldom turns a word into another word (Kukich:
// Techniques for Automatically Correcting Words in Text, ACM Computing Surveys 1992,
// on real-word errors). So where one listed word stands in the place of another, the
// texts mean two things: 广东 and 山东, 手机 and 洗碗机.
//
// The list is jieba's own dictionary, whatever dictionary a run uses, so that the
// verdict depends on nothing but the two texts. Only one goroutine may use it at a time.
type wordAligner struct {
	dictionary *jieba.Dictionary // nil before the first pair
	cutter     *jieba.Cutter

	a, b   []jieba.Word
	codes  []uint16
	at     []int32
	common [fewMax + 1][fewMax + 1]uint8 // of what begins at word i of a and j of b: the most letters in common words
}

// exchanged aligns two texts of few letters by their common words. It reports whether
// somewhere between these each text has a single word, and the two name different
// things.
func (w *wordAligner) exchanged(a, b []rune) bool {
	if w.cutter == nil {
		d, err := jieba.Default()
		if err != nil {
			return false // the embedded file is sound: a test reads it
		}
		w.dictionary, w.cutter = d, d.NewCutter(false)
	}
	w.a, w.b = w.cut(w.a[:0], a), w.cut(w.b[:0], b)
	w.align(a, b)
	for i, j := 0, 0; i < len(w.a) || j < len(w.b); {
		from, other := i, j
		for i < len(w.a) || j < len(w.b) {
			if i < len(w.a) && j < len(w.b) && w.equal(a, b, i, j) {
				break
			}
			if i < len(w.a) && w.common[i][j] == w.common[i+1][j] {
				i++
			} else {
				j++
			}
		}
		if i-from == 1 && j-other == 1 && w.another(a, b, w.a[from], w.b[other]) {
			return true
		}
		if i < len(w.a) && j < len(w.b) {
			i, j = i+1, j+1
		}
	}
	return false
}

// cut appends the words of a text, their places counted in characters.
func (w *wordAligner) cut(dst []jieba.Word, text []rune) []jieba.Word {
	w.codes, w.at = w.codes[:0], w.at[:0]
	for i, r := range text {
		w.codes, w.at = append(w.codes, w.dictionary.Code(r)), append(w.at, int32(i))
	}
	return w.cutter.CutCodes(dst, w.codes, append(w.at, int32(len(text))))
}

// align fills in common: the longest common subsequence of the words, by their letters.
func (w *wordAligner) align(a, b []rune) {
	for i := len(w.a); i >= 0; i-- {
		for j := len(w.b); j >= 0; j-- {
			n := uint8(0)
			if i < len(w.a) {
				n = w.common[i+1][j]
			}
			if j < len(w.b) {
				n = max(n, w.common[i][j+1])
			}
			if i < len(w.a) && j < len(w.b) && w.equal(a, b, i, j) {
				n = max(n, w.common[i+1][j+1]+uint8(w.a[i].End-w.a[i].Start))
			}
			w.common[i][j] = n
		}
	}
}

func (w *wordAligner) equal(a, b []rune, i, j int) bool {
	return slices.Equal(a[w.a[i].Start:w.a[i].End], b[w.b[j].Start:w.b[j].End])
}

// usual is the rank, by frequency, below which a listed word is a usual one. A slip that
// happens to make a word of as many letters mostly makes a rarer one. Measured against
// 3,000: each pair of real titles that 30,000 refuses in addition is of two things; with
// planted slips, which make such words at random, F1 falls by .0003 to .0009.
const usual = 30000

// another reports whether two words name different things. If they have equally many
// letters a slip could turn one into the other, so both have to be usual ones.
func (w *wordAligner) another(a, b []rune, x, y jieba.Word) bool {
	if !w.names(a, x) || !w.names(b, y) {
		return false
	}
	p, q := a[x.Start:x.End], b[y.Start:y.End]
	if len(p) == len(q) {
		return max(x.ID, y.ID) < usual
	}
	return !isWithin(p, q) && !isWithin(q, p)
}

// names reports whether a word names a thing: it is listed, has at least two letters,
// all ideographs, and is not a stop word, such as 这个 and 那个.
func (w *wordAligner) names(text []rune, word jieba.Word) bool {
	letters := text[word.Start:word.End]
	return word.ID >= 0 && len(letters) > 1 && !w.dictionary.IsStop(word.ID) &&
		!slices.ContainsFunc(letters, func(r rune) bool { return !unicode.Is(unicode.Han, r) })
}

// isWithin reports whether leaving out letters of long gives short. Such words, like
// 奥运 and 奥运会, more often than not name one thing.
func isWithin(short, long []rune) bool {
	for _, r := range long {
		if len(short) > 0 && short[0] == r {
			short = short[1:]
		}
	}
	return len(short) == 0
}
