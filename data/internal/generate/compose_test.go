package generate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/neardup/neardup/data/sample"
)

// seed makes the dump what it is.
const seed = 20260314

// Languages of a page.
const (
	langChinese     = "zh"
	langTraditional = "zh-Hant"
	langEnglish     = "en"
	langMixed       = "mixed"
)

// page is a document on its way into a file.
type page struct {
	sample.Page
	title      string
	paragraphs []string
	published  time.Time
	original   *page
	noID       bool // the record names no id
}

// text is the plain text: what a JSONL line holds, and what is left of an HTML
// page without its menus.
func (p *page) text() string { return strings.Join(p.paragraphs, "\n") }

// random returns the numbers of one page, so that a page more or less leaves
// the others as they are.
func random(part, n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed+part, n)) }

const (
	chinesePages = 196
	englishPages = 70
	mixedPages   = 20
)

// pairs are the Chinese and English subjects of mixed pages.
var pairs = [][2]string{
	{"database", "software"}, {"noodles", "baking"}, {"railway", "railways"}, {"clinic", "medicine"},
	{"market", "finance"}, {"harbour", "sailing"}, {"tea", "garden"}, {"film", "theatre"},
}

func find(subjects []subject, name string) subject {
	for _, s := range subjects {
		if s.name == name {
			return s
		}
	}
	panic("no subject " + name)
}

// shuffled returns the subjects in random order, but number i modulo their count
// first.
func shuffled(r *rand.Rand, all []subject, i int) []subject {
	order := []subject{all[i%len(all)]}
	for _, n := range r.Perm(len(all)) {
		if n != i%len(all) {
			order = append(order, all[n])
		}
	}
	return order
}

// originals writes the pages that resemble no other.
func originals() []*page {
	var pages []*page
	for i := range chinesePages {
		r := random(1, uint64(i))
		w := newWriter(r, true)
		p := &page{}
		p.Lang = langChinese
		subjects := shuffled(r, chineseSubjects, i)
		sections, longest := 1, 16
		switch r.IntN(8) {
		case 0:
			sections, longest = 3, 20
		case 1, 2:
			sections = 2
		}
		for n := range sections {
			p.paragraphs = append(p.paragraphs, w.section(subjects[n], 11+r.IntN(longest))...)
			if n == 0 {
				p.title = w.title()
			}
		}
		p.dated(r, i, true)
		pages = append(pages, p)
	}
	for i := range englishPages {
		r := random(2, uint64(i))
		w := newWriter(r, false)
		p := &page{}
		p.Lang = langEnglish
		p.paragraphs = w.section(englishSubjects[i%len(englishSubjects)], 7+r.IntN(9))
		p.title = w.title()
		p.dated(r, i, false)
		pages = append(pages, p)
	}
	for i := range mixedPages {
		r := random(3, uint64(i))
		zh, en := newWriter(r, true), newWriter(r, false)
		pair := pairs[i%len(pairs)]
		a := zh.section(find(chineseSubjects, pair[0]), 8+r.IntN(10))
		b := en.section(find(englishSubjects, pair[1]), 6+r.IntN(8))
		p := &page{title: zh.title() + " / " + en.title()}
		p.Lang = langMixed
		for len(a)+len(b) > 0 {
			if len(a) > 0 {
				p.paragraphs, a = append(p.paragraphs, a[0]), a[1:]
			}
			if len(b) > 0 {
				p.paragraphs, b = append(p.paragraphs, b[0]), b[1:]
			}
		}
		p.dated(r, i, r.IntN(2) == 0)
		pages = append(pages, p)
	}
	for i, p := range pages {
		p.Kind = "original"
		p.ID = fmt.Sprintf("https://%s/%d/%02d/%04d.html", site(random(4, uint64(i)), p.Lang), p.published.Year(), p.published.Month(), 1000+i)
	}
	return pages
}

var sites = map[string][]string{
	langChinese: words("news.example.com www.example.cn blog.example.com.cn zhoukan.example.net bbs.example.org"),
	langEnglish: words("www.example.org notes.example.com journal.example.net"),
	langMixed:   words("bilingual.example.com dual.example.org"),
}

func site(r *rand.Rand, lang string) string {
	if lang == langTraditional {
		return "tw.example.com"
	}
	return pick(r, sites[lang])
}

// dated gives p a date and, every second page, a line of source, date and
// counters.
func (p *page) dated(r *rand.Rand, i int, chinese bool) {
	p.published = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(430*24*60)) * time.Minute)
	if i%2 == 0 {
		p.paragraphs = append([]string{byline(r, p.published, chinese)}, p.paragraphs...)
	}
}

func byline(r *rand.Rand, at time.Time, chinese bool) string {
	views, comments := 100+r.IntN(90000), r.IntN(400)
	if chinese {
		return fmt.Sprintf("%s 来源：%s 阅读：%d 评论：%d", at.Format("2006年1月2日 15:04"), pick(r, chineseSources), views, comments)
	}
	return fmt.Sprintf("Published %s, %d views, %d comments", at.Format("2 January 2006, 15:04"), views, comments)
}
