package warc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/warc"
)

func open(t testing.TB, content []byte, o data.ReaderOptions) data.SourceReader {
	t.Helper()
	o.Stdin = bytes.NewReader(content)
	r, err := warc.Open(data.Split{Path: "-", Format: "warc", Size: -1, End: -1}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readAll returns the documents and a line for every bad record.
func readAll(t testing.TB, r data.Reader) (docs []data.Document, bad []string) {
	t.Helper()
	for {
		var doc data.Document
		err := r.Read(&doc)
		if b, ok := data.IsBadRecord(err); ok {
			bad = append(bad, fmt.Sprintf("%d %s", b.Offset, b.Reason))
			continue
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return docs, bad
}

func sharedData(t testing.TB) string {
	dir := os.Getenv("NEARDUP_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(dir, "data", "warc")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("shared data not found at %s", dir)
	}
	return dir
}

// TestRealArchives has the counts that warcio 1.7, an independent reader,
// gives for the same files: records by type, responses by status class and
// media type.
func TestRealArchives(t *testing.T) {
	dir := sharedData(t)
	for _, c := range []struct {
		file      string
		documents int
		bad       map[string]int
	}{
		// 94 HTML pages and 36 plain texts of 2xx, of which a frame set has
		// nothing but a title, and a robots.txt nothing at all; 47 responses of 3xx and 4xx; the rest are requests, metadata,
		// DNS, images, scripts, style sheets and XML.
		{"IAH-20080430204825-00000-blackbook.warc.gz", 128, map[string]int{data.ReasonNotPage: 645, data.ReasonHTTPStatus: 47, data.ReasonNoText: 2}},
		{"blackbook-truncated.warc.gz", 3, map[string]int{data.ReasonNotPage: 20}}, // cut off behind a record
		{"dolma-sample-0000.warc.gz", 24, map[string]int{data.ReasonNotPage: 24}},  // 22 pages, and 2 text resources of wget
		{"dolma-sample-0001.warc.gz", 17, map[string]int{data.ReasonNotPage: 17}},
		{"ipwb-sample-1.warc.gz", 63, map[string]int{data.ReasonNotPage: 167, data.ReasonHTTPStatus: 1}},
		{"resiliparse-clueweb-quirk.warc.gz", 29, map[string]int{data.ReasonNotPage: 1}},
		{"resiliparse-warcfile.warc", 16, map[string]int{data.ReasonNotPage: 34}},
		{"resiliparse-warcfile.warc.gz", 16, map[string]int{data.ReasonNotPage: 34}},
		{"whirlwind.warc.gz", 1, map[string]int{data.ReasonNotPage: 3}},
		{"whirlwind.warc.wet.gz", 1, map[string]int{data.ReasonNotPage: 1}},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(dir, c.file)
			r, err := warc.Open(data.Split{Path: path, Format: "warc", End: -1}, data.ReaderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			docs, bad := readAll(t, r)
			reasons := map[string]int{}
			for _, b := range bad {
				reasons[strings.Fields(b)[1]]++
			}
			if len(docs) != c.documents || !maps.Equal(reasons, c.bad) {
				t.Errorf("%d documents, skipped %v; want %d and %v", len(docs), reasons, c.documents, c.bad)
			}
			for _, d := range docs {
				if len(d.Text) == 0 && d.None == "" || len(d.ID) == 0 || bytes.ContainsAny(d.ID, "<> ") { // a page without a main text says why
					t.Errorf("id %q, %d bytes of text", d.ID, len(d.Text))
				}
				// ClueWeb's dates, like 2008-10-294, are none.
				if (d.Date == data.NoDate) != strings.Contains(c.file, "clueweb") {
					t.Errorf("%s: date %d", d.ID, d.Date)
				}
				if strings.Contains(string(d.Text), "\uFFFD\uFFFD\uFFFD") {
					t.Errorf("%s: the charset was missed: %.200s", d.ID, d.Text)
				}
			}
		})
	}
}

// TestDistinctPagesStayDistinct guards against an extraction that takes a
// site's menu for the text of all its pages.
func TestDistinctPagesStayDistinct(t *testing.T) {
	path := filepath.Join(sharedData(t), "resiliparse-clueweb-quirk.warc.gz")
	r, err := warc.Open(data.Split{Path: path, Format: "warc", End: -1}, data.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	docs, _ := readAll(t, r)
	of := map[string]string{} // the product that a text is of; some have two pages
	for _, d := range docs {
		_, product, _ := strings.Cut(string(d.ID), "/shopdetail/")
		product, _, _ = strings.Cut(product, "/")
		if other := of[string(d.Text)]; other != "" && other != product {
			t.Errorf("products %s and %s of a shop have one text", other, product)
		}
		of[string(d.Text)] = product
	}
	if len(of) < 2 {
		t.Errorf("%d pages of a shop have %d texts", len(docs), len(of))
	}
}

func record(fields, block string) string {
	return fmt.Sprintf("WARC/1.1\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", fields, len(block), block)
}

func response(url, httpFields, body string) string {
	return record("WARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\nWARC-Target-URI: "+url+"\r\n",
		"HTTP/1.1 200 OK\r\n"+httpFields+"\r\n"+body)
}

func TestOddArchives(t *testing.T) {
	page := response("http://a/", "Content-Type: text/plain\r\n", "hello")
	conversion := record("warc-type: conversion\r\nContent-Type: text/plain\r\nWARC-Target-URI: <http://b/>\r\n", "there")
	first := fmt.Sprintf(" %d ", len(page)) // the offset behind page
	image := response("http://a/", "Content-Type: image/png\r\n", "x")
	wrong := response("http://a/", "Content-Type: text/html\r\n", "\x89PNG\r\n\x1a\n")
	revisit := record("WARC-Type: revisit\r\n", "")
	script := response("http://a/", "Content-Type: text/html\r\n", "<script>x</script>")
	named := record("WARC-Type: conversion\r\nContent-Type: text/plain\r\nWARC-Record-ID: <urn:uuid:1>\r\n", "x")
	for _, c := range []struct {
		name, content string
		options       data.ReaderOptions
		want          string // "id=text" of the documents, then the bad records
	}{
		{"two records", page + conversion, data.ReaderOptions{}, "http://a/=hello http://b/=there"},
		{"line feeds alone", "WARC/0.18\nWARC-Type: conversion\nContent-Type: text/plain\nWARC-Target-URI: http://c/\nContent-Length: 1\n\nx\n\n" + page, data.ReaderOptions{}, "http://c/=x http://a/=hello"},
		{"no blank lines between", strings.TrimSpace(page) + "\r\n" + conversion, data.ReaderOptions{}, "http://a/=hello http://b/=there"},
		{"garbage in front", "garbage\r\nmore\r\n" + page, data.ReaderOptions{}, "http://a/=hello 0 malformed"},
		{"garbage between", page + "garbage\r\n" + conversion, data.ReaderOptions{}, "http://a/=hello http://b/=there" + first + "malformed"},
		{"garbage alone", "garbage", data.ReaderOptions{}, "0 malformed"},
		{"no length", "WARC/1.0\r\nWARC-Type: response\r\n\r\n" + page, data.ReaderOptions{}, "http://a/=hello 0 malformed"},
		{"negative length", "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -5\r\n\r\n" + page, data.ReaderOptions{}, "http://a/=hello 0 malformed"},
		{"cut off in the block", page + conversion[:len(conversion)-7], data.ReaderOptions{}, "http://a/=hello" + first + "truncated"},
		{"cut off in the header", page + conversion[:30], data.ReaderOptions{}, "http://a/=hello" + first + "truncated"},
		{"no HTTP", record("WARC-Type: response\r\nContent-Type: application/http\r\n", "nothing of the kind"), data.ReaderOptions{}, "0 malformed"},
		{"folded header", record("WARC-Type: conversion\r\nContent-Type:\r\n text/plain\r\nWARC-Target-URI: http://c/\r\n", "x"), data.ReaderOptions{}, "http://c/=x"},
		{"folded length", "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nWARC-Target-URI: http://c/\r\nContent-Length:\r\n\t1\r\n\r\nx\r\n\r\n" + page, data.ReaderOptions{}, "http://c/=x http://a/=hello"},
		{"version in lower case", "warc/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nWARC-Target-URI: http://c/\r\nContent-Length: 1\r\n\r\nx\r\n\r\n" + page, data.ReaderOptions{}, "http://c/=x http://a/=hello"},
		{"no URL", named + record("WARC-Type: conversion\r\nContent-Type: text/plain\r\n", "y"), data.ReaderOptions{}, fmt.Sprintf("urn:uuid:1=x stdin#%d=y", len(named))},
		{"record ids", record("WARC-Type: conversion\r\nContent-Type: text/plain\r\nWARC-Target-URI: http://c/\r\nWARC-Record-ID: <urn:uuid:1>\r\n", "x"), data.ReaderOptions{WARCID: data.WARCIDRecord}, "urn:uuid:1=x"},
		{"statuses", strings.Replace(page, "200", "500", 1), data.ReaderOptions{}, "0 http_status"},
		{"all statuses", strings.Replace(page, "200", "500", 1), data.ReaderOptions{HTTPStatus: data.HTTPStatusAll}, "http://a/=hello"},
		{"types", image + wrong + revisit + record("WARC-Type: new\r\n", ""), data.ReaderOptions{},
			fmt.Sprintf("0 not_page %d not_page %d not_page %d not_page", len(image), len(image+wrong), len(image+wrong+revisit))},
		{"no type", response("http://a/", "", "<!doctype html><p>Hello") + response("http://b/", "", "plain words"), data.ReaderOptions{}, "http://a/=Hello http://b/=plain words"},
		{"resource", record("WARC-Type: resource\r\nContent-Type: text/html\r\nWARC-Target-URI: file:///a\r\n", "<p>Hello"), data.ReaderOptions{}, "file:///a=Hello"},
		{"no text", script + response("http://b/", "Content-Type: text/html\r\n", ""), data.ReaderOptions{}, fmt.Sprintf("0 no_text %d no_text", len(script))},
		{"too large", response("http://a/", "Content-Type: text/plain\r\n", strings.Repeat("x", 600)) + page, data.ReaderOptions{MaxRecord: 500}, "http://a/=hello 0 too_large"},
		{"empty", "", data.ReaderOptions{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, bad := readAll(t, open(t, []byte(c.content), c.options))
			var got []string
			for _, d := range docs {
				got = append(got, fmt.Sprintf("%s=%s", d.ID, d.Text))
			}
			if s := strings.Join(append(got, bad...), " "); s != c.want {
				t.Errorf("got  %s\nwant %s", s, c.want)
			}
		})
	}
}

// TestTypes has what servers send for the type of a page, and what becomes of
// bodies that are none: "text" or the reason that it is skipped for.
func TestTypes(t *testing.T) {
	random := make([]byte, 3000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	wide, err := unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String("<html><body><p>wide 上下</p>")
	if err != nil {
		t.Fatal(err)
	}
	const html = "\n<!-- x --><section><html><p>some text"
	for _, c := range []struct{ contentType, body, want string }{
		{"*/*", html, "some text"},
		{"unknown/unknown", html, "some text"},
		{"html", html, "some text"},
		{"text", "plain words", "plain words"},
		{"application/octet-stream", html, "some text"},
		{"application/octet-stream", "\xef\xbb\xbf<!DOCTYPE html>x", "x"},
		{"application/octet-stream", string(random), data.ReasonNotPage},
		{"application/octet-stream", "PK\x03\x04", data.ReasonNotPage},
		{"", html, "some text"},
		{"", "\x89PNG\r\n\x1a\n", data.ReasonNotPage},
		{"*/*", "<?xml version='1.0'?><rss></rss>", data.ReasonNotPage},
		{"*/*", "<?xml version='1.0'?><!DOCTYPE html><html><p>strict</html>", "strict"},
		{"application/json", "{}", data.ReasonNotPage},
		{"text/html", string(random), data.ReasonUndecodable},
		{"text/plain", string(random), data.ReasonUndecodable},
		{"text/html", "\x89PNG\r\n\x1a\n", data.ReasonNotPage},
		{"text/html; charset=utf-16", "\xfe\xff" + wide, "wide 上下"},
		{"text/plain", "a \x01 few \x02 stray", "a \x01 few \x02 stray"},
	} {
		docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: "+c.contentType+"\r\n", c.body)), data.ReaderOptions{HTML: data.HTMLVisible}))
		got := strings.Join(bad, " ")
		if len(docs) > 0 {
			got = "0 " + string(docs[0].Text)
		}
		if got != "0 "+c.want {
			t.Errorf("%s, %.30q: got %.60q, want %q", c.contentType, c.body, got, c.want)
		}
	}
}

func compressed(w io.WriteCloser, b *bytes.Buffer, text string) string {
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.String()
}

func gz(text string) string {
	var b bytes.Buffer
	return compressed(gzip.NewWriter(&b), &b, text)
}

// encoded is an HTTP body in some encoding, or said to be in one.
type encoded struct {
	name, fields, body string
	want               string // what it is decoded to, with "cut " in front if it is not all; or the reason it is skipped for
}

func zlibbed(text string) string {
	var b bytes.Buffer
	return compressed(zlib.NewWriter(&b), &b, text)
}

// encodings are bodies of text in the encodings that are undone, and damaged.
func encodings(text string) []encoded {
	var b bytes.Buffer
	br := compressed(brotli.NewWriter(&b), &b, text)
	deflate := zlibbed(text)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	zst := string(z.EncodeAll([]byte(text), nil))
	gzipped := gz(text)
	var random [300]byte
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	long := strings.Repeat(text, 3000)
	longer := gz(long)
	spoiled := []byte(gzipped)
	spoiled[10] = 0xff // a block of a type that there is not
	return []encoded{
		{"gzip", "Content-Encoding: gzip\r\n", gzipped, text},
		{"deflate", "Content-Encoding: deflate\r\n", deflate, text},
		{"bare deflate", "Content-Encoding: deflate\r\n", deflate[2 : len(deflate)-4], text},
		{"br", "content-encoding: br\r\n", br, text},
		{"two", "Content-Encoding: deflate, gzip\r\n", gz(deflate), text},
		{"three, one of them none", "Content-Encoding: gzip, identity, deflate, gzip\r\n", gz(zlibbed(gz(text))), text},
		{"undone by the crawler", "Content-Encoding: gzip\r\n", text, text},
		{"br undone by the crawler", "Content-Encoding: br\r\n", text, text},
		{"zstd", "Content-Encoding: zstd\r\n", zst, text},
		{"none", "Content-Encoding: none\r\n", text, text},
		{"gzip cut off", "Content-Encoding: gzip\r\n", gzipped[:len(gzipped)-8], "cut " + text},
		{"gzip of two members", "Content-Encoding: gzip\r\n", gzipped + gzipped, text + text},
		{"gzip and garbage", "Content-Encoding: gzip\r\n", gzipped + "garbage", text},
		{"gzip damaged", "Content-Encoding: gzip\r\n", string(spoiled), data.ReasonUndecodable},
		{"gzip by name", "Content-Encoding: gzip\r\n", string(random[:]), data.ReasonUndecodable},
		{"br by name", "Content-Encoding: br\r\n", "\xff" + string(random[:]), data.ReasonUndecodable},
		{"deflate by name", "Content-Encoding: deflate\r\n", "\xff" + string(random[:]), data.ReasonUndecodable},
		{"compress", "Content-Encoding: compress\r\n", "\x1f\x9d\x90" + string(random[:]), data.ReasonUndecodable},
		{"compress undone by the crawler", "Content-Encoding: compress\r\n", text, text},
		{"length", fmt.Sprintf("Content-Length: %d\r\n", len(text)), text, text},
		{"length too large", fmt.Sprintf("Content-Length: %d\r\n", len(text)), text[:30], "cut " + text[:30]},
		{"length of what the crawler undid", "Content-Length: 1000\r\nContent-Encoding: gzip\r\n", text, text},
		{"length of gzip", fmt.Sprintf("Content-Length: %d\r\nContent-Encoding: gzip\r\n", len(longer)), longer, long},
		{"gzip too short", fmt.Sprintf("Content-Length: %d\r\nContent-Encoding: gzip\r\n", len(gzipped)+1), gzipped, "cut " + text},
		{"chunked", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n6;x=y\r\n there\r\n0\r\n\r\n", "hello there"},
		{"chunked and gzip", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(gzipped), gzipped), text},
		{"chunks undone by the crawler", "Transfer-Encoding: chunked\r\n", text, text},
		{"chunks cut off", "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n6\r\n the", "cut hello the"},
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range encodings("The quick brown fox jumps over the lazy dog, again and again.") {
		t.Run(c.name, func(t *testing.T) {
			docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: text/plain\r\n"+c.fields, c.body)), data.ReaderOptions{}))
			if len(docs)+len(bad) != 1 {
				t.Fatalf("%d documents, skipped %v", len(docs), bad)
			}
			got := strings.TrimPrefix(strings.Join(bad, ""), "0 ")
			if len(docs) > 0 {
				got = string(docs[0].Text)
				if docs[0].Cut {
					got = "cut " + got
				}
			}
			if got != c.want {
				t.Errorf("got %.200q", got)
			}
		})
	}
}

// TestCut has a page that the crawler cut off.
func TestCut(t *testing.T) {
	docs, _ := readAll(t, open(t, []byte(strings.Replace(response("http://a/", "Content-Type: text/plain\r\n", "x"), "WARC-Target", "WARC-Truncated: length\r\nWARC-Target", 1)), data.ReaderOptions{}))
	if len(docs) != 1 || !docs[0].Cut {
		t.Errorf("%+v", docs)
	}
}

// TestLargePage is read in full.
func TestLargePage(t *testing.T) {
	if testing.Short() {
		t.Skip("a page of 12 MB")
	}
	page := "<p>first</p>" + strings.Repeat("<p>word</p>\n", 1<<20) + "<p>last</p>"
	docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: text/html\r\n", page)), data.ReaderOptions{HTML: data.HTMLVisible}))
	if len(docs) != 1 || docs[0].Cut || !bytes.HasSuffix(docs[0].Text, []byte("last")) {
		t.Errorf("%d documents, skipped %v", len(docs), bad)
	}
}

func TestDecompressionBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("a page of 64 MB")
	}
	bomb := gz(strings.Repeat("\x00", 64<<20))
	docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", bomb)), data.ReaderOptions{MaxRecord: 1 << 20}))
	if len(docs) > 0 || len(bad) != 1 || bad[0] != "0 too_large" {
		t.Errorf("%d documents, skipped %v", len(docs), bad)
	}
}

func TestCharsets(t *testing.T) {
	const chinese = "今天天气很好，我们一起去公园散步，看到了许多美丽的花朵。中国的经济发展很快，人民生活水平不断提高。这是一个很长的句子，用来测试编码的识别。"
	const traditional = "今天天氣很好，我們一起去公園散步，看到了許多美麗的花朵。臺灣的經濟發展很快，人民生活水準不斷提高。這是一個很長的句子，用來測試編碼的識別。"
	const nippon = "今日はとても良い天気なので、みんなで公園へ散歩に行きました。美しい花がたくさん咲いていました。これは文字コードの判別を試すための文章です。"
	const hangul = "오늘은 날씨가 아주 좋아서 우리는 함께 공원으로 산책을 갔습니다. 아름다운 꽃들이 많이 피어 있었습니다. 이것은 문자 인코딩을 시험하는 문장입니다."
	for _, c := range []struct {
		name, text, field, meta string
		enc                     encoding.Encoding
	}{
		{"utf-8 not declared", chinese, "", "", encoding.Nop},
		{"utf-8 declared as gbk", chinese, "; charset=gbk", "", encoding.Nop},
		{"gbk by header", chinese, "; charset=gb2312", "", simplifiedchinese.GBK},
		{"gbk by quoted header", chinese, `; charset="GBK"`, "", simplifiedchinese.GBK},
		{"gb18030 by meta", chinese + "𠮷", "", `<meta charset="gb2312">`, simplifiedchinese.GB18030},
		{"gbk by http-equiv", chinese, "", `<meta http-equiv="Content-Type" content="text/html; charset=gb2312">`, simplifiedchinese.GBK},
		{"gbk declared as utf-8", chinese, "; charset=utf-8", "", simplifiedchinese.GBK},
		{"gbk not declared", chinese, "", "", simplifiedchinese.GBK},
		{"big5 by meta", traditional, "", `<meta charset=big5>`, traditionalchinese.Big5},
		{"big5 not declared", traditional, "", "", traditionalchinese.Big5},
		{"shift-jis by header", nippon, "; charset=Shift_JIS", "", japanese.ShiftJIS},
		{"shift-jis not declared", nippon, "", "", japanese.ShiftJIS},
		{"euc-jp not declared", nippon, "", "", japanese.EUCJP},
		{"iso-2022-jp by meta", nippon, "", `<meta charset=iso-2022-jp>`, japanese.ISO2022JP},
		{"euc-kr by header", hangul, "; charset=euc-kr", "", korean.EUCKR},
		{"euc-kr not declared", hangul, "", "", korean.EUCKR},
		{"utf-16 with its mark", chinese, "", "", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)},
		{"far down", chinese, "", strings.Repeat("<!-- licence -->", 100) + `<meta charset="gbk">`, simplifiedchinese.GBK},
		{"unknown name", chinese, "; charset=x-klingon", `<meta charset="gbk">`, simplifiedchinese.GBK},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := c.enc.NewEncoder().String("<html><head>" + c.meta + "<title>" + c.text[:9] + "</title></head><body><p>" + c.text + "</p></body></html>")
			if err != nil {
				t.Fatal(err)
			}
			docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: text/html"+c.field+"\r\n", body)), data.ReaderOptions{}))
			if len(docs) != 1 {
				t.Fatalf("skipped %v", bad)
			}
			if got := string(docs[0].Text); got != c.text || string(docs[0].Title) != c.text[:9] {
				t.Errorf("title %s, text %s", docs[0].Title, got)
			}
		})
	}
}

// TestMonstrousPages must neither hang nor panic: they take time that grows
// with their size, and give text.
func TestMonstrousPages(t *testing.T) {
	if testing.Short() {
		t.Skip("pages of megabytes")
	}
	for name, body := range map[string]string{
		"deep":       strings.Repeat("<div>", 200_000) + "text",
		"inline":     strings.Repeat("<b><i>x", 20_000),
		"wide":       strings.Repeat("<p>word</p>", 200_000),
		"table":      "<table>" + strings.Repeat("<tr><td>cell", 30_000),
		"attributes": "<p " + strings.Repeat("a=b ", 200_000) + ">text",
		"one line":   "<p>" + strings.Repeat("word ", 500_000),
		"lists":      strings.Repeat("<ul><li>item", 10_000),
		"tags open":  strings.Repeat("<a href=x>text", 15_000),
		"comment":    "text<!--" + strings.Repeat("-", 2_000_000),
		"nul":        "text" + strings.Repeat("\x00", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			docs, bad := readAll(t, open(t, []byte(response("http://a/", "Content-Type: text/html\r\n", body)), data.ReaderOptions{}))
			if len(docs)+len(bad) != 1 {
				t.Errorf("%d documents, skipped %v", len(docs), bad)
			}
			if len(docs) == 0 {
				t.Errorf("no text: %v", bad)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	page := response("http://a/", "Content-Type: text/html\r\n", "<title>T</title><p>hello")
	f.Add([]byte(page))
	f.Add([]byte(page + record("WARC-Type: conversion\r\nContent-Type: text/plain\r\n", "x") + page[:100]))
	f.Add([]byte(response("http://a/", "Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n", "5\r\nhello\r\n")))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(page)); err != nil {
		f.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(append(b.Bytes(), b.Bytes()[:40]...))
	f.Fuzz(func(t *testing.T, content []byte) {
		agree(t, "fuzzing", content, data.ReaderOptions{HTML: data.HTMLVisible, MaxRecord: 1 << 16})
	})
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(sharedData(b), "..", "html", "cctv-dev.warc.gz")
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, html := range []string{data.HTMLMain, data.HTMLVisible} {
		for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("%s/workers=%d", html, workers), func(b *testing.B) {
				b.SetBytes(info.Size())
				b.ReportAllocs()
				var doc data.Document
				docs := 0
				for b.Loop() {
					r, err := warc.Open(data.Split{Path: path, End: -1}, data.ReaderOptions{HTML: html, Workers: workers})
					if err != nil {
						b.Fatal(err)
					}
					for {
						err := r.Read(&doc)
						if errors.Is(err, io.EOF) {
							break
						}
						if err == nil {
							docs++
						}
					}
					if err := r.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(docs)/b.Elapsed().Seconds(), "pages/s")
			})
		}
	}
}

func ExampleOpen() {
	archive := "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://example.org/\r\nContent-Type: application/http\r\nContent-Length: 86\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Example</title><p>Hello, world!</p>\r\n\r\n"
	r, err := warc.Open(data.Split{Path: "-", Format: "warc", End: -1}, data.ReaderOptions{Stdin: strings.NewReader(archive)})
	if err != nil {
		panic(err)
	}
	defer r.Close()
	var doc data.Document
	if err := r.Read(&doc); err != nil {
		panic(err)
	}
	fmt.Printf("%s %q %q\n", doc.ID, doc.Title, doc.Text)
	// Output:
	// https://example.org/ "Example" "Hello, world!"
}
