package sample_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/textproto"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/unicode/norm"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/sample"
)

// record is what a plain reading finds in the dump.
type record struct {
	offset  int64
	id      string // as it stands in the record
	skip    string
	charset string
	text    string
}

func open(t *testing.T, name string) []byte {
	t.Helper()
	content, err := fs.ReadFile(sample.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// readJSONL reads lines with the standard library alone.
func readJSONL(t *testing.T, name string) []record {
	t.Helper()
	content := open(t, name)
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if content, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	var records []record
	var offset int64
	for line := range bytes.Lines(content) {
		r := record{offset: offset}
		offset += int64(len(line))
		var fields struct {
			ID   string
			Text *string
		}
		switch err := json.Unmarshal(line, &fields); {
		case err != nil:
			r.skip = data.ReasonMalformed
		case fields.Text == nil:
			r.id, r.skip = fields.ID, data.ReasonNoText
		default:
			r.id, r.text = fields.ID, *fields.Text
		}
		records = append(records, r)
	}
	return records
}

// paragraph is how the generated pages hold their text, and nothing else.
var paragraph = regexp.MustCompile(`(?s)<p>(.*?)</p>`)

// readWARC reads records with the standard library alone, and checks the
// record-wise compression, lengths and digests.
func readWARC(t *testing.T, name string) []record {
	t.Helper()
	content := open(t, name)
	in := bytes.NewReader(content) // a ByteReader: gzip reads no byte beyond a member
	var records []record
	for z := new(gzip.Reader); in.Len() > 0; {
		at := fmt.Sprintf("%s record %d", name, len(records))
		offset := int64(len(content) - in.Len())
		if err := z.Reset(in); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		if !z.ModTime.IsZero() || z.Name != "" {
			t.Errorf("%s: the gzip header has a time or a name", at)
		}
		z.Multistream(false)
		member, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		r := readRecord(t, at, member)
		r.offset = offset
		records = append(records, r)
	}
	return records
}

func readRecord(t *testing.T, at string, member []byte) record {
	t.Helper()
	lines := textproto.NewReader(bufio.NewReader(bytes.NewReader(member)))
	if version, err := lines.ReadLine(); err != nil || version != "WARC/1.0" {
		t.Fatalf("%s: version %q, %v", at, version, err)
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	rest, err := io.ReadAll(lines.R)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	block, ok := bytes.CutSuffix(rest, []byte("\r\n\r\n"))
	if !ok || header.Get("Content-Length") != strconv.Itoa(len(block)) {
		t.Fatalf("%s: a block of %d bytes, length %s", at, len(block), header.Get("Content-Length"))
	}
	if got := digest(block); got != header.Get("WARC-Block-Digest") {
		t.Errorf("%s: block digest %s, header %s", at, got, header.Get("WARC-Block-Digest"))
	}
	r := record{id: header.Get("WARC-Target-URI")}
	if header.Get("WARC-Type") != "response" {
		r.skip = data.ReasonNotPage
		return r
	}
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(block)), nil)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	if got := digest(body); got != header.Get("WARC-Payload-Digest") {
		t.Errorf("%s: payload digest %s, header %s", at, got, header.Get("WARC-Payload-Digest"))
	}
	mime, charset, _ := strings.Cut(response.Header.Get("Content-Type"), "; charset=")
	switch {
	case response.StatusCode != http.StatusOK:
		r.skip = data.ReasonHTTPStatus
		return r
	case mime != "text/html":
		r.skip = data.ReasonNotPage
		return r
	}
	switch charset {
	case "utf-8":
		charset = ""
	case "gbk":
		body, err = simplifiedchinese.GBK.NewDecoder().Bytes(body)
	case "big5":
		body, err = traditionalchinese.Big5.NewDecoder().Bytes(body)
	default:
		t.Errorf("%s: charset %q", at, charset)
	}
	if err != nil || !utf8.Valid(body) {
		t.Fatalf("%s: not in its charset %q: %v", at, charset, err)
	}
	r.charset = charset
	var paragraphs []string
	for _, p := range paragraph.FindAllSubmatch(body, -1) {
		paragraphs = append(paragraphs, html.UnescapeString(string(p[1])))
	}
	r.text = strings.Join(paragraphs, "\n")
	return r
}

func digest(b []byte) string {
	sum := sha1.Sum(b)
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// load reads the whole dump beside its truth.
func load(t *testing.T) ([]sample.Page, []record) {
	t.Helper()
	pages, err := sample.Truth()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(sample.Files(), "*")
	if err != nil {
		t.Fatal(err)
	}
	var records []record
	for _, name := range names {
		read := readJSONL
		if strings.HasSuffix(name, ".warc.gz") {
			read = readWARC
		}
		for i, r := range read(t, name) {
			n := len(records)
			if n >= len(pages) || pages[n].File != name || pages[n].Record != i {
				t.Fatalf("%s record %d has no truth in its place", name, i)
			}
			records = append(records, r)
		}
	}
	if len(pages) != len(records) {
		t.Fatalf("truth of %d records, %d in the dump", len(pages), len(records))
	}
	return pages, records
}

func TestTruthOfRecords(t *testing.T) {
	pages, records := load(t)
	seen := map[string]int{}
	for i, p := range pages {
		r := records[i]
		at := fmt.Sprintf("%s record %d", p.File, p.Record)
		skip := r.skip
		if first, again := seen[r.id]; again && skip == "" && r.id != "" {
			skip = data.ReasonDuplicateID
			if p.Original != pages[first].ID || p.Kind != "duplicate_id" {
				t.Errorf("%s is the id of record %d again, the truth says %s of %s", at, first, p.Kind, p.Original)
			}
		}
		if skip == "" {
			seen[r.id] = i
		}
		id := r.id
		if id == "" && skip == "" {
			id = string(field.AppendDefaultID(nil, p.File, r.offset))
		}
		if p.Offset != r.offset || p.ID != id || p.Skip != skip || p.Charset != r.charset || p.Characters != utf8.RuneCountInString(r.text) {
			t.Errorf("%s: truth %+v; the record has offset %d, id %q, skip %q, charset %q, %d characters",
				at, p, r.offset, id, skip, r.charset, utf8.RuneCountInString(r.text))
		}
	}
}

// least is how similar the planted documents of a kind are, at least, to
// their originals. Traditional characters are not folded here: the test of the
// generator does that.
var least = map[string]float64{
	"mirror": 1, "short": 1, "width": 1,
	"advertisement": 0.85, "counters": 0.85, "edit": 0.8, "error_page": 0.8, "truncated": 0.7,
}

func TestSimilarities(t *testing.T) {
	pages, records := load(t)
	byID := map[string]int{}
	postings := map[string][]int{}
	sizes := make([]int, len(pages))
	for i, p := range pages {
		if p.Skip != "" || p.Kind == "empty" {
			continue
		}
		byID[p.ID] = i
		for s := range shingles(records[i].text) {
			postings[s] = append(postings[s], i)
			sizes[i]++
		}
	}
	type pair struct{ a, b int }
	common := map[pair]int{}
	for _, list := range postings {
		for n, b := range list {
			for _, a := range list[:n] {
				common[pair{a, b}]++
			}
		}
	}
	similarity := func(a, b int) float64 {
		both := common[pair{min(a, b), max(a, b)}]
		return float64(both) / float64(sizes[a]+sizes[b]-both)
	}

	planted := map[string]int{}
	for i, p := range pages {
		if p.Skip != "" || p.Original == "" {
			continue
		}
		planted[p.Kind]++
		o, ok := byID[p.Original]
		if !ok || pages[o].Cluster != p.Cluster || p.Cluster == "" {
			t.Errorf("%s: its original %s is not in its cluster %q", p.ID, p.Original, p.Cluster)
			continue
		}
		if p.Kind == "traditional" {
			continue
		}
		if j := similarity(i, o); j < least[p.Kind] || j-p.Jaccard > 1e-4 || p.Jaccard-j > 1e-4 {
			t.Errorf("%s (%s) and its original: J %.4f, at least %.2f wanted, truth says %.4f", p.ID, p.Kind, j, least[p.Kind], p.Jaccard)
		}
	}
	for kind := range least {
		if planted[kind] == 0 {
			t.Errorf("no %s is planted", kind)
		}
	}

	const most = 0.3
	for at := range common {
		if a, b := pages[at.a], pages[at.b]; a.Cluster == "" || a.Cluster != b.Cluster {
			if j := similarity(at.a, at.b); j > most {
				t.Errorf("%s and %s are unrelated: J %.3f", a.ID, b.ID, j)
			}
		}
	}
}

// shingles returns the sets of 5 successive characters of the normal form.
func shingles(text string) map[string]bool {
	runes := []rune(strings.ToLower(norm.NFKC.String(text)))
	set := make(map[string]bool, len(runes))
	for i := range max(len(runes)-4, 1) {
		set[string(runes[i:min(i+5, len(runes))])] = true
	}
	return set
}

func TestKinds(t *testing.T) {
	pages, err := sample.Truth()
	if err != nil {
		t.Fatal(err)
	}
	kinds, charsets, clusters := map[string]int{}, map[string]int{}, map[string]int{}
	documents := 0
	for _, p := range pages {
		kinds[p.Kind]++
		charsets[p.Charset]++
		if p.Skip == "" {
			documents++
			clusters[p.Cluster]++
		}
	}
	for _, kind := range []string{
		"original", "mirror", "advertisement", "counters", "edit", "truncated", "error_page",
		"traditional", "width", "short", "empty", "duplicate_id", "malformed", "no_text",
		"warcinfo", "request", "metadata", "image", "redirect", "not_found",
	} {
		if kinds[kind] == 0 {
			t.Errorf("the dump has no %s", kind)
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("kinds without a name: %v", kinds)
	}
	if charsets["gbk"] != 1 || charsets["big5"] != 1 {
		t.Errorf("charsets %v", charsets)
	}
	if documents < 400 || len(clusters) < 50 {
		t.Errorf("%d documents, %d clusters", documents, len(clusters)-1)
	}
	for name, n := range clusters {
		if name != "" && n < 2 {
			t.Errorf("cluster %s has %d documents", name, n)
		}
	}
}

func TestSize(t *testing.T) {
	total := 0
	names, err := fs.Glob(sample.Files(), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		total += len(open(t, name))
	}
	if len(names) != 4 || total > 1_500_000 {
		t.Errorf("%d files of %d bytes", len(names), total)
	}
}
