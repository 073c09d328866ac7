package page

import "bytes"

// None is why a page has no main text; "" if it has one.
type None string

// What a page is that has no main text.
const (
	Shell None = "shell" // what the site puts around all of its pages, and nothing in it
	Error None = "error" // it says that the page is not to be had: 404, 502, a check for robots
	Login None = "login" // it asks who you are
)

// None tells why AppendMain found no main text on the page; "" if it did. Such
// pages are alike all over a site, and no copies of each other.
func (x *Extractor) None() None { return x.none }

const (
	// surely is the probability that the page's most probable block has at
	// least, else nothing on it is main text.
	surely = 0.2
	// fewTold is the mass outside links up to which a page is an error or a
	// login if it says so: an article about errors has more.
	fewTold = 1000
	// A page with so much text is no shell: outside links, in all, and with what
	// the site puts around its pages.
	muchTold   = 800
	muchListed = 2000
	muchShown  = 16000
	// fewSaid is the mass of a line that says something, and fewWords its words
	// where it is no sentence.
	fewSaid  = 20
	fewWords = 4
)

// lacks tells why the page has no main text; "" if it has one.
func (x *Extractor) lacks() None {
	x.around()
	own := int32(0)
	for i := range x.blocks {
		if probability(x.scores[i]) >= minProbability {
			own += x.blocks[i].mass - x.blocks[i].linked
		}
	}
	switch {
	case own <= fewTold && x.saysError():
		return Error
	case own <= fewTold && x.password && x.says(loginWords[:]) && !x.has(x.told):
		return Login
	case x.highest() < surely && (x.scripted || x.nodes[0].linked > 0) && x.isShell(): // without scripts and links it is a page of a few words
		return Shell
	}
	return ""
}

// aroundMarks and aroundTags are of elements that a site puts around its pages.
const (
	aroundMarks = 1<<markNav | 1<<markFooter | 1<<markConsent | 1<<markLogin | 1<<markShare | 1<<markAd | 1<<markHidden
	aroundTags  = furniture | 1<<tagHeader | 1<<tagForm | 1<<tagAddress
)

// inside reports whether nothing marks a block as what a site puts around its
// pages.
func (x *Extractor) inside(i int) bool {
	n := &x.nodes[x.blocks[i].node]
	marks, tags := n.above|n.marks, x.aroundTags
	if marks&postMarks != 0 {
		tags &^= 1 << tagForm
	}
	return n.hidden == 0 && marks&x.aroundMarks == 0 && n.within&tags == 0
}

// postMarks are of posts, which forums put into forms to choose some of them.
const postMarks = 1<<markMessage | 1<<markContent | 1<<markText

// around sets which marks and tags are of what the site puts around this page:
// not those of the page as a whole, nor of a form that most of it stands in.
func (x *Extractor) around() {
	x.aroundMarks, x.aroundTags = aroundMarks&^x.nodes[0].marks, aroundTags
	for i := range x.nodes {
		if n := &x.nodes[i]; n.tag == tagForm && n.mass*2 >= x.nodes[0].mass {
			x.aroundTags &^= 1 << tagForm
		}
	}
}

// own reports whether a block is such text, and outside links.
func (x *Extractor) own(i int) bool {
	k := &x.blocks[i]
	return k.linked*2 <= k.mass && x.inside(i)
}

// told reports whether a block is a paragraph of prose, and no notice.
func (x *Extractor) told(i int) bool {
	return x.isProse(i) && x.own(i) && lineCues(x.blockText(i))&cueShare == 0
}

// noticeWords are what a site says to the reader's browser, in small letters.
var noticeWords = [...][]byte{[]byte("javascript"), []byte("browser"), []byte("cookie"), []byte("©"), []byte("copyright"), []byte("loading")}

// said reports whether a block is a line that says something: a sentence, or
// some words, and no notice.
func (x *Extractor) said(i int) bool {
	k, m := &x.blocks[i], &x.measures[i]
	n := &x.nodes[k.node]
	sentence := m.sentences > 0 && m.ending == 1 && k.mass >= fewSaid
	post := m.words >= fewWords && k.linked == 0 && m.digits*4 < k.mass
	if !sentence && !post || n.within&headings != 0 || k.inline != 0 || !x.own(i) {
		return false
	}
	text := x.blockText(i)
	return lineCues(text) == 0 && !containsAny(x.small(text), noticeWords[:])
}

// has reports whether the page has a block of the kind.
func (x *Extractor) has(kind func(i int) bool) bool {
	for i := range x.blocks {
		if kind(i) {
			return true
		}
	}
	return false
}

// isShell reports whether the page has neither prose of its own nor a line that
// says something, and little text: of pages that say little the model may not be
// sure, but there is a main text.
func (x *Extractor) isShell() bool {
	own, inside := int32(0), int32(0)
	for i := range x.blocks {
		if x.own(i) {
			own += x.blocks[i].mass
		}
		if x.inside(i) {
			inside += x.blocks[i].mass
		}
	}
	return own < muchTold && inside < muchListed && x.nodes[0].mass < muchShown && !x.has(x.told) && !x.has(x.said)
}

// chooseTold marks, on a page of which the model is not sure, the paragraphs of
// prose and the text beside them; without such the lines that say something;
// without them, on a page of much text, all that nothing marks as what is around
// it, or all.
func (x *Extractor) chooseTold() bool {
	parent := func(i int) *node { return &x.nodes[max(x.nodes[x.blocks[i].node].parent, 0)] }
	kind := x.told
	switch {
	case x.has(x.told):
	case x.has(x.said):
		kind = x.said
	default:
		inside := int32(0)
		for i := range x.blocks {
			if x.inside(i) {
				inside += x.blocks[i].mass
			}
		}
		for i := range x.blocks {
			x.chosen[i] = inside >= muchListed && x.inside(i) || inside < muchListed && x.nodes[0].mass >= muchShown
		}
		return inside >= muchListed || x.nodes[0].mass >= muchShown
	}
	for i := range x.blocks {
		if kind(i) {
			parent(i).on |= onTold
		}
	}
	for i := range x.blocks {
		x.chosen[i] = parent(i).on&onTold != 0 && x.own(i)
	}
	return true
}

// loginWords are what titles and headings of logins say, in small letters.
var loginWords = [...][]byte{
	[]byte("log in"), []byte("login"), []byte("log on"), []byte("logon"), []byte("sign in"), []byte("signin"), []byte("sign up"), []byte("welcome back"), []byte("password"),
	[]byte("登录"), []byte("登錄"), []byte("登入"), []byte("注册"), []byte("anmelden"), []byte("anmeldung"), []byte("connexion"), []byte("connecter"), []byte("iniciar sesi"), []byte("accedi"),
	[]byte("вход"), []byte("войти"), []byte("ログイン"), []byte("로그인"),
}

// errorWords are what titles and headings of error pages say, in small letters.
var errorWords = [...][]byte{
	[]byte("not found"), []byte("bad gateway"), []byte("gateway time"), []byte("service unavailable"), []byte("temporarily unavailable"), []byte("server error"),
	[]byte("forbidden"), []byte("access denied"), []byte("unauthorized"), []byte("too many requests"), []byte("page unavailable"), []byte("page doesn't exist"), []byte("page does not exist"),
	[]byte("just a moment"), []byte("attention required"), []byte("are you a robot"), []byte("security check"), []byte("under maintenance"),
	[]byte("页面不存在"), []byte("页面未找到"), []byte("找不到"), []byte("无法访问"), []byte("服务器错误"), []byte("访问被拒绝"), []byte("系统维护"), []byte("安全验证"), []byte("頁面不存在"), []byte("無法存取"),
	[]byte("nicht gefunden"), []byte("introuvable"), []byte("no encontrada"), []byte("non trovata"), []byte("не найдена"), []byte("見つかりません"), []byte("찾을 수 없"),
}

// errorCodes are the statuses of HTTP that pages show.
var errorCodes = [...][]byte{[]byte("400"), []byte("401"), []byte("403"), []byte("404"), []byte("410"), []byte("429"), []byte("500"), []byte("502"), []byte("503"), []byte("504"), []byte("520"), []byte("521"), []byte("522"), []byte("524")}

// small returns a text with its ASCII in small letters; it is valid until the
// next.
func (x *Extractor) small(text []byte) []byte {
	x.lower = x.lower[:0]
	for _, c := range text {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		x.lower = append(x.lower, c)
	}
	return x.lower
}

// headlines calls yield with the page's title and its headings of the first
// levels, in small letters as far as they are ASCII, until it is true.
func (x *Extractor) headlines(yield func(text []byte) bool) bool {
	told := func(text []byte) bool {
		if len(text) == 0 || len(text) > 120 {
			return false
		}
		return yield(x.small(text))
	}
	if told(x.title) {
		return true
	}
	for i := range x.blocks {
		if n := &x.nodes[x.blocks[i].node]; n.within&(1<<tagH1|1<<tagH2) != 0 && told(x.blockText(i)) {
			return true
		}
	}
	return false
}

// says reports whether the title or a heading has one of the words.
func (x *Extractor) says(words [][]byte) bool {
	return x.headlines(func(text []byte) bool { return containsAny(text, words) })
}

// saysError reports whether the page's title or a heading says that it is an
// error page.
func (x *Extractor) saysError() bool { return x.headlines(isError) }

func containsAny(text []byte, words [][]byte) bool {
	for _, w := range words {
		if bytes.Contains(text, w) {
			return true
		}
	}
	return false
}

// isError reports whether a heading, in small letters, is that of an error page.
func isError(text []byte) bool {
	if containsAny(text, errorWords[:]) {
		return true
	}
	for _, code := range errorCodes { // alone, before a mark or "error", behind "error"
		i := bytes.Index(text, code)
		if i < 0 {
			continue
		}
		before, behind := bytes.TrimSpace(text[:i]), text[i+len(code):]
		if i == 0 && (len(behind) == 0 || startsMark(behind)) || bytes.HasSuffix(before, []byte("error")) || bytes.HasPrefix(behind, []byte(" error")) {
			return true
		}
	}
	return false
}

// startsMark reports whether a punctuation mark comes next.
func startsMark(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	return len(b) > 0 && bytes.IndexByte([]byte("-|:,.!"), b[0]) >= 0
}
