package language

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/language"
)

func TestOf(t *testing.T) {
	const (
		chinese = "国务院关于印发有关文件的通知，各省、自治区、直辖市人民政府，国务院各部委、各直属机构。"
		english = "the council of the city said on monday that it has not been told of the plans for the harbour"
	)
	for _, c := range []struct{ name, declared, text, want string }{
		{"chinese", "", chinese, "zh"},
		{"chinese among code", "", "使用 go build 命令编译 main.go 文件，然后运行 ./main 查看输出结果是否正确", "zh"},
		{"japanese", "", "東京都は新しい条例案を発表し、来年四月から施行する予定だと述べた。", "ja"},
		{"korean", "", "서울시는 새로운 조례안을 발표했다고 밝혔다", "ko"},
		{"korean with ideographs", "", "大韓民國 政府는 새로운 條例案을 發表했다", "ko"},
		{"greek", "", "η κυβέρνηση ανακοίνωσε", "el"},
		{"thai", "", "รัฐบาลประกาศ", "th"},
		{"hebrew", "", "הממשלה הודיעה", "he"},
		{"english", "", english, "en"},
		{"german", "", "der rat der stadt hat am montag gesagt, dass er von den plänen für den hafen nichts weiß", "de"},
		{"french", "", "le conseil de la ville a dit lundi qu'il n'avait pas été informé des projets pour le port", "fr"},
		{"spanish", "", "el consejo de la ciudad dijo el lunes que no se le había informado de los planes para el puerto", "es"},
		{"vietnamese", "", "hội đồng thành phố cho biết hôm thứ hai rằng họ không được thông báo về các kế hoạch của cảng", "vi"},
		{"russian", "", "городской совет заявил в понедельник, что ему не сообщили о планах по развитию порта", "ru"},
		{"ukrainian", "", "міська рада заявила в понеділок, що їй не повідомили про плани щодо порту", "uk"},
		{"persian", "", "شورای شهر روز دوشنبه گفت که از برنامه های بندر خبری ندارد و این را نمی داند", "fa"},
		{"arabic", "", "قال مجلس المدينة يوم الاثنين إنه لم يبلغ عن خطط الميناء التي أعلنت في هذا الأسبوع", "ar"},
		{"hindi", "", "शहर की परिषद ने सोमवार को कहा कि उसे बंदरगाह की योजनाओं के बारे में नहीं बताया गया है", "hi"},
		{"two words", "", "login here", ""},
		{"nothing", "", "", ""},
		{"numbers", "", "1234 5678 .,;", ""},

		{"declared", "nl", english, "nl"},
		{"with a region", "en-US", english, "en"},
		{"with an underscore", "zh_CN", chinese, "zh"},
		{"traditional", "zh-Hant-TW", chinese, "zh"},
		{"cantonese", "yue", chinese, "zh"},
		{"three letters", "zho,eng", chinese, "zh"},
		{"capitals", "EN", english, "en"},
		{"a list", " de-AT;q=0.9, en", english, "de"},
		{"norwegian", "nb-NO", english, "no"},
		{"a language without clues", "mg", "ny filan-kevitry ny tanàna", "mg"},
		{"of a text that says nothing", "ja", "123", "ja"},
		{"against the script", "en", chinese, "zh"},
		{"a template's", "zh-CN", english, "en"},
		{"a template's, and nothing else", "zh-CN", "login", "zh"},
		{"latin instead of cyrillic", "sr", "vlada je rekla da nije znala za planove", "sr"},
		{"undetermined", "und", english, "en"},
		{"no tag", "{{ .Lang }}", english, "en"},
		{"too long", strings.Repeat("en-", 40), english, "en"},
	} {
		if got := Of([]byte(c.declared), []byte(c.text)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestWindow checks that a text is judged by its start.
func TestWindow(t *testing.T) {
	text := strings.Repeat("the house of the council is not as old as it was ", 100) + strings.Repeat("国务院关于印发", 10_000)
	if got := Of(nil, []byte(text)); got != "en" {
		t.Errorf("%q, want en", got)
	}
}

func TestTables(t *testing.T) {
	if len(languages) > 64 {
		t.Fatalf("%d languages have no room in 64 bits", len(languages))
	}
	seen := map[string]bool{}
	for _, l := range languages {
		tag, err := language.ParseBase(l.code)
		if err != nil || tag.String() != l.code || seen[l.code] {
			t.Errorf("%s: %v, %v, seen %v", l.code, tag, err, seen[l.code])
		}
		seen[l.code] = true
		words := strings.Fields(l.words)
		if sorted := slices.Sorted(slices.Values(words)); len(slices.Compact(sorted)) != len(words) {
			t.Errorf("%s: a word stands twice", l.code)
		}
		for _, r := range strings.Join(words, "") + l.marks {
			if r < utf8.RuneSelf && (r < 'a' || r > 'z') || r >= utf8.RuneSelf && scriptOf(r) != l.script {
				t.Errorf("%s: %q is not of its script, or not in normal form", l.code, r)
			}
		}
	}
	for i := firstOther + 1; i < len(scripts); i++ {
		if scripts[i].from <= scripts[i-1].to || scripts[i].to < scripts[i].from {
			t.Errorf("script %s does not follow %s", scripts[i].code, scripts[i-1].code)
		}
	}
	entries := 0
	for _, c := range allClues() {
		if c.word != 0 {
			entries++
			if allClues().find(c.word) != c.languages {
				t.Errorf("clue %x is not found", c.word)
			}
		}
	}
	if entries < 500 || entries > len(allClues())*3/4 {
		t.Errorf("%d clues in a table of %d", entries, len(allClues()))
	}
}

func FuzzOf(f *testing.F) {
	f.Add([]byte("zh-CN"), []byte("国务院"))
	f.Add([]byte("en"), []byte("the \xff\xe4"))
	f.Add([]byte(" ,;"), []byte(""))
	f.Fuzz(func(t *testing.T, declared, text []byte) {
		before := bytes.Clone(text)
		got := Of(declared, text)
		if got != "" {
			if _, err := language.ParseBase(got); err != nil {
				t.Errorf("%q: %v", got, err)
			}
		}
		if !bytes.Equal(before, text) || Of(declared, text) != got {
			t.Error("not a pure function")
		}
	})
}

func BenchmarkOf(b *testing.B) {
	for _, c := range []struct{ name, declared, text string }{
		{"english", "", strings.Repeat("the council of the city said on monday that it has not been told of the plans for the harbour. ", 22)},
		{"chinese", "", strings.Repeat("国务院关于印发有关文件的通知，各省、自治区、直辖市人民政府。", 24)},
		{"declared", "en-US", strings.Repeat("the council of the city said on monday that it has not been told of the plans for the harbour. ", 22)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				Of([]byte(c.declared), []byte(c.text))
			}
		})
	}
}
