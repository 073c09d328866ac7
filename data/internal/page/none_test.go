package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"strings"
	"testing"
)

// framed is a page of a site whose scripts fill it: what stands in its body is
// the same on all of its pages.
func framed(title, head, body string) string {
	var h strings.Builder
	fmt.Fprintf(&h, `<!DOCTYPE html><html lang="en"><head><title>%s</title>%s</head><body><header class="site-header"><nav><ul class="menu">`, title, head)
	for _, name := range []string{"Home", "News", "Politics", "Business", "Sport", "Culture", "Weather", "Videos", "Podcasts", "Subscribe", "Log in", "About us"} {
		fmt.Fprintf(&h, `<li class="menu-item"><a href="/%s">%s</a></li>`, strings.ToLower(name), name)
	}
	fmt.Fprintf(&h, `</ul></nav></header><div id="app">%s</div><div class="cookie-banner"><p>We use cookies to give you the best experience on our site. Read our <a href="/privacy">privacy policy</a>.</p><button>Accept</button></div>`+
		`<footer><a href="/terms">Terms</a> <a href="/privacy">Privacy</a> <a href="/contact">Contact</a> © Example News</footer></body></html>`, body)
	return h.String()
}

// story is the text of one of many.
func story(i int) string {
	return fmt.Sprintf("The council of district %d met on Monday to decide on the bridge over the river. Its %d members could not agree on who is to pay for it. "+
		"\"We have waited for %d years, and can wait no longer,\" said the mayor, \"but nobody has told me where the money is to come from.\" A vote is expected in week %d.", i, 20+i, 3+i, 10+i)
}

func mainText(t *testing.T, page string) (text string, none None) {
	t.Helper()
	var x Extractor
	x.Parse([]byte(page))
	return string(x.AppendMain(nil)), x.None()
}

// The text that a page brings as data is taken where it shows none of its own,
// and of many pages of a site each has its own.
func TestBrought(t *testing.T) {
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for name, page := range map[string]func(text string) string{
		"JSON-LD": func(text string) string {
			return framed("News", `<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","headline":"Bridge","description":"`+strings.Repeat("What a site says of itself on all pages. ", 20)+`","articleBody":`+quoted(text)+`}</script>`, "")
		},
		"Next.js": func(text string) string {
			return framed("News", "", `<script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{"menu":["Home","News"],"article":{"title":"Bridge","body":`+quoted("<p>"+strings.ReplaceAll(text, ". ", ".</p><p>")+"</p>")+`}}}}</script>`)
		},
		"flight rows": func(text string) string {
			row := `5:["$","div",null,{"className":"story","children":["$","p",null,{"children":` + quoted(text) + `}]}]`
			return framed("News", "", `<script>self.__next_f.push([1,`+quoted(row)+`])</script>`)
		},
		"Nuxt": func(text string) string {
			return framed("News", "", `<script>window.__NUXT__=(function(a,b){return {layout:"default",data:[{article:{id:a,body:`+quoted(text)+`,author:b}}]}}(1,"x"))</script>`)
		},
		"Nuxt 3": func(text string) string {
			return framed("News", "", `<script type="application/json" id="__NUXT_DATA__">[["Reactive",1],{"article":2},{"title":3,"body":4},"Bridge",`+quoted(text)+`]</script>`)
		},
		"frame": func(text string) string {
			return framed("News", "", `<iframe srcdoc="`+html.EscapeString("<html><body><p>"+text+"</p><script>no()</script></body></html>")+`"></iframe>`)
		},
		"noscript": func(text string) string {
			return framed("News", "", "<noscript><article><h1>Bridge</h1><p>"+text+"</p><p>"+text[20:]+"</p></article></noscript>")
		},
	} {
		for i := range 60 {
			got, none := mainText(t, page(story(i)))
			if flat := strings.Join(strings.Fields(got), " "); none != "" || !strings.Contains(strings.ReplaceAll(flat, ".\n", ". "), story(i)) {
				t.Errorf("%s: story %d gave %q (%s)", name, i, got, none)
				break
			}
			if strings.Contains(got, "cookies") || strings.Contains(got, "Podcasts") || strings.Contains(got, "of itself") {
				t.Errorf("%s: the text has what is not the story's: %q", name, got)
				break
			}
		}
	}
}

// A page without a main text says so, and why; no menu entry stands for it.
func TestNone(t *testing.T) {
	long := strings.Repeat(story(3)+"</p><p>", 6)
	for _, c := range []struct {
		name, page string
		want       None
	}{
		{"shell", framed("News", "", ""), Shell},
		{"shell that loads", framed("News", "", `<div class="spinner">Loading…</div>`), Shell},
		{"shell with a short description in its data", framed("News", `<script type="application/ld+json">{"@type":"Organization","name":"Example News","description":"All the news of the day, and what it means."}</script>`, ""), Shell},
		{"nginx", "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.18.0 (Ubuntu)</center>\r\n</body>\r\n</html>", Error},
		{"next to nothing", "<html><head><title>502 Bad Gateway</title></head><body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>", Error},
		{"Apache", "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>404 Not Found</title>\n</head><body>\n<h1>Not Found</h1>\n<p>The requested URL /a was not found on this server.</p>\n<hr>\n<address>Apache/2.4.6 Server at example.org Port 80</address>\n</body></html>", Error},
		{"a site's own", framed("Page not found - Example News", "", "<h1>Sorry!</h1><p>The page that you are looking for may have been moved, or its name may have changed. Try the search.</p>"), Error},
		{"a number alone", framed("404", "", "<h1>404</h1><p>There is nothing here. Go back to the front page, or have a look at the latest news.</p>"), Error},
		{"Chinese", `<html><head><title>404_页面不存在</title></head><body><div class="box"><p>抱歉，您访问的页面不存在或已被删除，您可以返回首页。</p><a href="/">返回首页</a></div></body></html>`, Error},
		{"check for robots", `<html><head><title>Just a moment...</title></head><body><h1>example.org</h1><p>Checking if the site connection is secure. Enable JavaScript and cookies to continue.</p></body></html>`, Error},
		{"login", framed("Sign in", "", `<form><h2>Welcome back</h2><label>Email</label><input type="email"><label>Password</label><input type="password"><button>Sign in</button><a href="/forgot">Forgot your password?</a></form>`), Login},
		{"article about an error", framed("Error 404: how a page that is not found became a joke", "", "<article><h1>Error 404</h1><p>"+long+"</p></article>"), ""},
		{"article behind a login form", framed("Bridge", "", `<form><input type="password"></form><article><h1>The bridge</h1><p>`+long+"</p></article>"), ""},
		{"short text beside a login", framed("Bridge", "", `<form><input type="password"></form><p>The council decided on Monday, against all that was expected of it, to build the bridge over the river, and to begin in May.</p>`), ""},
		{"short text that the site has next to nothing around", `<html><head><title>美丽中国</title><script src="a.js"></script></head><body><div class="a1"><a href="/">首页</a></div><div class="b2"><p>春风浩荡，河流奔腾。节目的最后，让我们一起领略春日中国的壮丽江河。</p></div></body></html>`, ""},
		{"app that wants scripts", `<html><head><title>App</title><script src="a.js"></script></head><body><noscript>You need to enable JavaScript to run this app.</noscript><div id="root"></div></body></html>`, Shell},
		{"short article", framed("The bridge", "", "<article><h1>No bridge for district 3</h1><p>"+story(3)+"</p></article>"), ""},
		{"plain page", "<html><head><title>Notes</title></head><body><p>" + story(4) + "</p></body></html>", ""},
		{"short plain page", "<p>A page of one line, which says what it has to say.</p>", ""},
	} {
		got, none := mainText(t, c.page)
		if none != c.want || (got == "") != (c.want != "") {
			t.Errorf("%s: %q, want %q; text %q", c.name, none, c.want, got)
		}
	}
}

// A page of little but links, or of one line, is no shell: its text is taken,
// and no menu.
func TestSaysLittle(t *testing.T) {
	var list strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&list, `<li><a href="/%d">The village of number %d</a></li>`, i, i)
	}
	thread := func(post string) string {
		return `<form action="/inlinemod" method="post"><div class="post"><div class="author"><a href="/u/7">fox7</a></div><div class="post_body">` + post + `</div></div></form>`
	}
	for _, c := range []struct{ name, body, want string }{
		{"list of links", "<ul>" + list.String() + "</ul>", "The village of number 1199"},
		{"list of links in tables", "<table><tr><td>" + strings.NewReplacer("<li>", "", "</li>", "<br>").Replace(list.String()) + "</table>", "The village of number 1199"},
		{"sentence", "<div>" + "The bridge is closed until Friday." + "</div>", "The bridge is closed until Friday."},
		{"post", thread("same here, works with the old driver"), "same here, works with the old driver"},
		{"post in Chinese", thread("楼主说得对，我也是这样解决的"), "楼主说得对，我也是这样解决的"},
	} {
		page := framed("Villages", "", c.body)
		got, none := mainText(t, page)
		if none != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, text %q", c.name, none, got)
		}
		if strings.Contains(got, "Podcasts") || strings.Contains(got, "cookies") {
			t.Errorf("%s: the text has what is around it: %.300q", c.name, got)
		}
	}
}

// An error's words are looked for where a page says what it is.
func TestIsError(t *testing.T) {
	for title, want := range map[string]bool{
		"404": true, "404 - Seite": true, "Error 503": true, "500 error": true, "HTTP Error 404.0": true, "Not Found | Example": true, "页面不存在": true,
		"": false, "500 days of summer": false, "The 404 group": false, "Area 502 and others": false, "Shop": false,
	} {
		if got := isError(bytes.ToLower([]byte(title))); got != want {
			t.Errorf("%q: %v", title, got)
		}
	}
}

// A headline that many pages share is not all that is taken of one.
func TestHeadlineAlone(t *testing.T) {
	for _, heading := range []string{"<h1>大美中国</h1>", "<h3>大美中国</h3>"} {
		seen := map[string]bool{}
		for i, line := range []string{"春末夏初，祖国大地山河壮美，生机盎然。节目的最后，让我们一起走进大美中国。", "神州大地从北到南风景如画，节目的最后，让我们继续饱览祖国的锦绣山河。", "春回大地，草木初萌。节目的最后，我们一起领略春天的中国。"} {
			got, none := mainText(t, framed("大美中国", "", heading+`<div class="cnt_bd"><p>`+line+`</p></div>`))
			if seen[got] || none != "" || !strings.Contains(got, line) {
				t.Errorf("page %d: %q (%s)", i, got, none)
			}
			seen[got] = true
		}
	}
}
