package source_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// TestLanguage checks what each format says of a document's language.
func TestLanguage(t *testing.T) {
	response := func(header, html string) []byte {
		return warcRecord("response", id(1), "application/http", "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"+header+"\r\n"+html)
	}
	crawled := func(record []byte) []byte {
		return append([]byte("WARC/1.0\r\nWARC-Identified-Content-Language: zho,eng\r\n"), record[len("WARC/1.0\r\n"):]...)
	}
	const page = "<title>t</title><p>some text"
	for _, c := range []struct {
		name, file string
		content    []byte
		columns    data.Columns
		want       string
	}{
		{"key", "a.jsonl", []byte(`{"text":"x","lang":"en-US"}` + "\n"), data.Columns{}, "en-US"},
		{"null", "a.jsonl", []byte(`{"text":"x","lang":null}` + "\n"), data.Columns{}, ""},
		{"no string", "a.jsonl", []byte(`{"text":"x","language":{"code":"en"}}` + "\n"), data.Columns{}, ""},
		{"named key", "a.jsonl", []byte(`{"text":"x","lang":"en","tongue":"de"}` + "\n"), data.Columns{Language: "tongue"}, "de"},
		{"column", "a.csv", []byte("id,Language,text\n1,zh_CN,x\n"), data.Columns{}, "zh_CN"},
		{"named column", "a.tsv", []byte("id\ttongue\ttext\n1\tfr\tx\n"), data.Columns{Language: "tongue"}, "fr"},
		{"no column", "a.csv", []byte("id,text\n1,x\n"), data.Columns{}, ""},
		{"root element", "a.warc", response("", `<!doctype html><HTML class=a LANG="zh-CN">`+page), data.Columns{}, "zh-CN"},
		{"xml:lang", "a.warc", response("", `<html xml:lang="de">`+page), data.Columns{}, "de"},
		{"server", "a.warc", response("Content-Language: fr, en\r\n", page), data.Columns{}, "fr, en"},
		{"page before server", "a.warc", response("Content-Language: fr\r\n", `<html lang="ja">`+page), data.Columns{}, "ja"},
		{"crawler first", "a.warc", crawled(response("Content-Language: fr\r\n", `<html lang="ja">`+page)), data.Columns{}, "zho,eng"},
		{"wet", "a.warc.wet", crawled(warcRecord("conversion", id(1), "text/plain", "x")), data.Columns{}, "zho,eng"},
		{"wet without", "b.warc.wet", warcRecord("conversion", id(1), "text/plain", "x"), data.Columns{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			checkLanguage(t, path, c.columns, c.want)
		})
	}
	t.Run("parquet", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.parquet")
		w, err := parquet.Create(path, &data.Fingerprints, parquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		row := data.EmptyFingerprintRow()
		row.DocID, row.Title, row.Language = []byte("1"), []byte("x"), "ko"
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		checkLanguage(t, path, data.Columns{Text: "title"}, "ko")
	})
}

// checkLanguage reads the one document of a file.
func checkLanguage(t *testing.T, path string, columns data.Columns, want string) {
	t.Helper()
	splits, err := source.Expand([]string{path}, source.ExpandOptions{})
	if err != nil || len(splits) != 1 {
		t.Fatal(splits, err)
	}
	r, err := source.Open(splits[0], data.ReaderOptions{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	doc := data.Document{Language: []byte("of the document before")}
	if err := r.Read(&doc); err != nil {
		t.Fatal(err)
	}
	if got := string(doc.Language); got != want {
		t.Errorf("language %q, want %q", got, want)
	}
}
