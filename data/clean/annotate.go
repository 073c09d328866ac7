package clean

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/neardup/neardup/data"
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

// appendJSON ends the line of a JSON object with the fields.
func (s *seen) appendJSON(line *bytes.Buffer) error {
	end := bytes.LastIndexByte(line.Bytes(), '}')
	if end < 0 {
		return fmt.Errorf("a line without }: %.80q", line.Bytes())
	}
	rest := bytes.Clone(line.Bytes()[end+1:])
	fields, err := json.Marshal(s)
	if err != nil {
		return err
	}
	line.Truncate(end)
	line.WriteByte(',')
	line.Write(fields[1:]) // without {
	line.Write(rest)
	return nil
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
