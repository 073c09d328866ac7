package page

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func visible(html string) string {
	var x Extractor
	x.Parse([]byte(html))
	return string(x.AppendVisible(nil))
}

// What a reader sees of pages as they are.
func TestVisible(t *testing.T) {
	long := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 4)
	long = long[:len(long)-1]
	for _, c := range []struct{ name, html, want string }{
		{"blocks", "<p>one<p>two</p><div>three<div>four</div>five</div>", "one\ntwo\nthree\nfour\nfive"},
		{"inline", "<p>a<b>b</b> <i> c</i>\n\td</p>", "ab c d"},
		{"line break", "<p>one<br>two<br/>three", "one\ntwo\nthree"},
		{"no markup", "a < b & c", "a < b & c"},
		{"references", "<p>&lt;p&gt; &amp;amp; &copy;&#169;&#xA9; &eacute; &#x4e2d; AT&T &unknown; &#0; &#128; &#x9d;&#99999999999;", "<p> &amp; ©©© é 中 AT&T &unknown; \uFFFD € \u009d\uFFFD"},
		{"spaces", "<p>\u00a0a&nbsp;&nbsp;b\u3000c\u200bd&shy;e&zwj;f", "a b cdef"},
		{"scripts", "<p>a<script>var s = '<p>no</p>'</script>b<style>p{}</style><textarea>no</textarea><select><option>no</select>", "ab"},
		{"script in capitals", "<P>a<SCRIPT>no</ScRiPt >b", "ab"},
		{"comments", "a<!-- <p>no -- no > --><!-->b<!--->c<!-- --!>d<!doctype x><?php no ?>e", "abcde"},
		{"comment that never ends", "<p>a<!-- no <p>no", "a"},
		{"attributes", `<p title="a > b" data-x='<p>' y=z>a<a href=/x/>b</a>`, "ab"},
		{"list", "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "a\nb\nc\nd"},
		{"table", "<table><tr><td>a<td>b<tr><td>c</div>d</table>e", "a\nb\nc\nd\ne"},
		{"preformatted", "<pre>a\n  b\n\nc</pre>", "a\nb\nc"},
		{"hidden", "<p>" + long + "<p hidden>no<p style='color:red; display : none'>no<span style=\"visibility:hidden\">no <span>no</span> no</span><div>yes", long + "\nyes"},
		{"template", long + "<template><p>no</template><div><template shadowrootmode=open><p>shadow</p></template></div>", long + "\nshadow"},
		{"noscript beside text", "<p>" + long + "<noscript>no</noscript>", long},
		{"noscript alone", "<div>Loading</div><noscript><div><p>" + long + "</div></noscript>", "Loading\n" + long},
		{"frames", "<frameset><frame src=a><noframes><body><p>" + long + "</noframes></frameset>", long},
		{"object", "<object data=a.swf><p>" + long + "</object>", long},
		{"unclosed svg", "<p>a<svg><title>no</title><path d='M0'><div>" + long + "</div>", "a\n" + long},
		{"unclosed select", "<p>a<select><option>no<option><b>no</b><!-- </select> --><optgroup label=x><hr><option>no<div>b<select>no<input>c<select>no</select>d<datalist><option>no</datalist>e", "a\nbcde"},
		{"select that ends within the page", "<p>a<select><option>no", "a"},
		{"XHTML", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/><style/></head><body><p>a</p><textarea rows="2"/><iframe src="b"/><p>b</p></body></html>`, "a\nb"},
		{"XHTML without its declaration", `<html xmlns="http://www.w3.org/1999/xhtml"><head><script src="a.js" /></head><body><p>a</p></body></html>`, "a"},
		{"HTML with a slash in a tag", `<html><head><script src="a.js"/></head><body><p>no</p></script><p>a`, "a"},
		{"all hidden", "<body style='display:none'><p>" + long, long},
		{"nothing but a description", `<meta name=description content="A &amp; B"><meta property="og:description" content="A &amp; B, longer"><div id=app></div>`, "A & B, longer"},
		{"end tags of nothing", "</div></p></table>a</span>b", "ab"},
		{"links around blocks", "<a href=x><div>a</div><div>b</div></a>c", "a\nb\nc"},
		{"plaintext", "<p>a<plaintext><b>b", "a\n<b>b"},
		{"cut in a tag", "<p>a<div class='b", "a"},
		{"empty", "", ""},
	} {
		if got := visible(c.html); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTitleAndLanguage(t *testing.T) {
	for _, c := range []struct{ html, title, language string }{
		{"<html lang=zh-CN><title>\n A &amp; <b>B\n</title><svg><title>no</title></svg><title>no</title>x", "A & <b>B", "zh-CN"},
		{`<meta property="og:title" content="C &lt;"><meta http-equiv="Content-Language" content="de">`, "C <", "de"},
		{`<html xml:lang="fr"><body><h1>D <i>E</i></h1>`, "D E", "fr"},
		{`<body lang=ja>`, "", "ja"},
		{`<title>never closed`, "never closed", ""},
		{"<title>" + strings.Repeat("中", 3000), strings.Repeat("中", 1365), ""},
	} {
		var x Extractor
		x.Parse([]byte(c.html))
		if title, language := string(x.Title()), string(x.Language()); title != c.title || language != c.language {
			t.Errorf("%s: title %q, language %q", c.html, title, language)
		}
	}
}

// article is a page of a site: an article of so many paragraphs among menus,
// related stories and a footer.
func article(paragraphs int) (html, text string) {
	var h, want strings.Builder
	h.WriteString(`<html lang="en"><head><title>On foxes - Example News</title></head><body><header><nav class="menu"><ul>`)
	for i := range 20 {
		fmt.Fprintf(&h, `<li><a href="/s/%d">Section %d</a></li>`, i, i)
	}
	h.WriteString(`</ul></nav></header><main><article class="post"><h1>On foxes</h1><div class="entry-content">`)
	for i := range paragraphs {
		p := fmt.Sprintf("Paragraph %d says, as others do, that a quick fox jumped over %d lazy dogs; nobody knows why it did. It was seen by several people.", i, i)
		fmt.Fprintf(&h, "<p>%s</p>\n", p)
		want.WriteString(p + "\n")
	}
	h.WriteString(`</div></article></main><aside class="related"><h3>Most popular</h3><ul>`)
	for i := range 10 {
		fmt.Fprintf(&h, `<li><a href="/a/%d">Ten things that you never knew about number %d</a></li>`, i, i)
	}
	h.WriteString(`</ul></aside><footer class="footer"><p>Copyright 2026 Example News. All rights reserved.</p><a href="/privacy">Privacy policy</a></footer></body></html>`)
	return h.String(), want.String()
}

// The article of a page is taken, and what the site puts around it is not.
func TestMainText(t *testing.T) {
	html, want := article(6)
	var x Extractor
	x.Parse([]byte(html))
	got := string(x.AppendMain(nil))
	for line := range strings.Lines(want) {
		if !strings.Contains(got+"\n", line) {
			t.Errorf("the main text lacks %q", line)
		}
	}
	for _, no := range []string{"Section 3", "Ten things", "rights reserved", "Privacy"} {
		if strings.Contains(got, no) {
			t.Errorf("the main text has %q", no)
		}
	}
	// A heading that is never closed holds the article, and does not take it along.
	open := strings.Replace(html, "<h1>On foxes</h1>", "<p>Nobody knows as much of foxes as the foxes themselves, and they do not tell; here is what others do.</p><p>We asked three of them in the wood on a day in March, and two of them were so kind as to answer. What they said was not what we had expected.</p><h1>On foxes", 1)
	x.Parse([]byte(open))
	if got := string(x.AppendMain(nil)); !strings.Contains(got, "We asked three of them") || !strings.Contains(got, "Paragraph 3 says") {
		t.Errorf("behind an open heading: %q", got)
	}
	x.Parse([]byte(html))
	if visible := string(x.AppendVisible(nil)); !strings.Contains(visible, "Ten things") {
		t.Errorf("the visible text lacks the related stories: %q", visible)
	}
}

// Whatever page came before, the next gives the same.
func TestReuse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var used Extractor
	for range 300 {
		html := randomPage(r)
		var fresh Extractor
		fresh.Parse(html)
		used.Parse(html)
		for name, f := range map[string]func(*Extractor) string{
			"title":    func(x *Extractor) string { return string(x.Title()) },
			"language": func(x *Extractor) string { return string(x.Language()) },
			"main":     func(x *Extractor) string { return string(x.AppendMain(nil)) },
			"visible":  func(x *Extractor) string { return string(x.AppendVisible(nil)) },
		} {
			if a, b := f(&fresh), f(&used); a != b {
				t.Fatalf("%s of %q: %q, used again %q", name, html, a, b)
			}
		}
	}
}

// randomPage is markup of pieces in any order.
func randomPage(r *rand.Rand) []byte {
	pieces := []string{"<div>", "</div>", "<p>", "</p>", "<a href=x>", "</a>", "<ul>", "<li>", "</ul>", "<table>", "<tr>", "<td>", "</table>", "<span hidden>", "</span>",
		"<nav class=menu>", "</nav>", "<h1>", "</h1>", "text ", "more text, and more. ", "中文文字。", "&amp;", "<br>", "<script>", "</script>", "<!--", "-->", "<svg>", "</svg>",
		"<noscript>", "</noscript>", "<template>", "</template>", "<title>", "</title>", "<pre>\n", "</pre>", "<x-y>", "</x-y>", "<", ">", "\"", "<b style='display:none'>", "</b>",
		"<meta name=description content='about it'>", "<html lang=en>", "<footer>", "</footer>", "<plaintext>", "<object>", "</object>"}
	var b []byte
	for range r.IntN(80) {
		i := r.IntN(len(pieces))
		if pieces[i] == "<plaintext>" && r.IntN(20) > 0 {
			continue
		}
		b = append(b, pieces[i]...)
	}
	return b
}

// A page costs time by its length, whatever it is made of: twice the page may
// take four times as long at the most, as a quadratic one would on average.
func TestLinear(t *testing.T) {
	var x Extractor
	for name, piece := range map[string]string{
		"nested":            "<div>",
		"nested inline":     "<b hidden>",
		"text":              "a ",
		"blocks":            "<p>a",
		"closing":           "<section><div></section>",
		"ignored ends":      "<td></div>",
		"list":              "<li>",
		"attributes":        " a=b",
		"quotes":            "<a b=\"",
		"comments":          "<!--",
		"comment ends":      "<!-- --",
		"scripts":           "<script>",
		"script ends":       "<script></",
		"references":        "&",
		"numbers":           "&#1",
		"names":             "&amp",
		"classes":           "<p class='" + strings.Repeat("nav ", 100) + "'>a",
		"titles":            "<title>a</title>",
		"svg":               "<svg><p>",
		"templates":         "<template>",
		"tables":            "<table><tr><td>",
		"metas":             "<meta name=description content=aa>",
		"raw":               "<textarea>a</textarea>",
		"other":             "<x-a><x-b>",
		"links":             "<a href=x>a",
		"headings":          "<h1>related</h1>",
		"declarations":      "<!",
		"slashes":           "</",
		"growing":           "<meta property=og:title content=a>b",
		"Chinese":           "中文。",
		"spaces":            " \n",
		"hidden by style":   "<p style='display:display:'>a",
		"unclosed selects":  "<select><option>a<b>",
		"selects and text":  "<select>a<p>",
		"state":             `<script type="application/json">{"body":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa. ","x":"` + strings.Repeat("b", 100) + `"}</script>`,
		"one long state":    `{"body":"` + strings.Repeat("a. ", 30) + `"},`,
		"frames":            "<iframe srcdoc='" + strings.Repeat("&lt;p&gt;a. ", 30) + "'></iframe>",
		"dense":             "<x>a",
		"repeated siblings": "<i class=x>a</i><div class=x>a</div>",
	} {
		measure := func(n int) time.Duration {
			html := []byte(strings.Repeat(piece, n/len(piece)))
			switch name {
			case "attributes":
				html = append([]byte("<a "), html...)
			case "one long state":
				html = append([]byte("<a href=x>Home</a><script type=application/json>["), html...)
			}
			best := time.Hour
			for range 3 {
				begin := time.Now()
				x.Parse(html)
				_ = x.AppendMain(nil)
				_ = x.AppendVisible(nil)
				best = min(best, time.Since(begin))
			}
			return best
		}
		size := 1 << 18
		if testing.Short() {
			size = 1 << 15
		}
		small, large := measure(size), measure(8*size)
		for again := 0; again < 5 && large > 40*small+50*time.Millisecond; again++ { // the machine may be busy
			small, large = max(small, measure(size)), min(large, measure(8*size))
		}
		if large > 40*small+50*time.Millisecond {
			t.Errorf("%s: %v for %d KiB, %v for eight times as much", name, small, size>>10, large)
		}
	}
}

// However many elements and blocks a page has, memory is for so many.
func TestBounds(t *testing.T) {
	if testing.Short() {
		t.Skip("reads pages of 20 MB")
	}
	var x Extractor
	for _, piece := range []string{"<p>a", "<div><p>a</p>", "a<meta property=og:title content=b>", "a<hr>"} {
		x.Parse([]byte(strings.Repeat(piece, 2*maxNodes)))
		if len(x.nodes) > maxNodes || len(x.blocks) > maxBlocks+2 {
			t.Errorf("%s: %d nodes, %d blocks", piece, len(x.nodes), len(x.blocks))
		}
		if got := bytes.Count(x.AppendVisible(nil), []byte("a")); got != 2*maxNodes {
			t.Errorf("%s: %d of %d texts are left", piece, got, 2*maxNodes)
		}
	}
}

// An article behind hundreds of thousands of menu entries is found, and the
// entries are left out.
func TestManyEntries(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a page of 13 MB")
	}
	html, want := article(6)
	var menu strings.Builder
	menu.WriteString(`<ul class="menu">`)
	for i := range 300000 {
		fmt.Fprintf(&menu, `<li class="item"><a href="/s/%d">Section %d</a></li>`, i, i)
	}
	menu.WriteString("</ul>")
	html = strings.Replace(html, "<main>", menu.String()+"<main>", 1)
	var x Extractor
	x.Parse([]byte(html))
	got := string(x.AppendMain(nil))
	for line := range strings.Lines(want) {
		if !strings.Contains(got+"\n", line) {
			t.Errorf("the main text lacks %q", line)
		}
	}
	if len(got) > len(want)+100 {
		t.Errorf("the main text has %d bytes, the article %d", len(got), len(want))
	}
	if visible := x.AppendVisible(nil); bytes.Count(visible, []byte("\nSection")) < 300000 {
		t.Errorf("the visible text has %d of 300000 entries", bytes.Count(visible, []byte("\nSection")))
	}
}

// A page takes no allocation once there is room for it.
func TestAllocations(t *testing.T) {
	html, _ := article(40)
	b := []byte(html + "&eacute;&hellip;")
	var x Extractor
	var text []byte
	run := func() {
		x.Parse(b)
		text = x.AppendMain(text[:0])
		text = x.AppendVisible(text[:0])
	}
	run()
	if n := testing.AllocsPerRun(20, run); n > 0 {
		t.Errorf("%v allocations a page", n)
	}
}

func FuzzExtractor(f *testing.F) {
	html, _ := article(3)
	f.Add([]byte(html))
	r := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		f.Add(randomPage(r))
	}
	f.Add([]byte(newsPage(titleA, storyA)))
	var x Extractor
	f.Fuzz(func(t *testing.T, html []byte) {
		html = bytes.ToValidUTF8(html, []byte("\uFFFD"))
		x.Parse(html)
		main, visible := x.AppendMain(nil), x.AppendVisible(nil)
		if body := x.Body(); body < 0 || body > 0 && (body >= len(main) || main[body-1] != '\n') {
			t.Errorf("the body of %q begins at %d of %q", html, body, main)
		}
		for name, text := range map[string][]byte{"title": x.Title(), "main": main, "visible": visible} {
			if !utf8.Valid(text) {
				t.Errorf("the %s of %q is no UTF-8: %q", name, html, text)
			}
			if len(text) > 0 && (bytes.HasPrefix(text, []byte(" ")) || bytes.HasSuffix(text, []byte(" ")) || bytes.Contains(text, []byte("  "))) {
				t.Errorf("the %s of %q has white space to spare: %q", name, html, text)
			}
		}
		if none := x.None(); none != "" && len(main) > 0 || none == "" && len(main) == 0 != (len(visible) == 0) {
			t.Errorf("%q: main %q, visible %q, %q", html, main, visible, none)
		}
	})
}

// Paragraphs and rows that differ in a number are all kept; a text that is on
// the page twice is kept once.
func TestRepeated(t *testing.T) {
	var h strings.Builder
	h.WriteString(`<html><head><title>Prices</title></head><body><main><article><h1>Prices of eight boats</h1>`)
	for i := range 8 {
		fmt.Fprintf(&h, "<p>The shipyard says that the boat which it calls by the number, and which is among the best that it has built for years, is worth %d thousand crowns; nobody who was asked in the harbour believed that it would be sold for as much as that.</p>", 310+i)
	}
	twice := "It also says that whoever does not believe it may come, have a look at all of them, and go away again."
	fmt.Fprintf(&h, "<p>%s</p><p>%s</p></article></main></body></html>", twice, twice)
	var x Extractor
	x.Parse([]byte(h.String()))
	got := string(x.AppendMain(nil))
	for i := range 8 {
		if want := fmt.Sprintf("is worth %d thousand", 310+i); !strings.Contains(got, want) {
			t.Errorf("the main text lacks %q", want)
		}
	}
	if n := strings.Count(got, twice); n != 1 {
		t.Errorf("a paragraph that is there twice is kept %d times", n)
	}
}
