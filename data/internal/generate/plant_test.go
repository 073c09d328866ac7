package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/neardup/neardup/data"
)

// plans says how many near-duplicates of each kind are planted, and in what.
var plans = []struct {
	kind     string
	n        int
	langs    string
	shortest int // characters of the original
	change   func(*page, *rand.Rand)
}{
	{"mirror", 24, "zh en mixed", 0, func(*page, *rand.Rand) {}},
	{"advertisement", 18, "zh en mixed", 700, advertise},
	{"counters", 16, "zh en mixed", 700, recount},
	{"edit", 20, "zh en", 700, edit},
	{"truncated", 8, "zh en", 600, truncate},
	{"traditional", 7, "zh", 300, traditional},
	{"width", 7, "zh mixed", 300, widen},
}

// plant makes the near-duplicates of some of the originals, and names the
// clusters. A quarter of them is planted in an original that has one already.
func plant(originals []*page) ([]*page, error) {
	var planted []*page
	r := random(5, 0)
	order := r.Perm(len(originals))
	used := map[*page]int{}
	cluster := 0
	for _, plan := range plans {
		for n := range plan.n {
			more := n%4 == 3
			var from *page
			for _, i := range order {
				o := originals[i]
				if fits(o, plan.kind, plan.langs, plan.shortest) && (used[o] == 1) == more && used[o] < 2 {
					from = o
					break
				}
			}
			if from == nil {
				return nil, fmt.Errorf("no original is left for %s number %d", plan.kind, n)
			}
			if used[from]++; used[from] == 1 {
				cluster++
				from.Cluster = fmt.Sprintf("c%03d", cluster)
			}
			p := copyOf(from, plan.kind)
			r := random(6, uint64(len(planted)))
			p.ID = mirrorURL(r, from, len(planted))
			plan.change(p, r)
			planted = append(planted, p)
		}
	}
	return planted, nil
}

func fits(o *page, kind string, langs string, shortest int) bool {
	if !strings.Contains(" "+langs+" ", " "+o.Lang+" ") || utf8.RuneCountInString(o.text()) < shortest {
		return false
	}
	return kind != "counters" || counter.MatchString(o.paragraphs[0])
}

func copyOf(from *page, kind string) *page {
	p := &page{title: from.title, published: from.published, original: from}
	p.paragraphs = append(p.paragraphs, from.paragraphs...)
	p.Kind, p.Lang, p.Cluster, p.Original = kind, from.Lang, from.Cluster, from.ID
	return p
}

func mirrorURL(r *rand.Rand, from *page, n int) string {
	switch r.IntN(3) {
	case 0:
		return from.ID + "?from=feed&sid=" + strconv.Itoa(10000+n)
	case 1:
		return strings.Replace(from.ID, "https://", "http://m.", 1) + "?p=" + strconv.Itoa(n)
	default:
		return fmt.Sprintf("http://mirror%d.example.edu/archive/%d", 1+r.IntN(4), 70000+n)
	}
}

var (
	chineseAdvertisements = lines(`广告：春季大促全场五折起，扫码关注公众号领取一百元优惠券，数量有限，先到先得。
【推广】还在为装修发愁？点击预约免费量房，三分钟拿到报价单，签约再送家电大礼包。
赞助商链接：零基础学编程，十节试听课只要一元，名师直播答疑，今晚八点准时开讲。`)
	englishAdvertisements = lines(`Advertisement: subscribe today and get the first three months for half the price, cancel whenever you like.
Sponsored: tired of slow broadband? Enter your postcode and compare forty providers in under a minute.`)
)

func advertise(p *page, r *rand.Rand) {
	ads := chineseAdvertisements
	if p.Lang == langEnglish {
		ads = englishAdvertisements
	}
	at := 1 + r.IntN(len(p.paragraphs)-1)
	rest := append([]string{pick(r, ads)}, p.paragraphs[at:]...)
	p.paragraphs = append(p.paragraphs[:at:at], rest...)
}

var counter = regexp.MustCompile(`^(\d+年\d+月\d+日 .*来源|Published)`)

// recount is the same page some days later: its line of date and counters
// differs.
func recount(p *page, r *rand.Rand) {
	p.published = p.published.Add(time.Duration(1+r.IntN(60)) * 25 * time.Hour)
	p.paragraphs[0] = byline(r, p.published, strings.Contains(p.paragraphs[0], "来源"))
}

// replacements are words that an editor would put for others.
var replacements = words("起初 最初 以后 之后 因为 由于 明白 清楚 后来 过后 附近 周围 常常 时常 孩子 小孩 究竟 到底 年轻 年少 难点 难处 " +
	"纷纷 陆续 认为 觉得 笑着说 乐呵呵地说 只有 仅有 已经 早已 一直 始终 从不 决不 必须 一定要 整整 足足 大家 众人 立刻 马上 谁也 没人 " +
	"quietly silently people folk learned picked argued quarrelled looked seemed refused declined visitors guests " +
	"careless thoughtless strangers outsiders dull tedious plan scheme noticed spotted master owner cheaply dearly")

func edit(p *page, r *rand.Rand) {
	left := 2
	for i := 0; i < len(replacements) && left > 0; i += 2 {
		for n, text := range p.paragraphs {
			if changed := strings.Replace(text, replacements[i], replacements[i+1], 1); changed != text {
				p.paragraphs[n] = changed
				left--
				break
			}
		}
	}
	end, gap := "。", ""
	if p.Lang == langEnglish {
		end, gap = ".", " "
	}
	from := r.IntN(len(p.paragraphs))
	for n := range p.paragraphs {
		i := (from + n) % len(p.paragraphs)
		sentences := strings.SplitAfter(p.paragraphs[i], end)
		if len(sentences) > 2 { // the last is what stands behind the last mark
			drop := r.IntN(len(sentences) - 1)
			p.paragraphs[i] = strings.TrimSuffix(strings.Join(sentences[:drop], "")+strings.TrimPrefix(strings.Join(sentences[drop+1:], ""), gap), gap)
			return
		}
	}
}

// truncate keeps 70 to 85 percent of the text, and cuts within a sentence.
func truncate(p *page, r *rand.Rand) {
	keep := utf8.RuneCountInString(p.text()) * (70 + r.IntN(16)) / 100
	for i, text := range p.paragraphs {
		runes := []rune(text)
		if keep > len(runes) {
			keep -= len(runes) + 1
			continue
		}
		more := "……"
		if p.Lang == langEnglish {
			more = " ..."
		}
		p.paragraphs = append(p.paragraphs[:i:i], string(runes[:max(keep, 1)])+more)
		return
	}
}

func traditional(p *page, _ *rand.Rand) {
	p.Lang = langTraditional
	p.title = traditionalReplacer.Replace(p.title)
	for i, text := range p.paragraphs {
		p.paragraphs[i] = traditionalReplacer.Replace(text)
	}
}

// widen writes letters and digits in their full-width form, and the commas,
// colons, question and exclamation marks of Chinese in their half-width form.
func widen(p *page, _ *rand.Rand) {
	wide := func(c rune) rune {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			return c - '!' + '！'
		case c == '，' || c == '：' || c == '；' || c == '？' || c == '！':
			return c - '！' + '!'
		}
		return c
	}
	p.title = strings.Map(wide, p.title)
	for i, text := range p.paragraphs {
		p.paragraphs[i] = strings.Map(wide, text)
	}
}

// oddities are the pages that are hardly any: error pages, short and empty
// ones. Of each group of error pages the first is the original.
func oddities() []*page {
	var pages []*page
	r := random(7, 0)
	add := func(p *page, kind string, lang, id string) *page {
		p.Kind, p.Lang, p.ID = kind, lang, id
		p.published = time.Date(2026, time.March, 2+r.IntN(12), r.IntN(24), r.IntN(60), 0, 0, time.UTC)
		pages = append(pages, p)
		return p
	}
	for _, group := range []struct {
		cluster, lang, host, title string
		n                          int
	}{
		{"errors-zh", langChinese, "www.example.cn", "页面不存在", 12},
		{"errors-en", langEnglish, "shop.example.com", "Page not found", 9},
	} {
		var first *page
		for range group.n {
			path := fmt.Sprintf("/%s/%d.html", pick(r, words("item show list view article tag")), 1000+r.IntN(9000))
			p := add(&page{title: group.title, paragraphs: errorText(group.lang, path, 100000+r.IntN(900000))}, "error_page", group.lang, "http://"+group.host+path)
			p.Cluster = group.cluster
			if first == nil {
				first = p
				continue
			}
			p.original, p.Original = first, first.ID
		}
	}
	for i, short := range []struct{ cluster, lang, title, text string }{
		{"short-login", langChinese, "登录", "请先登录后再访问"},
		{"short-login", langChinese, "登录", "请先登录后再访问"},
		{"short-soon", langEnglish, "Soon", "Coming soon."},
		{"short-soon", langEnglish, "Soon", "Coming soon."},
		{"", langChinese, "施工", "网站建设中，敬请期待"},
		{"", langChinese, "图集", "点击查看大图"},
		{"", langEnglish, "Login", "Please enable JavaScript to continue."},
		{"", langEnglish, "OK", "It works!"},
		{"", langChinese, "相册", "暂无评论"},
		{"", langMixed, "Index", "首页 Home"},
	} {
		p := add(&page{title: short.title, paragraphs: []string{short.text}}, "short", short.lang, fmt.Sprintf("http://tiny.example.com/p/%d", 500+i))
		p.Cluster = short.cluster
		if i > 0 && short.cluster != "" && pages[len(pages)-2].Cluster == short.cluster {
			p.original, p.Original = pages[len(pages)-2], pages[len(pages)-2].ID
		}
	}
	for i, text := range []string{"", " \n\t ", "　　\u00a0", ""} {
		add(&page{title: "", paragraphs: []string{text}}, "empty", "", fmt.Sprintf("http://tiny.example.com/blank/%d", i))
	}
	return pages
}

func errorText(lang, path string, request int) []string {
	if lang == langChinese {
		return []string{
			"抱歉，您访问的页面不存在、已被删除或者暂时无法打开。",
			fmt.Sprintf("请求的地址是 %s，请求编号 %d。", path, request),
			"可能的原因：输入的网址有误，请检查大小写和标点符号；链接已经过期，内容被作者撤回或者移动到了其他栏目；服务器正在升级维护，部分频道需要稍后才能恢复。",
			"您可以返回上一页重新尝试，或者回到首页浏览最新的文章，也可以在右上角的搜索框里输入关键词继续查找。如果问题一直存在，请把请求编号发给客服，我们会在一个工作日之内回复，感谢您的理解与支持。",
		}
	}
	return []string{
		"Sorry, the page you are looking for cannot be found, has been removed, or is temporarily unavailable.",
		fmt.Sprintf("Requested address: %s (reference %d)", path, request),
		"Please check the spelling of the address, including capital letters and punctuation. The product may have been sold out, renamed or moved to another category, or the link that brought you here may be out of date.",
		"You can go back to the previous page, visit our home page to browse the latest offers, or use the search box at the top of the screen. If you believe this is a mistake, send the reference number above to customer service and we will look into it within one working day.",
	}
}

// again makes a record whose id stands earlier in the dump already: the page
// as it was crawled once more.
func again(p *page) *page {
	q := copyOf(p, "duplicate_id")
	q.ID, q.Cluster, q.Original = p.ID, "", p.ID
	q.Skip, q.Characters, q.Jaccard = data.ReasonDuplicateID, p.Characters, 1
	return q
}

// fold undoes what tells no two documents apart: compatibility forms, letter
// case and traditional characters.
func fold(text string) string {
	return simplifiedReplacer.Replace(strings.ToLower(norm.NFKC.String(text)))
}

// shingle is the number of characters of a shingle.
const shingle = 5

// jaccard is the similarity of the sets of shingles of two folded texts.
func jaccard(a, b string) float64 {
	x, y := shingles(a), shingles(b)
	common := 0
	for s := range x {
		if y[s] {
			common++
		}
	}
	return math.Round(1e4*float64(common)/float64(len(x)+len(y)-common)) / 1e4
}

func shingles(text string) map[string]bool {
	runes := []rune(fold(text))
	set := make(map[string]bool, len(runes))
	for i := range max(len(runes)-shingle+1, 1) {
		set[string(runes[i:min(i+shingle, len(runes))])] = true
	}
	return set
}
