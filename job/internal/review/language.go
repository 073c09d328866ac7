package review

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/job/internal/labels"
)

// Language is what a reader is spoken to in.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// ParseLanguage returns the language of a name or of a locale, like zh_CN.UTF-8:
// Chinese or, of every other one, English.
func ParseLanguage(name string) Language {
	if strings.HasPrefix(strings.ToLower(name), string(Chinese)) {
		return Chinese
	}
	return English
}

// of chooses what is said.
func (l Language) of(english, chinese string) string {
	if l == Chinese {
		return chinese
	}
	return english
}

// answer names an answer.
func (l Language) answer(a labels.Answer) string {
	switch a {
	case labels.Yes:
		return l.of("yes", "是")
	case labels.No:
		return l.of("no", "否")
	case labels.Unsure:
		return l.of("unsure", "不确定")
	}
	return "–"
}

// stratum names a stratum.
func (l Language) stratum(name string) string {
	if verdict, ok := strings.CutPrefix(name, StratumReason); ok {
		return fmt.Sprintf(l.of("the same: %s", "相同：%s"), l.of(verdict, verdicts[verdict]))
	}
	switch name {
	case StratumNear:
		return l.of("the same, just within the limit", "相同，刚在界限之内")
	case StratumShort:
		return l.of("the same, short texts", "相同，短文本")
	case StratumContained:
		return l.of("one contains the other", "一个包含另一个")
	case StratumEarlier:
		return l.of("the same as of an earlier night", "与前几夜的相同")
	case StratumChain:
		return l.of("left out by way of others", "经由其他文档被去掉")
	case StratumBelow:
		return l.of("not the same, just beyond the limit", "不同，刚在界限之外")
	case StratumWide:
		return l.of("not the same, further beyond", "不同，离界限更远")
	}
	return name
}

// verdicts are the run's reasons in Chinese.
var verdicts = map[string]string{
	"distance": "距离", "sketches alike": "概要相似", "sketches near the limit": "概要接近界限", "texts alike": "文本相似",
	"texts alike but for slips": "文本相似，仅有零星差异", "texts alike in order": "文本按次序相似",
}
