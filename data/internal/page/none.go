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
	// muchTold is the mass outside links from which on a page is no shell.
	muchTold = 800
)

// lacks tells why the page has no main text; "" if it has one.
func (x *Extractor) lacks() None {
	own := int32(0)
	for i := range x.blocks {
		if probability(x.scores[i]) >= minProbability {
			own += x.blocks[i].mass - x.blocks[i].linked
		}
	}
	switch {
	case own <= fewTold && x.saysError():
		return Error
	case own <= fewTold && x.password && x.says(loginWords[:]) && !x.tells():
		return Login
	case x.highest() < surely && (x.scripted || x.nodes[0].linked > 0) && !x.tells(): // without scripts and links it is a page of a few words
		return Shell
	}
	return ""
}

// aroundMarks and aroundTags are of elements that a site puts around its pages.
const (
	aroundMarks = 1<<markNav | 1<<markFooter | 1<<markConsent | 1<<markLogin | 1<<markShare | 1<<markAd | 1<<markHidden
	aroundTags  = furniture | 1<<tagHeader | 1<<tagForm | 1<<tagAddress
)

// own reports whether a block is text outside links that nothing marks as what
// a site puts around its pages.
func (x *Extractor) own(i int) bool {
	k := &x.blocks[i]
	n := &x.nodes[k.node]
	return k.linked*2 <= k.mass && n.hidden == 0 && (n.above|n.marks)&aroundMarks == 0 && n.within&aroundTags == 0
}

// told reports whether a block is a paragraph of prose, and no notice.
func (x *Extractor) told(i int) bool {
	return x.isProse(i) && x.own(i) && lineCues(x.blockText(i))&cueShare == 0
}

// tells reports whether the page has such a paragraph, or much text of its own:
// of pages that say little the model may not be sure, but there is a main text.
func (x *Extractor) tells() bool {
	mass := int32(0)
	for i := range x.blocks {
		if x.own(i) {
			mass += x.blocks[i].mass
		}
		if mass >= muchTold || x.told(i) {
			return true
		}
	}
	return false
}

// chooseTold marks, on a page of which the model is not sure, the paragraphs of
// prose and the text beside them; false without such.
func (x *Extractor) chooseTold() bool {
	parent := func(i int) *node { return &x.nodes[max(x.nodes[x.blocks[i].node].parent, 0)] }
	any := false
	for i := range x.blocks {
		if x.told(i) {
			parent(i).on |= onTold
			any = true
		}
	}
	for i := range x.blocks {
		x.chosen[i] = any && parent(i).on&onTold != 0 && x.own(i)
	}
	return any
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

// headlines calls yield with the page's title and its headings of the first
// levels, in small letters as far as they are ASCII, until it is true.
func (x *Extractor) headlines(yield func(text []byte) bool) bool {
	told := func(text []byte) bool {
		if len(text) == 0 || len(text) > 120 {
			return false
		}
		x.lower = x.lower[:0]
		for _, c := range text {
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			x.lower = append(x.lower, c)
		}
		return yield(x.lower)
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
