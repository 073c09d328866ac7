package charset_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/neardup/neardup/data/charset"
)

func lookup(t testing.TB, label string) *charset.Encoding {
	t.Helper()
	d, err := charset.NewDecoder(label)
	if err != nil {
		t.Fatal(err)
	}
	return d.Encoding
}

// sampleOf is the sample text of a language.
func sampleOf(language string) string {
	for _, s := range texts {
		if s.language == language {
			return s.text
		}
	}
	panic(language)
}

func TestLookup(t *testing.T) {
	for label, want := range map[string]string{"gbk": "gb18030", "GB2312": "gb18030", " latin1 ": "windows-1252", "utf-16": "utf-16le", "utf8": "utf-8", "sjis": "shift_jis", "cp866": "ibm866", "utf-32le": "utf-32le", "HZ-GB-2312": "hz-gb-2312"} {
		if got := lookup(t, label).Name(); got != want {
			t.Errorf("%s: got %s, want %s", label, got, want)
		}
	}
	for _, label := range []string{"utf-7", "x-user-defined", "replacement", "gb"} {
		if _, err := charset.NewDecoder(label); err == nil || !strings.Contains(err.Error(), "write a label") {
			t.Errorf("%q: got %v", label, err)
		}
	}
}

// TestDecoding compares the decoding of every encoding, of texts and of
// random bytes, with that of x/text.
func TestDecoding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{
		"utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "hz-gb-2312", "iso-2022-jp", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr",
		"ibm866", "iso-8859-2", "iso-8859-3", "iso-8859-4", "iso-8859-5", "iso-8859-6", "iso-8859-7", "iso-8859-8", "iso-8859-8-i",
		"iso-8859-10", "iso-8859-13", "iso-8859-14", "iso-8859-15", "iso-8859-16", "koi8-r", "koi8-u", "macintosh", "windows-874",
		"windows-1250", "windows-1251", "windows-1252", "windows-1253", "windows-1254", "windows-1255", "windows-1256", "windows-1257",
		"windows-1258", "x-mac-cyrillic",
	} {
		e := lookup(t, name)
		if e.Name() != name {
			t.Errorf("%s is called %s", name, e.Name())
		}
		d := charset.Decoder{Encoding: e}
		for _, s := range texts {
			for _, repeat := range []int{1, 200} {
				b := bytes.Repeat(encode(t, name, s.text+"\r\n <p>😀𠀋€</p>"), repeat)
				if got, _ := d.Decode(b, charset.Hint{}); string(got) != decoded(t, name, b) {
					t.Errorf("%s: another text came out of %s", name, s.language)
				}
			}
		}
		if name == "utf-8" || name == "iso-2022-jp" || name == "hz-gb-2312" || strings.HasPrefix(name, "utf-16") || strings.HasPrefix(name, "utf-32") {
			continue
		}
		enc := standard(t, name)
		for range 2000 {
			b := make([]byte, random.IntN(12))
			for i := range b {
				if b[i] = byte(random.Uint32()); random.IntN(4) > 0 {
					b[i] |= 0x80
				}
			}
			want, err := enc.NewDecoder().Bytes(b)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := d.Decode(b, charset.Hint{}); !bytes.Equal(got, want) {
				t.Fatalf("%s of % x: got %q, want %q", name, b, got, want)
			}
		}
	}
}

// TestDecide looks at who is believed.
func TestDecide(t *testing.T) {
	hans, hant, ja, ru := sampleOf("zh-Hans"), sampleOf("zh-Hant"), sampleOf("ja"), sampleOf("ru")
	page := func(meta, text string) string {
		return "<!DOCTYPE html><html><head>" + meta + "<title>x</title></head><body><p>" + text + "</p></body></html>"
	}
	bytesOf := func(name, text string) string { return string(encode(t, name, text)) }
	const latin = "text/html; charset=iso-8859-1"
	for _, c := range []struct{ name, body, contentType, want string }{
		{"ascii", page("", "plain"), latin, "utf-8"},
		{"nothing", "", "", "utf-8"},
		{"utf-8 behind a header of latin-1", page("", hans), latin, "utf-8"},
		{"utf-8 with a damaged place", page("", hans+"\xff"+hans), latin, "utf-8"},
		{"utf-8 cut within a character", hans[:len(hans)-1], "", "utf-8"},
		{"byte order mark", "\xef\xbb\xbf" + hans, "text/html; charset=gbk", "utf-8"},
		{"gb18030 behind a header of latin-1", page("", bytesOf("gb18030", hans)), latin, "gb18030"},
		{"gb18030 behind a header of utf-8", page("", bytesOf("gb18030", hans)), "text/html;charset=UTF-8", "gb18030"},
		{"one line of gb18030 behind a header of latin-1", page("", bytesOf("gb18030", "中国新闻网")), latin, "gb18030"},
		{"big5 under a meta of gb2312", page(`<meta charset="gb2312">`, bytesOf("big5", hant)), "text/html", "big5"},
		{"gb18030 with traditional characters, declared", page(`<meta charset=gbk>`, bytesOf("gb18030", hant)), "", "gb18030"},
		{"gb18030 with kana, declared", page(`<meta charset=gbk>`, bytesOf("gb18030", ja)), "", "gb18030"},
		{"header before meta", page(`<meta charset="koi8-r">`, bytesOf("windows-1251", ru)), "text/html; charset=windows-1251", "windows-1251"},
		{"meta behind a refuted header", page(`<meta charset="windows-1251">`, bytesOf("windows-1251", ru)), latin, "windows-1251"},
		{"a declared encoding of a few letters", page(`<meta charset=iso-8859-2>`, "wi\xeacej"), "", "iso-8859-2"},
		{"an unknown label", page(`<meta charset="x-nonsense">`, bytesOf("shift_jis", ja)), "text/html; charset=none", "shift_jis"},
		{"a meta of utf-16 in ascii", page(`<meta charset="utf-16">`, bytesOf("gb18030", hans)), "", "gb18030"},
		{"iso-2022-jp", page("", bytesOf("iso-2022-jp", ja)), "", "iso-2022-jp"},
		{"utf-16be, declared", bytesOf("utf-16be", page("", hans)), "text/html; charset=utf-16be", "utf-16be"},
		{"utf-16le, declared as be", bytesOf("utf-16le", page("", hans)), "text/html; charset=utf-16be", "utf-16le"},
		{"utf-16be with a byte order mark, declared", "\xfe\xff" + bytesOf("utf-16be", page("", hans)), "text/html; charset=utf-16be", "utf-16be"},
		{"utf-16le with a byte order mark", "\xff\xfe" + bytesOf("utf-16le", hans), "", "utf-16le"},
		{"utf-16le, no more than ascii", bytesOf("utf-16le", "no more than ascii"), "", "utf-16le"},
		{"ascii declared as utf-16", page("", "plain"), "text/html; charset=utf-16be", "utf-8"},
		{"utf-32le with a byte order mark", "\xff\xfe\x00\x00" + bytesOf("utf-32le", page("", hans)), "text/html; charset=utf-8", "utf-32le"},
		{"utf-32be with a byte order mark", "\x00\x00\xfe\xff" + bytesOf("utf-32be", hans), "", "utf-32be"},
		{"utf-32le", bytesOf("utf-32le", page("", hans)), "", "utf-32le"},
		{"utf-32be, declared otherwise", bytesOf("utf-32be", page("", "no more than ascii")), "text/html; charset=utf-16", "utf-32be"},
		{"hz", page("", bytesOf("hz-gb-2312", hans)), "text/html; charset=hz-gb-2312", "hz-gb-2312"},
		{"hz, not declared", page("", bytesOf("hz-gb-2312", hans)), "", "hz-gb-2312"},
		{"a script with tildes and braces", page("", "<script>a = ~{x: 1}; b = ~{y: 2}; c = '~{abcdefghijklmnopqrstuvwxyz~}'</script>"), "", "utf-8"},
		{"a zero byte in ascii", "some plain text\x00 and some more of it, that is no utf-16", "", "utf-8"},
		{"windows-1252, not declared", page("", "caf\xe9 cr\xe8me \x96 No\xebl"), "", "windows-1252"},
	} {
		var d charset.Decoder
		got, e := d.Decode([]byte(c.body), charset.Hint{ContentType: c.contentType, HTML: true})
		if e.Name() != c.want {
			t.Errorf("%s: got %s, want %s", c.name, e.Name(), c.want)
		}
		if !utf8.Valid(got) || bytes.HasPrefix(got, []byte("\ufeff")) {
			t.Errorf("%s: decoded to %.60q", c.name, got)
		}
		if d.Decide([]byte(c.body), charset.Hint{ContentType: c.contentType, HTML: true}) != e {
			t.Errorf("%s: Decide and Decode differ", c.name)
		}
		d.Encoding = lookup(t, "koi8-r")
		if _, e := d.Decode([]byte(c.body), charset.Hint{ContentType: c.contentType, HTML: true}); e.Name() != "koi8-r" {
			t.Errorf("%s: the encoding that was given is not used, but %s", c.name, e.Name())
		}
	}
}

// TestDeclarations looks where a page may declare its encoding.
func TestDeclarations(t *testing.T) {
	for head, found := range map[string]bool{
		`<meta charset=iso-8859-7>`:                                                     true,
		`<META/CharSet = 'ISO-8859-7' >`:                                                true,
		`<meta charset=" iso-8859-7 ">`:                                                 true,
		`<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-7">`:      true,
		`<meta content='text/html;charset="iso-8859-7"' http-equiv=content-type>`:       true,
		`<meta name=x content="a > b"><meta charset=iso-8859-7>`:                        true,
		`<meta charset=iso-8859-7 http-equiv=content-type content="x; charset=koi8-r">`: true,
		`<?xml version="1.0" encoding="iso-8859-7"?>`:                                   true,
		`<script>if (a<b) {}</script><meta charset=iso-8859-7>`:                         true,
		`<!--><meta charset=iso-8859-7>`:                                                true,
		"<!-- " + strings.Repeat("x", 2000) + " --><meta charset=iso-8859-7>":           true,
		`<meta content="text/html; charset=iso-8859-7">`:                                false,
		`<meta http-equiv=refresh content="0; charset=iso-8859-7">`:                     false,
		`<!-- <meta charset=iso-8859-7> -->`:                                            false,
		`<a title="<meta charset=iso-8859-7>">`:                                         false,
		`<metadata charset=iso-8859-7>`:                                                 false,
		`<meta charset="iso-8859-7`:                                                     false,
		strings.Repeat("x", 20_000) + `<meta charset=iso-8859-7>`:                       false,
	} {
		// The bytes are letters in Greek as in what is guessed without.
		body := []byte(head + "<p>\xe1\xf0\xfc")
		var d charset.Decoder
		if e := d.Decide(body, charset.Hint{HTML: true}); (e.Name() == "iso-8859-7") != found {
			t.Errorf("%.80s: taken for %s", head, e.Name())
		}
		if e := d.Decide(body, charset.Hint{}); e.Name() == "iso-8859-7" {
			t.Errorf("%.80s: looked at in what is no HTML", head)
		}
	}
	for header, want := range map[string]string{
		"text/html; charset=iso-8859-7":         "iso-8859-7",
		"text/html;CHARSET = \"ISO-8859-7\" ;q": "iso-8859-7",
		"text/html; charset='iso-8859-7'":       "iso-8859-7",
		"text/html; charset=iso-8859-7,x":       "iso-8859-7",
		"text/html; charset":                    "",
		"text/html; charset=":                   "",
		"charsets; charset=iso-8859-7":          "iso-8859-7",
	} {
		var d charset.Decoder
		e := d.Decide([]byte("\xe1\xf0\xfc"), charset.Hint{ContentType: header})
		if (e.Name() == "iso-8859-7") != (want != "") {
			t.Errorf("%s: taken for %s", header, e.Name())
		}
	}
}

// TestNoAllocation: a warm decoder allocates nothing for a page, unless it reads
// a declaration: the header's, or the page's.
func TestNoAllocation(t *testing.T) {
	d := new(charset.Decoder)
	for name, body := range pages(t) {
		hint := charset.Hint{ContentType: "text/html; charset=iso-8859-1", HTML: true}
		d.Decode(body, hint)
		most := 0.0
		if !strings.HasPrefix(name, "utf") {
			most = 5
		}
		if strings.HasPrefix(name, "gb18030") || strings.HasPrefix(name, "big5") { // which refute the header
			most = 30
		}
		if n := testing.AllocsPerRun(10, func() { d.Decode(body, hint) }); n > most {
			t.Errorf("%s: %.0f allocations a page", name, n)
		}
	}
}

// TestHostileBodies: bodies of megabytes that are all alike take no longer
// than others; where the time is not linear, the test does not end.
func TestHostileBodies(t *testing.T) {
	size := 8 << 20
	if testing.Short() {
		size = 1 << 20
	}
	for _, piece := range []string{
		"<", "<!", "<!--", "<a ", "<a b", "<a '", "<meta ", "<meta charset", "<meta content=", "<meta http-equiv=content-type content='charset ",
		"\xff", "\x81", "\x81\x30", "\x81\x30\x81", "\x8f\xa1", "\xa4", "\xa4a", "\x1b$", "\x1b$B", "\x00", "\xd8\x00", "\x00\xd8", "\xe4\xb8", "\xe4\xb8\xad\xff", "\x80<",
	} {
		body := []byte(strings.Repeat(piece, size/len(piece)))
		for _, label := range []string{"", "gb18030", "big5", "shift_jis", "euc-jp", "iso-2022-jp", "utf-16", "windows-1251"} {
			d, err := charset.NewDecoder(label)
			if err != nil {
				t.Fatal(err)
			}
			if label == "" {
				label = strings.Repeat("charset", 1000)
			} else {
				body := body[:size/16]
				if got, _ := d.Decode(body, charset.Hint{}); !utf8.Valid(got) {
					t.Errorf("%q in %s: no UTF-8 came out", piece, label)
				}
				continue
			}
			if got, _ := d.Decode(body, charset.Hint{ContentType: label, HTML: true}); !utf8.Valid(got) {
				t.Errorf("%q: no UTF-8 came out", piece)
			}
		}
	}
}

// pages are what the benchmarks decode.
func pages(t testing.TB) map[string][]byte {
	t.Helper()
	markup := func(text string, size int) []byte {
		var b strings.Builder
		b.WriteString("<!DOCTYPE html><html><head><meta http-equiv=Content-Type content='text/html; charset=gb2312'><title>x</title></head><body>\n")
		for b.Len() < size {
			fmt.Fprintf(&b, `<div class="item item-%d"><a href="https://example.org/news/%d.html" title="x">%s</a></div>`+"\n", b.Len()%7, b.Len(), text)
		}
		return []byte(b.String())
	}
	zh := sampleOf("zh-Hans")
	return map[string][]byte{
		"utf-8 Chinese, 28 KB":   markup(zh, 28<<10),
		"gb18030 Chinese, 28 KB": encode(t, "gb18030", string(markup(zh, 40<<10)))[:28<<10],
		"big5 Chinese, 28 KB":    encode(t, "big5", string(markup(sampleOf("zh-Hant"), 40<<10)))[:28<<10],
		"ASCII English, 200 KB":  markup("The quick brown fox jumps over the lazy dog. ", 200<<10),
		"windows-1252, 200 KB":   encode(t, "windows-1252", string(markup(sampleOf("de"), 210<<10)))[:200<<10],
	}
}

func BenchmarkDecode(b *testing.B) {
	all := pages(b)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, declared := range []string{"", "gb2312"} {
			b.Run(name+", declared "+declared, func(b *testing.B) {
				var d charset.Decoder
				hint := charset.Hint{HTML: true}
				if declared != "" {
					hint.ContentType = "text/html; charset=" + declared
				}
				b.SetBytes(int64(len(all[name])))
				b.ReportAllocs()
				for b.Loop() {
					d.Decode(all[name], hint)
				}
			})
		}
	}
}

// FuzzDecode: whatever the bytes and the hints, the text is valid UTF-8, and
// what is UTF-8 stays as it is.
func FuzzDecode(f *testing.F) {
	for _, s := range texts {
		for _, name := range s.encodings {
			f.Add(encode(f, name, s.text), "text/html; charset="+name, true, "")
			f.Add(encode(f, name, s.text), "text/html; charset=utf-8", true, name)
		}
	}
	f.Add([]byte(`<?xml encoding="x"?><!-- --><meta http-equiv=content-type content="a;charset='b">`), "charset=\"", true, "")
	f.Fuzz(func(t *testing.T, body []byte, contentType string, html bool, label string) {
		d, _ := charset.NewDecoder(label) // of an unknown label one that decides
		before := bytes.Clone(body)
		hint := charset.Hint{ContentType: contentType, HTML: html}
		got, e := d.Decode(body, hint)
		if !utf8.Valid(got) {
			t.Fatalf("%s: no UTF-8 came out: %q", e.Name(), got)
		}
		if !bytes.Equal(body, before) {
			t.Fatal("the body was written to")
		}
		if len(got) > 3*len(body) {
			t.Fatalf("%s: %d bytes came out of %d", e.Name(), len(got), len(body))
		}
		if e == charset.UTF8 && utf8.Valid(body) && !bytes.Equal(got, bytes.TrimPrefix(body, []byte("\ufeff"))) {
			t.Fatalf("UTF-8 did not stay as it was: %q", got)
		}
	})
}

func ExampleDecoder() {
	var d charset.Decoder
	text, enc := d.Decode([]byte("\xbd\xfc\xb8\xb4\xd6\xc6\xb5\xc4\xcd\xf8\xd2\xb3"), charset.Hint{ContentType: "text/html; charset=iso-8859-1", HTML: true})
	fmt.Printf("%s, in %s\n", text, enc.Name())
	// Output: 近复制的网页, in gb18030
}
