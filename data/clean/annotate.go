package clean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/jsonl"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
)

// Prefix begins the names of the fields that an annotated dump has for those of
// data.SeenRow, so that they are never fields of the input.
const Prefix = "neardup_"

// seenFields are those fields, in their order.
var seenFields = [...]string{Prefix + "copies", Prefix + "sites", Prefix + "first_seen", Prefix + "last_seen", Prefix + "nights"}

// seen is what they hold.
type seen struct {
	Copies    int32  `json:"neardup_copies"`
	Sites     int32  `json:"neardup_sites"`
	FirstSeen string `json:"neardup_first_seen,omitempty"`
	LastSeen  string `json:"neardup_last_seen,omitempty"`
	Nights    int32  `json:"neardup_nights"`
}

func seenOf(r *data.SeenRow) seen {
	return seen{Copies: r.Copies, Sites: r.Sites, FirstSeen: r.FirstSeen, LastSeen: r.LastSeen, Nights: r.Nights}
}

// appendJSON appends a line of a JSON object with the fields behind its own. Of an
// object that has such fields, as of a dump that was annotated before, they take
// the place of those.
func (s *seen) appendJSON(line *bytes.Buffer, raw []byte) error {
	if bytes.Contains(raw, []byte(Prefix)) {
		own, err := jsonl.Without(nil, raw, func(key []byte) bool { return slices.Contains(seenFields[:], string(key)) })
		if err != nil {
			return err
		}
		raw = own
	}
	end := bytes.LastIndexByte(raw, '}')
	if end < 0 {
		return fmt.Errorf("a line without }: %.80q", raw)
	}
	fields, err := json.Marshal(s)
	if err != nil {
		return err
	}
	line.Write(raw[:end])
	if own := bytes.TrimRight(raw[:end], " \t\r\n"); len(own) > 0 && own[len(own)-1] != '{' {
		line.WriteByte(',')
	}
	line.Write(fields[1:]) // without {
	line.Write(raw[end+1:])
	return nil
}

// ownColumns returns which columns of a header are not among the fields; nil if
// all are.
func ownColumns(header []byte, comma byte) []bool {
	names := cells(bytes.TrimRight(header, "\r\n"), comma)
	own, all := make([]bool, len(names)), true
	for i, name := range names {
		own[i] = !slices.Contains(seenFields[:], string(bytes.Trim(name, `"`)))
		all = all && own[i]
	}
	if all {
		return nil
	}
	return own
}

// appendOwn appends the cells of a row that stand in such columns, as they are.
func appendOwn(dst *bytes.Buffer, row []byte, comma byte, own []bool) {
	first := true
	for i, cell := range cells(row, comma) {
		if i < len(own) && !own[i] {
			continue
		}
		if !first {
			dst.WriteByte(comma)
		}
		dst.Write(cell)
		first = false
	}
}

// cells cuts a row, which was read before, at the commas outside of quotes.
func cells(row []byte, comma byte) (all [][]byte) {
	quoted, start := false, 0
	for i, c := range row {
		switch {
		case c == '"':
			quoted = !quoted // a quote that is written twice is inside again
		case c == comma && !quoted:
			all, start = append(all, row[start:i]), i+1
		}
	}
	return append(all, row[start:])
}

// appendRow ends a row of delimited fields with them. The names of nights are words
// that need no quotes.
func (s *seen) appendRow(row *bytes.Buffer, comma byte) {
	for _, field := range [...]string{strconv.Itoa(int(s.Copies)), strconv.Itoa(int(s.Sites)), s.FirstSeen, s.LastSeen, strconv.Itoa(int(s.Nights))} {
		row.WriteByte(comma)
		row.WriteString(field)
	}
}

// comma divides the fields of a split's rows.
func comma(split data.Split) byte {
	if split.Format == source.FormatTSV {
		return '\t'
	}
	return ','
}

// columns are the fields of all kept rows, as columns of a Parquet file.
func columns(all []seen) []parquet.NewColumn {
	number := func(name string, value func(s *seen) int32) parquet.NewColumn {
		c := parquet.NewColumn{Name: name, Numbers: make([]int32, len(all))}
		for i := range all {
			c.Numbers[i] = value(&all[i])
		}
		return c
	}
	word := func(name string, value func(s *seen) string) parquet.NewColumn {
		c := parquet.NewColumn{Name: name, Words: make([]string, len(all))}
		for i := range all {
			c.Words[i] = value(&all[i])
		}
		return c
	}
	return []parquet.NewColumn{
		number(seenFields[0], func(s *seen) int32 { return s.Copies }),
		number(seenFields[1], func(s *seen) int32 { return s.Sites }),
		word(seenFields[2], func(s *seen) string { return s.FirstSeen }),
		word(seenFields[3], func(s *seen) string { return s.LastSeen }),
		number(seenFields[4], func(s *seen) int32 { return s.Nights }),
	}
}
