package page

import (
	"fmt"
	"strings"
	"testing"
)

// Two short stories, each under two titles, as a site shows them: the title as
// heading, as summary and once more above the body.
func newsPage(title, body string) string {
	return "<title>[视频]" + title + "_新闻频道</title><div id=nav><a href=/>首页</a><a href=/n>新闻</a></div><div class=content_area><h1>[视频]" + title +
		"</h1><div class=info>来源：新闻频道 2025年09月02日 19:54</div><div class=abstract><p>" + title + "</p></div><div class=content><p>" + body +
		"</p></div></div><div id=footer><a href=/a>关于我们</a> 版权所有</div>"
}

const (
	titleA = "人民日报社论：从伟大胜利中汲取奋勇前进的力量，纪念胜利八十周年"
	titleB = "十四届全国人大四次会议明天上午举行闭幕会，本台将直播大会盛况"
	storyA = "新闻频道消息：本次列车全长三百二十公里，沿途设有九个车站，计划于明年年底以前全部建成通车。"
	storyB = "新闻频道消息：考察队昨天回到上海，他们在南极完成了水文、大气和海冰的调查，并布放了两套潜标。"
)

// mainOf returns the main text of a page and, of short news, that of its body alone.
func mainOf(html string) (text, body string) {
	var x Extractor
	x.Parse([]byte(html))
	text = string(x.AppendMain(nil))
	return text, text[x.Body():]
}

// Title and summary of short news are in its text, and not in its body: the same
// body under another title is the same.
func TestShortNewsHasABody(t *testing.T) {
	for _, story := range []string{storyA, storyB} {
		for _, title := range []string{titleA, titleB} {
			text, body := mainOf(newsPage(title, story))
			if body != story {
				t.Errorf("the body is %q, want %q", body, story)
			}
			if want := "[视频]" + title + "\n" + title + "\n" + story; text != want {
				t.Errorf("the text is %q, want %q", text, want)
			}
		}
	}
	for name, story := range map[string]string{
		"a body that is most of the text": strings.Join([]string{storyA, storyB, storyA + storyB, storyB + storyA}, "</p><p>"),
		"no body":                         "",
		"a body of a few words":           "来源：新闻频道",
	} {
		if text, body := mainOf(newsPage(titleA, story)); text != body || !strings.Contains(text, titleA) {
			t.Errorf("%s: %q is left out of the body of %q", name, strings.TrimSuffix(text, body), text)
		}
	}
	// A summary that is the body's first paragraph is one of the body.
	page := strings.Replace(newsPage(titleA, storyA), "<p>"+titleA, "<p>"+storyA, 1)
	if text, body := mainOf(page); body != storyA || strings.Count(text, storyA) != 1 {
		t.Errorf("of a story that is its own summary the body is %q, the text %q", body, text)
	}
}

// The names of a list's items are no titles of the page, however many there are.
func TestItemsAreNoTitles(t *testing.T) {
	var h strings.Builder
	h.WriteString("<title>Eight boats | The shipyard</title><h1>Eight boats</h1><div class=list>")
	for i := range 8 {
		fmt.Fprintf(&h, "<div class=item><h3 class=title>The boat of the harbour master, number %d of this year</h3><p>It is worth %d thousand crowns.</p></div>", i, 310+i)
	}
	text, body := mainOf(h.String() + "</div>")
	if text != body || strings.Count(text, "harbour master") != 8 {
		t.Errorf("%q is left out of the body of %q", strings.TrimSuffix(text, body), text)
	}
}

func TestPlainTitle(t *testing.T) {
	for title, want := range map[string]string{
		"[视频]标题_新闻频道":       "标题",
		"A headline | Site": "A headline",
		"A headline":        "A headline",
		"[1":                "[1",
		"_":                 "_",
		"":                  "",
	} {
		if got := string(plainTitle([]byte(title))); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// comment is what a reader says.
const comment = "I was there last week and the bridge was closed, so we took the ferry and it was full of people, and nobody had told us of any of this."

// commented is a short article, or the first post of a thread, and what readers
// say of it.
func commented(head, post string) string {
	said := strings.Repeat("<li class=comment><b>A reader</b><p>"+comment+"</p></li>", 6)
	return "<html><head>" + head + "</head><body><div id=nav><a href=/>Home</a><a href=/a>About</a></div><h1>The bridge is closed</h1>" +
		"<div class='" + post + "'><p>The old bridge over the river is closed from Monday on, the city said, because its pillars are cracked and need to be repaired before the winter comes.</p>" +
		"<p>The work will take about three months. Until then a ferry runs every ten minutes, and buses take the long way round.</p></div><ol class=comments>" + said + "</ol></body></html>"
}

// The comments on a short article are none of it; the posts of a thread are.
func TestComments(t *testing.T) {
	const article = "The old bridge"
	for _, c := range []struct {
		name, head, post string
		want             bool
	}{
		{"an article", "<title>The bridge is closed - City News</title>", "entry-content", false},
		{"a thread by its posts", "<title>The bridge is closed</title>", "message", true},
		{"a thread by its program", `<meta name=generator content="Discourse 3.4.0 - https://github.com/discourse/discourse"><title>The bridge is closed - River Talk</title>`, "entry-content", true},
		{"an article by its program", `<meta name=generator content="WordPress 6.4"><title>The bridge is closed - River Talk</title>`, "entry-content", false},
		{"a thread by its title", "<title>The bridge is closed - River Forum</title>", "entry-content", true},
		{"a thread by its markup", `<title>The bridge is closed</title><script type="application/ld+json">{"@type":"DiscussionForumPosting"}</script>`, "entry-content", true},
	} {
		var x Extractor
		x.Parse([]byte(commented(c.head, c.post)))
		x.judge(model)
		x.chosen = make([]bool, len(x.blocks))
		for i := range x.chosen {
			x.chosen[i] = true
		}
		x.dropComments()
		text := string(x.join(nil, func(i int) bool { return x.chosen[i] }))
		if strings.Contains(text, comment) != c.want || !strings.Contains(text, article) {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// A link to the comments stands before many articles: they begin behind the article
// all the same, and also where a line alone says so.
func TestCommentsBehind(t *testing.T) {
	const article = "The old bridge"
	page := commented("<title>The bridge is closed - City News</title>", "entry-content")
	said := func(signature string) string {
		return strings.Repeat("<div><p>"+comment+"</p><span>"+signature+"</span></div>", 6)
	}
	unmarked := func(line, signature string) string {
		before, rest, _ := strings.Cut(page, "<ol class=comments>")
		_, end, _ := strings.Cut(rest, "</ol>")
		return before + line + said(signature) + end
	}
	for _, c := range []struct {
		name, page string
		want       bool
	}{
		{"a link to them", strings.Replace(page, "</h1>", "</h1><div class=\"meta comments\"><a href=#comments>6 comments</a></div>", 1), false},
		{"a line", unmarked("<h3>Comments (6)</h3>", "Posted by: A. Reader at November 7, 2012 1:56 PM"), false},
		{"a line in Chinese", unmarked("<h3>网友评论（6）</h3>", "2012年11月7日 13:56"), false},
		{"a line and no dates", unmarked("<h3>Comments (6)</h3>", "A. Reader"), true},
		{"dates and no line", unmarked("", "Posted by: A. Reader at November 7, 2012 1:56 PM"), true},
		{"a line of many words", unmarked("<h3>Comments by the members of the council</h3>", "November 7, 2012 1:56 PM"), true},
		{"a line for each", unmarked("", "November 7, 2012 1:56 PM <b>Comments (2)</b>"), true},
	} {
		var x Extractor
		x.Parse([]byte(c.page))
		x.judge(model)
		x.chosen = make([]bool, len(x.blocks))
		for i := range x.chosen {
			x.chosen[i] = x.isProse(i)
		}
		x.dropComments()
		text := string(x.join(nil, func(i int) bool { return x.chosen[i] }))
		if strings.Contains(text, comment) != c.want || !strings.Contains(text, article) {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// What the models doubt is taken beside a paragraph that is taken, in the same
// element; links and what stands elsewhere are not, nor what they hardly think likely.
func TestTakeBeside(t *testing.T) {
	paragraph := func(word string) string {
		return "The " + word + " bridge over the river is closed from Monday on, the city said, because its pillars are cracked and need repair."
	}
	var x Extractor
	x.Parse([]byte("<html><body><div>" + paragraph("doubtful") + "<p>" + paragraph("sure") + "</p><p>Short line</p><p>" + paragraph("second") + "</p><p>A last word.</p><p>The end</p></div>" +
		"<div><p>" + paragraph("other") + "</p></div><div><p>" + paragraph("certain") + "</p><p>" + paragraph("unlikely") + "</p><p><a href=/>" + paragraph("linked") + "</a></p></div></body></html>"))
	x.judge(model)
	x.chosen = make([]bool, len(x.blocks))
	for i := range x.blocks {
		text := string(x.blockText(i))
		x.chosen[i] = strings.Contains(text, " sure ") || strings.Contains(text, " second ") || strings.Contains(text, " certain ")
		x.scores[i] = 0 // a probability of .5
		if strings.Contains(text, "unlikely") {
			x.scores[i] = -logitScale // .27
		}
	}
	x.takeBeside(.7)
	text := string(x.join(nil, func(i int) bool { return x.chosen[i] }))
	for word, want := range map[string]bool{"doubtful": true, "sure": true, "Short line": true, "second": true, "A last word": true, "The end": false, "other": false, "certain": true, "unlikely": false, "linked": false} {
		if strings.Contains(text, word) != want {
			t.Errorf("%q taken: %v, want %v: %q", word, !want, want, text)
		}
	}
}

// Sentences end by other marks in other scripts, and long text without any is prose.
func TestStops(t *testing.T) {
	for _, text := range []string{
		"这座桥从星期一起关闭，因为桥墩出现了裂缝，需要修理，渡轮每十分钟一班，公共汽车绕行，市政府表示！",
		"पुराना पुल सोमवार से बंद रहेगा क्योंकि उसके खंभों में दरारें हैं और मरम्मत की ज़रूरत है।",
		"هل ستكون العبارات كافية لنقل الركاب إلى الضفة الأخرى خلال الأشهر القادمة من أعمال الإصلاح؟",
		strings.Repeat("สะพานเก่าปิดตั้งแต่วันจันทร์ ", 10),
	} {
		var x Extractor
		x.Parse([]byte("<p>" + text))
		x.fill()
		if !x.isProse(0) {
			t.Errorf("no prose: %s", text)
		}
	}
	var x Extractor
	x.Parse([]byte("<p>" + strings.Repeat("word ", 40)))
	x.fill()
	if x.isProse(0) {
		t.Error("a line of 160 bytes without a full stop is prose")
	}
}
