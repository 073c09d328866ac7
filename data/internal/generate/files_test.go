package generate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
	"github.com/neardup/neardup/data/sample"
)

// Names of the files.
const (
	warcA     = "crawl-00.warc.gz"
	warcB     = "crawl-01.warc.gz"
	jsonlGzip = "pages-00.jsonl.gz"
	jsonlText = "pages-01.jsonl"
	truthFile = "_truth.json" // no run takes a file with such a name in a folder
	labelFile = "_labels.csv"
)

// file is one of the files that are written.
type file struct {
	name    string
	content []byte
}

// generate makes all files.
func generate() ([]file, error) {
	pages := originals()
	planted, err := plant(pages)
	if err != nil {
		return nil, err
	}
	pages = append(append(pages, planted...), oddities()...)
	if err := compare(pages); err != nil {
		return nil, err
	}
	dump := deal(pages)

	var files []file
	var truth []sample.Page
	for _, f := range []struct {
		name  string
		write func(string, []*page) ([]byte, []sample.Page, error)
	}{{warcA, writeWARC}, {warcB, writeWARC}, {jsonlGzip, writeJSONL}, {jsonlText, writeJSONL}} {
		content, records, err := f.write(f.name, dump[f.name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		files = append(files, file{f.name, content})
		truth = append(truth, records...)
	}
	nameDefaultIDs(truth)
	var buf bytes.Buffer
	buf.WriteString("[\n")
	for i, p := range truth {
		line, err := marshal(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", truthFile, err)
		}
		buf.Write(line)
		if i < len(truth)-1 {
			buf.WriteByte(',')
		}
		buf.WriteByte('\n')
	}
	buf.WriteString("]\n")
	return append(files, file{truthFile, buf.Bytes()}, file{labelFile, labels(truth)}), nil
}

// labels is the truth as the laboratory takes it: the cluster of each document
// that is in one.
func labels(truth []sample.Page) []byte {
	out := []byte("id,cluster\n")
	for _, p := range truth {
		if p.Skip == "" && p.Cluster != "" {
			out = fmt.Appendf(out, "%s,%s\n", p.ID, p.Cluster)
		}
	}
	return out
}

// compare puts the similarity to its original into each planted page.
func compare(pages []*page) error {
	ids := map[string]bool{}
	for _, p := range pages {
		if ids[p.ID] {
			return fmt.Errorf("the id %s stands twice", p.ID)
		}
		ids[p.ID] = true
		p.Characters = utf8.RuneCountInString(p.text())
		if p.original != nil {
			p.Jaccard = jaccard(p.text(), p.original.text())
		}
	}
	return nil
}

// deal spreads the pages over the files, in random order.
func deal(pages []*page) map[string][]*page {
	r := random(8, 0)
	pages = slices.Clone(pages)
	r.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	dump := map[string][]*page{}
	var gbk, big5, noID bool
	var late []*page
	for _, p := range pages {
		name := jsonlText
		switch n := r.IntN(100); {
		case n < 34:
			name = warcA
		case n < 54:
			name = warcB
		case n < 84:
			name = jsonlGzip
		}
		html := name == warcA || name == warcB
		alone := p.Kind == "original" && p.Cluster == "" && p.Lang == langChinese
		switch {
		case html && (p.Kind == "short" || p.Kind == "empty"):
			name = jsonlGzip // what is left of an almost empty HTML page depends on the reader
		case html && !gbk && alone:
			gbk, p.Charset = true, "gbk"
		case html && !big5 && p.Kind == "traditional":
			big5, p.Charset = true, "big5"
		case name == jsonlText && !noID && alone:
			noID, p.noID = true, true
		case alone && len(late) == 0 && name == jsonlGzip, alone && len(late) == 1 && name == jsonlText:
			late = append(late, again(p))
		}
		dump[name] = append(dump[name], p)
	}
	dump[jsonlText] = append(dump[jsonlText], late...)
	return dump
}

// nameDefaultIDs writes the id that a run gives to a document without one.
func nameDefaultIDs(truth []sample.Page) {
	for i, p := range truth {
		if p.ID == "" && p.Skip == "" {
			truth[i].ID = string(field.AppendDefaultID(nil, p.File, p.Offset))
		}
	}
}

// line is a line of the JSONL files.
type line struct {
	ID    string `json:"id,omitempty"`
	Title string `json:"title"`
	Text  string `json:"text"`
	Date  string `json:"date"`
}

func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func writeJSONL(name string, pages []*page) ([]byte, []sample.Page, error) {
	var buf bytes.Buffer
	var records []sample.Page
	add := func(truth sample.Page, content []byte) {
		truth.File, truth.Record, truth.Offset = name, len(records), int64(buf.Len())
		records = append(records, truth)
		buf.Write(content)
		buf.WriteByte('\n')
	}
	for i, p := range pages {
		l := line{p.ID, p.title, p.text(), p.published.Format("2006-01-02T15:04:05Z07:00")}
		if p.noID {
			l.ID, p.ID = "", ""
		}
		content, err := marshal(l)
		if err != nil {
			return nil, nil, err
		}
		if i == len(pages)/2 && name == jsonlGzip {
			add(sample.Page{Kind: "malformed", Skip: data.ReasonMalformed}, content[:len(content)/2])
		}
		if i == len(pages)/2 && name == jsonlText {
			add(sample.Page{Kind: "no_text", Skip: data.ReasonNoText, ID: "http://tiny.example.com/no-text"},
				[]byte(`{"id":"http://tiny.example.com/no-text","title":"目录","date":"2026-03-04T05:06:07Z"}`))
		}
		add(p.Page, content)
	}
	if !strings.HasSuffix(name, ".gz") {
		return buf.Bytes(), records, nil
	}
	content, err := compress(buf.Bytes())
	return content, records, err
}

// compress returns one gzip member, without a time or a name.
func compress(content []byte) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	z.ModTime = time.Unix(0, 0) // no time; the zero Time would be written as one
	if _, err := z.Write(content); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
