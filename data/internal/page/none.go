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
	fewTold = 600
)

// lacks tells why the page has no main text; "" if it has one.
func (x *Extractor) lacks() None {
	own := int32(0)
	highest := 0.0
	for i := range x.blocks {
		p := probability(x.scores[i])
		highest = max(highest, p)
		if p >= minProbability {
			own += x.blocks[i].mass - x.blocks[i].linked
		}
	}
	switch {
	case own <= fewTold && x.saysError():
		return Error
	case own <= fewTold/2 && x.password:
		return Login
	case highest < surely && (x.scripted || x.nodes[0].linked > 0): // else it is a page of a few words
		return Shell
	}
	return ""
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

// saysError reports whether the page's title or a heading says that it is an
// error page.
func (x *Extractor) saysError() bool {
	if x.isError(x.title) {
		return true
	}
	for i := range x.blocks {
		if n := &x.nodes[x.blocks[i].node]; n.within&(1<<tagH1|1<<tagH2) != 0 && x.isError(x.blockText(i)) {
			return true
		}
	}
	return false
}

// isError reports whether a heading is that of an error page.
func (x *Extractor) isError(heading []byte) bool {
	if len(heading) == 0 || len(heading) > 120 {
		return false
	}
	x.lower = x.lower[:0]
	for _, c := range heading {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		x.lower = append(x.lower, c)
	}
	for _, w := range errorWords {
		if bytes.Contains(x.lower, w) {
			return true
		}
	}
	for _, code := range errorCodes { // alone, before a mark or "error", behind "error"
		i := bytes.Index(x.lower, code)
		if i < 0 {
			continue
		}
		before, behind := bytes.TrimSpace(x.lower[:i]), x.lower[i+len(code):]
		if i == 0 && (len(behind) == 0 || startsMark(behind)) ||
			bytes.HasSuffix(before, []byte("error")) || bytes.HasPrefix(behind, []byte(" error")) {
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
