package message

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Error says an error in the language. Packages make their errors with fmt.Errorf
// and know no language, so the English sentence is found again by its form: the
// format it was made with, which is the catalogue's key. What stands at a verb is
// said the same way, as it may be an error that was wrapped. Names, numbers and
// what the catalogue does not have stay as they are.
func (l Language) Error(err error) string {
	text := err.Error()
	if l != Chinese {
		return text
	}
	said := map[string]string{}
	for _, s := range sentences() {
		if !strings.Contains(s.chinese, "\n") {
			continue
		}
		if at := s.in(text); at != nil {
			return filled(s.chinese, inChinese(at, said))
		}
	}
	return strings.Join(inChinese(strings.Split(text, "\n"), said), "\n") // as errors.Join has them
}

// inChinese says sentences; said has those that were said before.
func inChinese(texts []string, said map[string]string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		if _, ok := said[text]; !ok {
			said[text] = text // so that a sentence in itself is said once
			said[text] = sentenceInChinese(text, said)
		}
		all[i] = said[text]
	}
	return all
}

// sentenceInChinese says one sentence. A sentence may have several forms, as when
// a path has a colon: the one counts that leaves least in English.
func sentenceInChinese(text string, said map[string]string) string {
	best, least := text, english(text)
	if least == 0 {
		return text
	}
	for _, s := range sentences() {
		at := s.in(text)
		if at == nil {
			continue
		}
		chinese := filled(s.chinese, inChinese(at, said))
		if n := english(chinese); n < least || n == least && best == text && s.own > len(": ") {
			best, least = chinese, n
		}
	}
	return best
}

// english is how many English letters a text has.
func english(text string) (n int) {
	for _, c := range text {
		if c < 0x80 && (c|0x20 >= 'a' && c|0x20 <= 'z') {
			n++
		}
	}
	return n
}

// filled puts arguments in the places of a form.
func filled(form string, args []string) string {
	next := 0
	return verb.ReplaceAllStringFunc(form, func(v string) string {
		m := verb.FindStringSubmatch(v)
		if m[2] == "%" {
			return "%"
		}
		if next++; m[1] != "" {
			next, _ = strconv.Atoi(m[1])
		}
		return args[next-1]
	})
}

var verb = regexp.MustCompile(`%[-+#0]*[\d.]*(?:\[(\d+)\])?([a-zA-Z%])`)

// sentence is how an error reads, and its Chinese form.
type sentence struct {
	literals []string       // what stands between its verbs
	own      int            // their letters
	like     *regexp.Regexp // with a group for each verb
	chinese  string
}

// in returns what stands at the verbs where a text is of this form, else nil.
func (s *sentence) in(text string) []string {
	rest, ok := strings.CutPrefix(text, s.literals[0])
	for _, literal := range s.literals[1:] { // quicker than the expression
		if ok {
			_, rest, ok = strings.Cut(rest, literal)
		}
	}
	if !ok {
		return nil
	}
	at := s.like.FindStringSubmatch(text)
	if at == nil {
		return nil
	}
	return at[1:]
}

// newSentence is a sentence of the catalogue.
func newSentence(format, chinese string) sentence {
	s := sentence{chinese: chinese}
	literal, expression := "", "(?s)^"
	add := func(text string) {
		literal += text
		expression += regexp.QuoteMeta(text)
		s.own += len(text)
	}
	last := 0
	for _, m := range verb.FindAllStringSubmatchIndex(format, -1) {
		add(format[last:m[0]])
		last = m[1]
		if format[m[4]] == '%' {
			add("%")
			continue
		}
		s.literals = append(s.literals, literal)
		literal = ""
		expression += cmp.Or(values[format[m[4]]], `(.*?)`)
	}
	add(format[last:])
	s.literals = append(s.literals, literal)
	s.like = regexp.MustCompile(expression + "$")
	return s
}

// values are what verbs make, where that is not any text.
var values = map[byte]string{
	'd': `(-?\d+)`, 'x': `([0-9a-f]+)`, 'c': `(\S+)`, 'v': `(.*)`,
	'q': "(\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|'[^']*')",
}

// sentences are all, those of the most letters first.
var sentences = sync.OnceValue(func() []sentence {
	var all []sentence
	for _, of := range []map[string]string{failures, foreign} {
		for format, chinese := range of {
			all = append(all, newSentence(format, chinese))
			// Of what wraps another error, the rest is a sentence too.
			rest, wraps := strings.CutPrefix(format, "%w: ")
			if of, same := strings.CutPrefix(chinese, "%s："); wraps && same && !strings.Contains(of, "%[") {
				all = append(all, newSentence(rest, of))
			}
		}
	}
	slices.SortFunc(all, func(a, b sentence) int {
		return cmp.Or(b.own-a.own, strings.Compare(a.like.String(), b.like.String()))
	})
	return all
})
