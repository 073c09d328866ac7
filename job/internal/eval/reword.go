package eval

import (
	"slices"
	"strings"
	"sync"

	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
)

// synonyms are words that may stand for each other in most sentences. It is a
// small table: what it makes is a text that an editor has gone over, no
// paraphrase.
var synonyms = [][2]string{
	{"因为", "由于"}, {"但是", "不过"}, {"可以", "能够"}, {"如果", "假如"}, {"非常", "十分"}, {"许多", "很多"},
	{"开始", "着手"}, {"使用", "采用"}, {"重要", "关键"}, {"问题", "难题"}, {"方法", "办法"}, {"认为", "觉得"},
	{"提供", "给出"}, {"需要", "须要"}, {"包括", "包含"}, {"目前", "现在"}, {"通过", "经由"},
	{"进行", "开展"}, {"帮助", "协助"}, {"选择", "挑选"}, {"增加", "增多"}, {"减少", "降低"}, {"立即", "马上"},
	{"显示", "表明"}, {"发现", "察觉"}, {"例如", "比如"}, {"已经", "业已"}, {"必须", "务必"}, {"应当", "应该"},
	{"规定", "条款"}, {"部分", "一部分"}, {"完成", "做完"}, {"快速", "迅速"}, {"简单", "容易"}, {"之后", "以后"},
	{"之前", "以前"}, {"所有", "全部"}, {"主要", "首要"}, {"了解", "知道"}, {"改变", "更改"}, {"创建", "建立"},
	{" however ", " but "}, {" use ", " employ "}, {" also ", " too "}, {" many ", " numerous "}, {" show ", " indicate "},
	{" said ", " stated "}, {" about ", " around "}, {" big ", " large "}, {" begin ", " start "}, {" buy ", " purchase "},
	{" increase ", " rise "}, {" decline ", " fall "}, {" company ", " firm "}, {" quickly ", " fast "}, {" because ", " since "},
	{" expected ", " forecast "}, {" total ", " sum "}, {" reported ", " announced "}, {" profit ", " gain "}, {" last ", " past "},
}

// synonymReplacer puts each word of the table for the other.
var synonymReplacer = sync.OnceValue(func() *strings.Replacer {
	var pairs []string
	for _, p := range synonyms {
		pairs = append(pairs, p[0], p[1], p[1], p[0])
	}
	return strings.NewReplacer(pairs...)
})

// englishWords are what English sentences are made of.
var englishWords = strings.Fields(`the of and that for with from this which after before between during against because while should would there people
	government market research system network problem question history language example report number people country development information
	different important possible available several another general special public national social early little large small local recent
	shows makes takes gives finds keeps brings means needs works leads offers remains becomes includes provides suggests describes`)

// english returns a sentence of English words by chance.
func (e *editor) english() string {
	var all []string
	for range 8 + e.IntN(10) {
		all = append(all, englishWords[e.IntN(len(englishWords))])
	}
	return " " + strings.Join(all, " ") + ". "
}

// turned exchanges two neighbouring clauses of a sentence, or without a comma
// two stretches of it; its end, the mark and the space around it, stays.
func (e *editor) turned(sentence string) string {
	body := strings.TrimRightFunc(sentence, func(c rune) bool { return show.EndsSentence(c) || c == ' ' })
	end := sentence[len(body):]
	comma := "，"
	if !strings.Contains(body, comma) {
		comma = ", "
	}
	if clauses := strings.Split(body, comma); len(clauses) > 1 {
		i := e.IntN(len(clauses) - 1)
		clauses[i], clauses[i+1] = clauses[i+1], clauses[i]
		return strings.Join(clauses, comma) + end
	}
	if words := strings.Split(body, " "); len(words) > 2 {
		i := e.IntN(len(words) - 1)
		words[i], words[i+1] = words[i+1], words[i]
		return strings.Join(words, " ") + end
	}
	letters := []rune(body)
	if len(letters) < 4 {
		return sentence
	}
	at := 1 + e.IntN(len(letters)-2)
	from, to := max(0, at-4), min(len(letters), at+4)
	return string(slices.Concat(letters[:from], letters[at:to], letters[from:at], letters[to:])) + end
}

// scripts maps characters of simplified Chinese to a traditional form, and
// traditional ones to the simplified form, by the table that the normal form
// has. Of several traditional forms it knows the one of the lowest code.
var scripts = sync.OnceValue(func() *scriptTable {
	t := &scriptTable{simple: map[rune]rune{}, traditional: map[rune]rune{}}
	for c, to := range simhash.Traditional() {
		if c < 0x4e00 || c > 0x9fff {
			continue
		}
		t.simple[c] = to
		if _, had := t.traditional[to]; !had {
			t.traditional[to] = c
		}
	}
	return t
})

type scriptTable struct{ simple, traditional map[rune]rune }

// other returns what puts characters into the script of Chinese that the text
// is not in: traditional, or simplified if it is traditional.
func (t *scriptTable) other(text string) func(rune) rune {
	forms, simple, traditional := t.traditional, 0, 0
	for _, c := range text {
		if _, ok := t.simple[c]; ok {
			traditional++
		} else if _, ok := t.traditional[c]; ok {
			simple++
		}
	}
	if traditional > simple {
		forms = t.simple
	}
	return func(c rune) rune {
		if to, ok := forms[c]; ok {
			return to
		}
		return c
	}
}
