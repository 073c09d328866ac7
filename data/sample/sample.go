// Package sample is a small crawl dump whose near-duplicates are known: the
// files of this folder and, for each of their records, the truth. It is for
// examples, tests and a first run. It parses no dump format, and never tells a
// run what to find.
package sample

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
)

//go:generate go test ../internal/generate -run TestCommittedFiles -update

//go:embed *.warc.gz *.jsonl *.jsonl.gz
var dump embed.FS

//go:embed _truth.json
var truth []byte

// Page is the truth about one record of the dump.
type Page struct {
	File    string `json:"file"`              // name of the file in Files
	Record  int    `json:"record"`            // number in the file, from 0: of the WARC record or the line
	Offset  int64  `json:"offset"`            // where it starts: byte of the .warc.gz file, or of the uncompressed lines
	ID      string `json:"id,omitempty"`      // the document's id in a run: its URL, or file#offset when it has none
	Kind    string `json:"kind"`              // of those that README.md describes: a planted near-duplicate of Original, another document, or a record to skip
	Skip    string `json:"skip,omitempty"`    // why a run that has the default options skips it, one of data's reasons; "" for a document
	Lang    string `json:"lang,omitempty"`    // zh, zh-Hant, en, or mixed
	Charset string `json:"charset,omitempty"` // charset of a page that is not UTF-8: gbk or big5

	// Cluster names the near-duplicates that belong together; it is empty for
	// a document that has none.
	Cluster string `json:"cluster,omitempty"`

	// Original is the id of the document this one was made from, and Jaccard
	// the similarity of the two: of the sets of 5 successive characters of
	// their texts, after NFKC, lower case, and simplified characters.
	Original string  `json:"original,omitempty"`
	Jaccard  float64 `json:"jaccard,omitempty"`

	Characters int `json:"characters"` // of the text
}

// Files returns the files of the dump. They are also in the folder data/sample
// of the module; os.CopyFS puts them elsewhere.
func Files() fs.FS { return dump }

// Truth returns what is known of the records, by file and record.
func Truth() ([]Page, error) {
	var pages []Page
	if err := json.Unmarshal(truth, &pages); err != nil {
		return nil, fmt.Errorf("sample: _truth.json: %w", err)
	}
	return pages, nil
}
