// Package field says how the fields of documents and of foreign fingerprints
// stand in an input, whatever its format: under which names, and how dates,
// numbers and fingerprints are written as text. It opens nothing.
package field

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
)

// The fields of a document that a column, or a key, can fill.
const (
	ID = iota
	Title
	Text
	Language
	Date
	Rank
	Fields // how many there are
)

// Usual are the names that an empty name in data.Columns stands for, by field: the
// first that the input has is taken, letter case ignored when no name fits
// exactly. There is none for the rank.
var Usual = [Fields][]string{
	ID:       {"id", "doc_id", "docid", "url", "uri", "link"},
	Title:    {"title", "headline"},
	Text:     {"text", "content", "body", "raw_content", "article"},
	Language: {"lang", "language", "lang_code", "language_code"},
	Date:     {"date", "timestamp", "created", "published", "time", "created_at", "published_at"},
}

// Names are those that were asked for, by field.
func Names(c data.Columns) [Fields]string {
	return [Fields]string{ID: c.ID, Title: c.Title, Text: c.Text, Language: c.Language, Date: c.Date, Rank: c.Rank}
}

// UsualID and UsualFingerprint are the names that an empty name in
// data.ForeignColumns stands for, as in Usual.
var (
	UsualID          = append([]string{"doc_id"}, Usual[ID]...)
	UsualFingerprint = []string{"fingerprint", "simhash", "hash"}
)

// Pick returns the place of the column that name asks for: the named one,
// which must be there, or for "" the first of the candidates; -1 when there is
// none.
func Pick(columns []string, name string, candidates []string) (int, error) {
	if name != "" {
		if i := slices.Index(columns, name); i >= 0 {
			return i, nil
		}
		return -1, &data.NoColumn{Name: name, Have: columns}
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for _, c := range candidates {
			if i := slices.IndexFunc(columns, func(column string) bool { return same(column, c) }); i >= 0 {
				return i, nil
			}
		}
	}
	return -1, nil
}

// What columns hold, as data.NoColumn says it.
const (
	OfID          = "id"
	OfText        = "text"
	OfFingerprint = "fingerprint"
)

// Need is Pick of a column that must be there: without it the error is a
// data.NoColumn. of is what the column holds.
func Need(columns []string, name, of string, candidates []string) (int, error) {
	i, err := Pick(columns, name, candidates)
	if err == nil && i < 0 {
		err = &data.NoColumn{Of: of, Usual: candidates, Have: columns}
	}
	return i, err
}

// NoText says that a record has no text in a column of that name, or of "" in
// any of the candidates.
func NoText(name string) error {
	return fmt.Errorf("no %s", cmp.Or(name, strings.Join(Usual[Text], ", ")))
}

// AppendDefaultID appends the id of a document that has none,
// "<base name of source>#<offset>", to dst.
func AppendDefaultID(dst []byte, source string, offset int64) []byte {
	if source == "-" {
		source = "stdin"
	}
	dst = append(dst, filepath.Base(source)...)
	dst = append(dst, '#')
	return strconv.AppendInt(dst, offset, 10)
}

// What ParseDate takes, besides numbers, RFC 3339 and its days, by what a date
// begins with.
var (
	yearLayouts = []string{
		"2006-01-02T15:04:05.999999999Z0700",
		"2006-01-02T15:04:05.999999999",
		"2006-01-02T15:04Z07:00",
		"2006-01-02T15:04",
		"2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999 Z07:00",
		"2006-01-02 15:04:05.999999999 -0700",
		"2006-01-02 15:04:05.999999999 MST",
		"2006-01-02 15:04:05.999999999",
		"2006-01-02 15:04",
		"2006/01/02 15:04:05",
		"2006/01/02",
		"2006年1月2日",
		"2006-1-2",
	}
	dayLayouts = []string{
		"2-Jan-2006 15:04:05.999999999",
		"2-Jan-2006",
		"2 Jan 2006",
	}
	nameLayouts = []string{
		"Mon, 02 Jan 2006 15:04:05 MST",
		"Mon, 02 Jan 2006 15:04:05 -0700",
		"January 2, 2006",
		"Jan 2, 2006",
	}
)

func dateLayouts(b []byte) []string {
	switch {
	case !digits(b[:1]):
		return nameLayouts
	case len(b) >= 4 && digits(b[:4]):
		return yearLayouts
	}
	return dayLayouts
}

// ParseDate reads a date as Unix milliseconds; data.NoDate when it is none. It
// takes RFC 3339 and the usual forms near it, mail dates, yyyymmdd and
// yyyymmddhhmmss, and Unix times as UnixDate does. A date without a zone is
// taken as UTC.
func ParseDate(b []byte) int64 {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 64 {
		return data.NoDate
	}
	whole := string(b)
	if len(b) == len(time.DateOnly) {
		whole += "T00:00:00Z" // package time reads RFC 3339 five times as fast as any other layout
	}
	if t, err := time.Parse(time.RFC3339, whole); err == nil {
		return t.UnixMilli()
	}
	if digits(b) {
		switch len(b) {
		case len("2006"), len("20060102"), len("20060102150405"):
			if t, err := time.Parse("20060102150405"[:len(b)], string(b)); err == nil {
				return t.UnixMilli()
			}
		}
	}
	if f := ParseNumber(b); !math.IsNaN(f) {
		return UnixDate(f)
	}
	s := string(b)
	for _, layout := range dateLayouts(b) {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli()
		}
	}
	return data.NoDate
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// UnixDate takes a number as a Unix time and returns it in milliseconds:
// seconds below 1e11 (the year 5138), milliseconds below 1e14, microseconds
// below 1e17, else nanoseconds. data.NoDate for what is not finite.
func UnixDate(v float64) int64 {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return data.NoDate
	case a < 1e11:
		return int64(math.Floor(v * 1000))
	case a < 1e14:
		return int64(math.Floor(v))
	case a < 1e17:
		return int64(math.Floor(v / 1e3))
	case a < 1e20:
		return int64(math.Floor(v / 1e6))
	}
	return data.NoDate
}

// ParseNumber reads a decimal number; NaN when it is none.
func ParseNumber(b []byte) float64 {
	b = bytes.TrimSpace(b)
	if len(b) == 0 || len(b) > 64 || b[0] != '-' && b[0] != '+' && b[0] != '.' && (b[0] < '0' || b[0] > '9') {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// ParseFingerprint reads a fingerprint written as text. A decimal number may
// be unsigned or, as signed 64-bit columns print it, negative. Hexadecimal
// has the prefix 0x, or none when hexadecimal is true; of more than 16 digits
// it is a fingerprint of 128 bits. A column must be told to be hexadecimal:
// one value can look like both.
func ParseFingerprint(b []byte, hexadecimal bool) (hi, lo uint64, err error) {
	s := bytes.TrimSpace(b)
	if len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		s, hexadecimal = s[2:], true
	}
	if hexadecimal {
		high, low := "0", string(s)
		if n := len(s) - 16; n > 0 {
			high, low = low[:n], low[n:]
		}
		hi, err := strconv.ParseUint(high, 16, 64)
		lo, lowErr := strconv.ParseUint(low, 16, 64)
		if err != nil || lowErr != nil || len(s) > 32 {
			return 0, 0, fmt.Errorf("fingerprint %.40q: not 1 to 32 hexadecimal digits", b)
		}
		return hi, lo, nil
	}
	if len(s) > 0 && s[0] == '-' {
		v, err := strconv.ParseInt(string(s), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("fingerprint %.40q: not a signed 64-bit number", b)
		}
		return 0, uint64(v), nil
	}
	lo, err = strconv.ParseUint(string(s), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("fingerprint %.40q: not a decimal 64-bit number (hexadecimal ones must be told)", b)
	}
	return 0, lo, nil
}

// Hexadecimal tells whether a column of fingerprints written as text holds
// hexadecimal numbers: whether one of the first 1,000 values, which next
// returns, has digits that only such a number has. One in 2,000 hexadecimal
// numbers of 16 digits has none.
func Hexadecimal(next func() (value []byte, err error)) (bool, error) {
	for range 1000 {
		value, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case bytes.ContainsAny(value, "abcdefABCDEF"):
			return true, nil
		}
	}
	return false, nil
}
