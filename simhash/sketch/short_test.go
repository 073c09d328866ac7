package sketch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// levenshtein is the oracle of alignment.fill: the textbook's table.
func levenshtein(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func TestEditsAgainstTable(t *testing.T) {
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abc大")), 1, 64)
	var s alignment
	rapid.Check(t, func(t *rapid.T) {
		a, b, most := letters.Draw(t, "a"), letters.Draw(t, "b"), rapid.IntRange(0, 64).Draw(t, "most")
		want := levenshtein(a, b)
		if _, got := s.fill(a, b, true, most); got != want && (got <= most || want <= most) {
			t.Fatalf("%d edits, want %d; most %d", got, want, most)
		}
	})
}

// Where nothing is barred fewestEdits counts them all; what keeps says is never
// taken nor brought.
func TestFewestEditsAgainstTable(t *testing.T) {
	letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abcd大")), 0, fewMax)
	all := func(int, int) bool { return true }
	rapid.Check(t, func(t *rapid.T) {
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		want := levenshtein(a, b)
		if got := fewestEdits(a, b, func(rune) bool { return false }, all); got != want {
			t.Fatalf("%d edits, want %d", got, want)
		}
		kept := fewestEdits(a, b, func(c rune) bool { return c == '大' }, func(i, j int) bool { return a[i] != '大' && b[j] != '大' })
		count := func(text []rune) int { return strings.Count(string(text), "大") }
		if kept < want || (kept <= 2*fewMax) != (count(a) == count(b)) {
			t.Fatalf("%d edits that keep a letter, %d in all", kept, want)
		}
	})
}

// Of numbers only equal ones share a key: millions would share a few digits.
func TestKeysOfNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.SliceOfN(rapid.SampledFrom([]rune("012")), 1, 32)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		var s Short
		x, y := s.Keys(nil, a), s.Keys(nil, b)
		if len(x) != 1 || slices.Equal(x, y) != slices.Equal(a, b) {
			t.Fatalf("%s: keys %x, %s: %x", string(a), x, string(b), y)
		}
	})
}

// Short texts within the limit share a key, whatever the edits.
func TestKeysMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom([]int{1, 1, 30, 41, 100}).Draw(t, "letters")
		a := rapid.SliceOfN(rapid.SampledFrom([]rune("abcdefgh")), from, ShortMax).Draw(t, "a")
		b := slices.Clone(a)
		for range rapid.IntRange(0, mostEdits(len(a))+1).Draw(t, "edits") {
			c := rapid.SampledFrom([]rune("abcxyz")).Draw(t, "letter")
			at := rapid.IntRange(0, max(0, len(b)-1)).Draw(t, "at")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				b = slices.Insert(b, min(at, len(b)), c)
			case 1:
				if len(b) > 1 {
					b = slices.Delete(b, at, at+1)
				}
			default:
				b[at] = c
			}
		}
		if len(b) > ShortMax || levenshtein(a, b) > mostEdits(max(len(a), len(b))) {
			t.Skip("not within the limit")
		}
		var s Short
		keys, other := s.Keys(nil, a), s.Keys(nil, b)
		if !slices.IsSorted(keys) {
			t.Fatal("keys are not in order")
		}
		if !slices.ContainsFunc(keys, func(k uint64) bool { _, ok := slices.BinarySearch(other, k); return ok }) {
			t.Fatalf("%q and %q share no key", string(a), string(b))
		}
	})
}

func TestShortVerdicts(t *testing.T) {
	for _, c := range []struct{ a, b, reason string }{
		{"亚冠 决赛", "亚冠，决赛", ReasonShortEqual},
		{"亚冠决赛", "亚冠联赛", ReasonShortUnlike}, // four letters have to be equal
		{"神舟十四号飞船发射", "神舟十五号飞船发射", reasonShortNumber},
		{"歌手新一季第十期歌单公布", "歌手新一季第十一期歌单公布", reasonShortNumber},
		{"雷军能不能生产一下卫生巾", "雷军能不能生产卫生巾", ReasonShortAlike}, // no number
		{"浙江第七十一场的疫情发布会", "浙江第七十一场疫情发布会", ReasonShortAlike},
		{"北京新增本土确诊4例", "北京新增本土确诊5例", reasonShortNumber},
		{"陈乔恩手机号码遭泄露", "陈乔恩手机的号码遭到泄露", ReasonShortAlike},
		{"陈乔恩手机号码遭泄露", "陈乔恩的手机的号码遭到泄露", ReasonShortUnlike},
		{"北京新增本土确诊4例", "上海新增本土确诊4例", reasonShortWord},
		{"北京新增本土确诊4例", "北京新增本土确诊的例", ReasonShortAlike}, // a slip
		{"北京新增本土确诊4例", "北京新增本土确诊五例", reasonShortNumber},
		{"北京新增本土确诊4例", "北京增本土确诊14例", reasonShortNumber},
		{"北京新增本土确诊34例", "北京新增本土确诊4例", reasonShortNumber},
		{"黑白棋大赛昨日正式开播", "黑白棋大赛昨日正式空降", reasonShortWord},
		{"孟晚舟担任华为董事长", "孟晚舟卸任华为董事长", reasonShortWord},    // a usual word each
		{"北控男篮对阵山东男篮", "北控男篮对阵广东男篮", reasonShortWord},    // a usual word each
		{"女子10米跳台跳水决赛", "女子10米跳台跳水决寨", ReasonShortAlike}, // no word
		{"618有哪些手机值得入手", "618有哪些洗碗机值得入手", reasonShortWord},
		{"2024年奥运会开幕式的亮点", "2024年奥运开幕式的亮点", ReasonShortAlike}, // a word and more of it
		{"请问这个音乐会的演出好看吗", "请问那个音乐会的演出好看吗", ReasonShortAlike},  // stop words
		{"13800138000", "13800138001", reasonShortNumber},
		{"13800138000", "13800138000号", reasonShortNumber},                   // a number is as it is
		{"the first iphone sold", "the first ihpone sold", ReasonShortAlike}, // the same letters
		{"北京今日新增本土确诊4例", "北京今日新增本地土确诊的例", ReasonShortAlike},                  // a slip, beside another
		{"北京今日新增本土确诊4例", "北京今日新增本地土确诊5例", reasonShortNumber},
		{"RNG对战V5", "LNG对战V5", reasonShortWord}, // names
		{"AL战胜JDG", "AG战胜JDG", reasonShortWord},
		{"NBA全明星", "CBA全明星", reasonShortWord},
		{"今年的NBA全明星正赛", "今年的CBA全明星赛", reasonShortWord}, // and a slip
		{"今年的NBA全明星正赛", "今年的NB全明星正赛", ReasonShortAlike},
		{"今年的NBA全明星正赛", "今年的N吧A全明星正赛", ReasonShortAlike},
		{"苹果iPhone13的发布会", "苹果iPhome13的发布会", ReasonShortAlike}, // no abbreviation
		{"GDP of the EU in 2021 is up", "GDB of the EU in 2021 is up", ReasonShortAlike},
		{"女子10米跳台跳水决赛", "男子10米跳台跳水决赛", reasonShortWord}, // letters of a closed set
		{"中国女足晋级世界杯", "中国女篮晋级世界杯", reasonShortWord},
		{"北京国际电影节开幕", "北京国际电影节闭幕了", reasonShortWord},
		{"北京国际电影节开幕", "北京国际电影节的幕", ReasonShortAlike},
		{"于正说想和杨幂再合作吗", "于正有意和杨幂合作吗", ReasonShortUnlike},
		{"……", "亚冠", ReasonNothing},
		{"the quick brown fox jumps over the lazy dog of 1999 today", "the quick brawn fox jumps ovr the lazzy dog of 19g9 today", ReasonShortAlike},
		{"the quick brown fox jumps over the lazy dog of 1999 today", "the quick brown fox jumps over the lazy dog of 1998 today", reasonShortNumber},
		{"Qtly div nine cts vs nine cts prior Pay July 15 Record June 15", "Qtly div five cts vs five cts prior Pay July 15 Record June 30", reasonShortNumber},
		{"the quick brown fox jumps over the lazy dog of our house", "the quick brown cat jumps over the lazy dog of our house", reasonShortWord},
	} {
		a, _ := ShortText(nil, []byte(c.a))
		b, _ := ShortText(nil, []byte(c.b))
		var s Short
		got, _ := s.Judge(a, b)
		if turned, _ := s.Judge(b, a); turned != got {
			t.Errorf("%s, %s: %+v, the other way round %+v", c.a, c.b, got, turned)
		}
		if got.Reason != c.reason || got.Same != (c.reason == ReasonShortEqual || c.reason == ReasonShortAlike) {
			t.Errorf("%s, %s: %+v, want %s", c.a, c.b, got, c.reason)
		}
	}
}

func TestFewCountsLetters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]rune("aé大🤔")), 0, 60).Draw(t, "text")
		if Few([]byte(string(text))) != (len(text) <= fewMax) {
			t.Fatalf("%d letters: few %t", len(text), len(text) > fewMax)
		}
	})
}

func TestShortTextHasBounds(t *testing.T) {
	text := make([]rune, ShortMax+1)
	for i := range text {
		text[i] = '长'
	}
	if _, ok := ShortText(nil, []byte(string(text))); ok {
		t.Errorf("%d letters count as short", len(text))
	}
	if letters, ok := ShortText(nil, []byte(string(text[1:]))); !ok || len(letters) != ShortMax {
		t.Errorf("%d letters: %d, %v", ShortMax, len(letters), ok)
	}
	if _, ok := ShortText(nil, []byte("!?")); ok {
		t.Error("a text without letters counts as short")
	}
}

// An outline is of the characters that Go decodes, whatever the bytes.
func TestOutlineOfAnyBytes(t *testing.T) {
	piece := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 1, 4), rapid.Map(rapid.Rune(), func(r rune) []byte { return []byte(string(r)) }),
		rapid.SampledFrom([][]byte{[]byte("文"), {0xe6, 0x96}, {0xe6, 0x96, 0xc7}, {0xed, 0xa0, 0x80}, {0xe0, 0x80, 0x80}}))
	rapid.Check(t, func(t *rapid.T) {
		text := slices.Concat(rapid.SliceOfN(piece, 0, ShortMax/4).Draw(t, "text")...)
		if got, want := AppendOutline(nil, text), AppendOutline(nil, []byte(string([]rune(string(text))))); !slices.Equal(got, want) {
			t.Fatalf("% x: % x, want % x", text, got, want)
		}
		letters := 0
		for range string(text) {
			letters++
		}
		if n := Outline(AppendOutline(nil, text)).Letters(); n != letters {
			t.Fatalf("% x: %d letters, want %d", text, n, letters)
		}
	})
}

// Short texts whose outlines are unlike are more edits apart than those that are
// the same.
func TestUnlikeOutlinesAreFarApart(t *testing.T) {
	unlike := 0
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.SliceOfN(rapid.SampledFrom([]rune("abcdefgh一二三四五文字")), 1, ShortMax)
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		if rapid.Bool().Draw(t, "near") {
			b = slices.Clone(a)
			for range rapid.IntRange(0, 9).Draw(t, "edits") {
				at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
				b[at] = rapid.SampledFrom([]rune("xyz数")).Draw(t, "letter")
			}
		}
		edits, most := levenshtein(a, b), mostEdits(max(len(a), len(b)))
		outline, other := Outline(AppendOutline(nil, []byte(string(a)))), Outline(AppendOutline(nil, []byte(string(b))))
		if len(outline) != outline.Size() || outline.Few() != (len(a) <= fewMax) {
			t.Fatalf("%q: an outline of %d bytes, want %d; few %t", string(a), len(outline), outline.Size(), outline.Few())
		}
		if !outline.Unlike(other) {
			return
		}
		if unlike++; edits <= most {
			t.Fatalf("%q and %q are %d edits apart, at most %d make them the same", string(a), string(b), edits, most)
		}
	})
	if unlike == 0 {
		t.Error("no outline is unlike another")
	}
}
