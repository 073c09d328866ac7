package generate

import (
	"bytes"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html"
	"net/url"
	"strings"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/sample"
)

var charsets = map[string]encoding.Encoding{"gbk": simplifiedchinese.GBK, "big5": traditionalchinese.Big5}

// archive is a WARC file on its way: version 1.0, one gzip member a record.
type archive struct {
	name    string
	buf     bytes.Buffer
	records []sample.Page
	at      time.Time
}

// httpField is a header of a record.
type httpField struct{ name, value string }

// add appends a record with the block content.
func (a *archive) add(truth sample.Page, kind, target, contentType string, block []byte, more ...httpField) error {
	truth.File, truth.Record, truth.Offset = a.name, len(a.records), int64(a.buf.Len())
	a.at = a.at.Add(1700 * time.Millisecond)
	var head bytes.Buffer
	put := func(name, value string) { fmt.Fprintf(&head, "%s: %s\r\n", name, value) }
	head.WriteString("WARC/1.0\r\n")
	put("WARC-Type", kind)
	put("WARC-Record-ID", a.recordID(len(a.records)))
	put("WARC-Date", a.at.Format("2006-01-02T15:04:05Z"))
	if target != "" {
		put("WARC-Target-URI", target)
	}
	for _, f := range more {
		put(f.name, f.value)
	}
	put("WARC-Block-Digest", digest(block))
	put("Content-Type", contentType)
	put("Content-Length", fmt.Sprint(len(block)))
	head.WriteString("\r\n")
	head.Write(block)
	head.WriteString("\r\n\r\n")
	member, err := compress(head.Bytes())
	if err != nil {
		return err
	}
	a.buf.Write(member)
	a.records = append(a.records, truth)
	return nil
}

// response appends what a server said: status line and headers as they are
// given, then body.
func (a *archive) response(truth sample.Page, target, status string, headers []httpField, body []byte) error {
	var block bytes.Buffer
	fmt.Fprintf(&block, "HTTP/1.1 %s\r\nDate: %s\r\nServer: nginx\r\n", status, a.at.Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	for _, h := range headers {
		fmt.Fprintf(&block, "%s: %s\r\n", h.name, h.value)
	}
	fmt.Fprintf(&block, "Content-Length: %d\r\nConnection: close\r\n\r\n", len(body))
	block.Write(body)
	return a.add(truth, "response", target, "application/http; msgtype=response", block.Bytes(),
		httpField{"WARC-IP-Address", fmt.Sprintf("192.0.2.%d", 10+len(target)%40)}, httpField{"WARC-Payload-Digest", digest(body)})
}

func (a *archive) recordID(n int) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%d %s %d", seed, a.name, n))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80 // a UUID of version 5
	return fmt.Sprintf("<urn:uuid:%x-%x-%x-%x-%x>", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func digest(b []byte) string {
	sum := sha1.Sum(b)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func writeWARC(name string, pages []*page) ([]byte, []sample.Page, error) {
	a := &archive{name: name, at: time.Date(2026, time.March, 15, 1, 0, 0, 0, time.UTC)}
	if name == warcB {
		a.at = a.at.Add(2 * time.Hour)
	}
	skip := func(kind string, reason, id string) sample.Page {
		return sample.Page{Kind: kind, Skip: reason, ID: id}
	}
	if err := a.add(skip("warcinfo", data.ReasonNotPage, ""), "warcinfo", "", "application/warc-fields",
		[]byte("software: neardup sample\r\nformat: WARC File Format 1.0\r\n"), httpField{"WARC-Filename", name}); err != nil {
		return nil, nil, err
	}
	for i, p := range pages {
		if i == 0 && name == warcA {
			address, err := url.Parse(p.ID)
			if err != nil {
				return nil, nil, err
			}
			request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/html\r\nConnection: close\r\n\r\n", address.RequestURI(), address.Host)
			if err := a.add(skip("request", data.ReasonNotPage, p.ID), "request", p.ID, "application/http; msgtype=request", []byte(request)); err != nil {
				return nil, nil, err
			}
		}
		if i == len(pages)/2 && name == warcA {
			if err := a.oddities(skip); err != nil {
				return nil, nil, err
			}
		}
		body := []byte(p.html(i))
		charset := "utf-8"
		if p.Charset != "" {
			var err error
			charset = p.Charset
			if body, err = charsets[charset].NewEncoder().Bytes(body); err != nil {
				return nil, nil, fmt.Errorf("%s as %s: %w", p.ID, charset, err)
			}
		}
		headers := []httpField{{"Content-Type", "text/html; charset=" + charset}, {"Last-Modified", p.published.Format("Mon, 02 Jan 2006 15:04:05 GMT")}}
		if err := a.response(p.Page, p.ID, "200 OK", headers, body); err != nil {
			return nil, nil, err
		}
		if i == 0 && name == warcA {
			if err := a.add(skip("metadata", data.ReasonNotPage, p.ID), "metadata", p.ID, "application/warc-fields",
				[]byte("fetchTimeMs: 184\r\n"), httpField{"WARC-Concurrent-To", a.recordID(len(a.records) - 1)}); err != nil {
				return nil, nil, err
			}
		}
	}
	return a.buf.Bytes(), a.records, nil
}

// oddities appends the responses that are no pages.
func (a *archive) oddities(skip func(string, string, string) sample.Page) error {
	const image, moved, missing = "http://www.example.org/logo.png", "http://www.example.org/old", "http://www.example.org/missing"
	if err := a.response(skip("image", data.ReasonNotPage, image), image, "200 OK", []httpField{{"Content-Type", "image/png"}}, pixel()); err != nil {
		return err
	}
	if err := a.response(skip("redirect", data.ReasonHTTPStatus, moved), moved, "301 Moved Permanently",
		[]httpField{{"Location", "http://www.example.org/new"}, {"Content-Type", "text/html"}},
		[]byte("<html><head><title>301 Moved Permanently</title></head><body><h1>Moved</h1></body></html>\n")); err != nil {
		return err
	}
	return a.response(skip("not_found", data.ReasonHTTPStatus, missing), missing, "404 Not Found",
		[]httpField{{"Content-Type", "text/html; charset=utf-8"}},
		[]byte("<html><head><title>404</title></head><body><h1>Not Found</h1><p>There is nothing at this address.</p></body></html>\n"))
}

// layouts are the pages of three sites around title, paragraphs and language.
var layouts = []string{
	`<!DOCTYPE html>
<html lang="{lang}">
<head>
<meta charset="{charset}">
<title>{title} - {site}</title>
<link rel="stylesheet" href="/static/main.css">
<script>window.pageView = {id: {n}};</script>
</head>
<body>
<header><nav><ul>{menu}</ul></nav></header>
<main>
<article>
<h1>{title}</h1>
{text}</article>
</main>
<aside><h3>{hot}</h3><ul>{links}</ul></aside>
<footer><div>{legal}</div></footer>
</body>
</html>
`,
	`<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
<html>
<head>
<meta http-equiv="Content-Type" content="text/html; charset={charset}">
<title>{title}_{site}</title>
</head>
<body bgcolor="#ffffff">
<div id="nav"><ul>{menu}</ul></div>
<div id="content" class="content">
<h2>{title}</h2>
{text}</div>
<div id="footer">{legal}</div>
</body>
</html>
`,
	`<!doctype html>
<html lang="{lang}">
<head><meta charset="{charset}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{title} | {site}</title>
<style>body { max-width: 44em; margin: auto }</style></head>
<body>
<div class="sidebar"><h4>{hot}</h4><ul>{links}</ul></div>
<div class="post"><h1 class="post-title">{title}</h1>
<div class="post-body">
{text}</div></div>
<div class="footer"><ul>{menu}</ul>{legal}</div>
</body>
</html>
`,
}

// html returns the page as a site would send it.
func (p *page) html(n int) string {
	site := "晴耕网"
	menu := words("首页 新闻 专题 图片 视频 论坛 关于我们")
	hot, links := "热门推荐", words("本周榜单 编辑精选 读者来信 往期回顾")
	legal := "版权所有 © 2026 晴耕网 未经许可不得转载 联系电话 000-0000000"
	switch p.Lang {
	case langTraditional:
		site, hot, legal = "晴耕網", "熱門推薦", "版權所有 2026 晴耕網 未經許可不得轉載"
		menu, links = words("首頁 新聞 專題 圖片 影音 關於我們"), words("本週排行 編輯精選 讀者來信")
	case langEnglish:
		site, hot, legal = "Fieldnotes", "Popular", "Copyright 2026 Fieldnotes. All rights reserved. Terms and privacy."
		menu, links = words("Home News Features Photos Archive About"), words("Letters Editors' Weekly Back-issues")
	}
	list := func(items []string) string {
		var b strings.Builder
		for i, item := range items {
			fmt.Fprintf(&b, `<li><a href="/%d/">%s</a></li>`, i, html.EscapeString(item))
		}
		return b.String()
	}
	var text strings.Builder
	for _, paragraph := range p.paragraphs {
		fmt.Fprintf(&text, "<p>%s</p>\n", html.EscapeString(paragraph))
	}
	charset := p.Charset
	layout := layouts[n%len(layouts)]
	if charset == "" {
		charset = "utf-8"
	} else {
		layout = layouts[1]
		legal = strings.ReplaceAll(legal, "©", "(C)")
	}
	return strings.NewReplacer("{lang}", p.Lang, "{charset}", charset, "{title}", html.EscapeString(p.title), "{site}", site, "{n}", fmt.Sprint(n),
		"{menu}", list(menu), "{links}", list(links), "{hot}", hot, "{legal}", legal, "{text}", text.String()).Replace(layout)
}

// pixel is a PNG image of one grey pixel.
func pixel() []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	chunk := func(kind string, content []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(content)))
		body := append([]byte(kind), content...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	chunk("IHDR", []byte{0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0})
	// zlib: one stored block of the filter byte and the grey value
	chunk("IDAT", []byte{0x78, 0x01, 0x01, 2, 0, 0xfd, 0xff, 0, 0x80, 0x00, 0x82, 0x00, 0x81})
	chunk("IEND", nil)
	return out
}
