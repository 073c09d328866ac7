package source

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/neardup/neardup/data/arrow"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/data/warc"
)

// headSize is how much of a file, decompressed, its format is told from.
const headSize = 4096

// extensions of the formats; those of a compression are cut off first.
var extensions = map[string]string{
	".warc":      FormatWARC,
	".wet":       FormatWET,
	".jsonl":     FormatJSONL,
	".ndjson":    FormatJSONL,
	".jsonlines": FormatJSONL,
	".csv":       FormatCSV,
	".tsv":       FormatTSV,
	".tab":       FormatTSV,
	".parquet":   FormatParquet,
	".pq":        FormatParquet,
	".arrow":     FormatArrow,
	".arrows":    FormatArrow,
	".ipc":       FormatArrow,
	".feather":   FormatArrow,
}

// refused formats, by extension, with what to do.
var refused = map[string]string{
	".arc":  "ARC archives are not read: convert it to WARC first, for example with `warcio recompress`",
	".wat":  "WAT files hold metadata and no text: name the WARC or WET files",
	".zip":  "zip archives are not read: unpack it and name what is in it",
	".tar":  "tar archives are not read: unpack it and name what is in it",
	".bz2":  "bzip2 is not read: recompress it with gzip or zstd",
	".xz":   "xz is not read: recompress it with gzip or zstd",
	".orc":  "ORC is not read: convert it to Parquet",
	".avro": "Avro is not read: convert it to Parquet",
	".xlsx": "spreadsheets are not read: save it as CSV",
}

// noDumps are formats of which nothing in a folder is read, by extension, with
// what to do about a file that was named.
var noDumps = map[string]string{
	".txt":  fileOfText,
	".text": fileOfText,
	".html": fileOfHTML,
	".htm":  fileOfHTML,
	".pdf":  textToExtract,
	".doc":  textToExtract,
	".docx": textToExtract,
	".epub": textToExtract,
	".xml":  textToExtract,
	".xls":  "spreadsheets are not read: save it as CSV",
	".7z":   "7z archives are not read: unpack it and name what is in it",
	".rar":  "rar archives are not read: unpack it and name what is in it",
	".db":   textToExtract,
}

const (
	fileOfText    = "a file that is one text is not read: write a line of JSON of each, as `for f in *.txt; do jq -Rsc --arg id \"$f\" '{$id, text: .}' \"$f\"; done >texts.jsonl` does"
	fileOfHTML    = "a file that is one page is not read: write WARC, as `wget --warc-file` does, or a line of JSON with id and text of each"
	textToExtract = "texts are not taken out of it: write a line of JSON with id and text of each document"
)

// aside reports whether the name of a file that has no known format says that it
// stands beside the data: a read-me, a licence, checksums, a program.
func aside(path string) bool {
	name := strings.ToLower(filepath.Base(path))
	for _, beginning := range []string{"readme", "license", "licence", "copying", "notice", "changelog", "md5sums", "sha1sums", "sha256sums", "sha512sums"} {
		if strings.HasPrefix(name, beginning) {
			return true
		}
	}
	switch filepath.Ext(name) {
	case ".md", ".rst", ".md5", ".sha1", ".sha256", ".sha512", ".go", ".py", ".sh":
		return true
	}
	return false
}

// named returns the format that a file's name tells, "" if it tells none, and the name's
// extension without that of a compression.
func named(path string) (format, ext string) {
	name := strings.ToLower(filepath.Base(path))
	for _, suffix := range []string{".gz", ".zst", ".zstd"} {
		name = strings.TrimSuffix(name, suffix)
	}
	ext = filepath.Ext(name)
	return extensions[ext], ext
}

// detect tells a file's format from its name and its first decompressed
// bytes. Where the two disagree, content that cannot be mistaken (the first
// bytes of WARC, Parquet or Arrow) wins. ErrRefused, with what to do, for a known
// format that is not read, ErrFormat for one that nearly is; "" for anything
// else.
func detect(path string, head []byte) (string, error) {
	byName, ext := named(path)

	switch {
	case warc.IsVersion(head):
		if remedy, ok := refused[ext]; ok && ext == ".wat" {
			return "", fmt.Errorf("%s: %w: %s", path, ErrRefused, remedy)
		}
		if ext == ".wet" {
			return FormatWET, nil
		}
		return FormatWARC, nil
	case bytes.HasPrefix(head, []byte("PAR1")):
		return FormatParquet, nil
	case arrow.Is(head):
		return FormatArrow, nil
	case bytes.HasPrefix(head, []byte("FEA1")):
		return "", fmt.Errorf("%s: %w: it is Feather of version 1: write it again, as Arrow IPC", path, ErrRefused)
	case bytes.HasPrefix(head, []byte("filedesc://")):
		return "", fmt.Errorf("%s: %w: %s", path, ErrRefused, refused[".arc"])
	}
	if remedy, ok := refused[ext]; ok {
		return "", fmt.Errorf("%s: %w: %s", path, ErrRefused, remedy)
	}
	text, _ := new(charset.Decoder).Decode(head, charset.Hint{})
	text = bytes.TrimLeft(text, " \t\r\n")
	first, _, _ := bytes.Cut(text, []byte{'\n'})
	pretty := string(bytes.TrimSpace(first)) == "{"
	if byName != "" {
		switch {
		case bytes.HasPrefix(head, []byte("PK\x03\x04")):
			return "", fmt.Errorf("%s: %w: it is a zip archive or a spreadsheet: unpack it, or save it as CSV", path, ErrRefused)
		case byName == FormatJSONL && len(text) > 0 && text[0] == '[':
			return "", fmt.Errorf("%s: %w: it holds a JSON array: write one object a line, as `jq -c '.[]'` does", path, ErrRefused)
		case byName == FormatJSONL && pretty:
			return "", fmt.Errorf("%s: %w: its objects have several lines: write one object a line, as `jq -c .` does", path, ErrRefused)
		}
		return byName, nil
	}
	switch {
	case pretty:
		return "", fmt.Errorf("%s: %w: its objects have several lines: write one object a line, as `jq -c .` does", path, ErrFormat)
	case len(text) > 0 && text[0] == '{':
		return FormatJSONL, nil
	case len(text) > 0 && text[0] == '[' && ext == ".json":
		return "", fmt.Errorf("%s: %w: it is one JSON array: write one object a line, for example with `jq -c '.[]'`", path, ErrFormat)
	}
	return "", nil
}
