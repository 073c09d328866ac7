package show

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Number writes 1234567 as 1,234,567.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes writes a size for a person, like 12.3 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1024, 0
	for v >= 1024 && unit < 3 {
		v, unit = v/1024, unit+1
	}
	return fmt.Sprintf("%.1f %s", v, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

// Count writes so many things, as Number, for a person: 1 document, 1,200
// documents. The thing is named in the singular.
func Count[N int | int64](n N, thing string) string {
	return Number(int64(n)) + " " + Noun(int64(n), thing)
}

// Noun is the name of so many things, without their number.
func Noun(n int64, thing string) string {
	many := thing + "s"
	if strings.HasSuffix(thing, "x") {
		many = thing + "es"
	}
	return Agree(n, thing, many)
}

// Agree is one where there is one of something, else many: is or are.
func Agree[N int | int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// numberOf and nounOf are Number and Noun for pages, whose numbers are of any
// type of integer.
func numberOf(n any) string             { return Number(reflect.ValueOf(n).Int()) }
func nounOf(n any, thing string) string { return Noun(reflect.ValueOf(n).Int(), thing) }

// Headed is the name of line i of a list: the first has it.
func Headed(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

// Percent is a part of a whole in brackets, nothing if the whole is 0.
func Percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return " (" + Share(part, whole) + ")"
}

// Share is a part of a whole that is not 0.
func Share(part, whole int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// Counts lists a map's entries, the largest first.
func Counts(open string, m map[string]int64, end string) string {
	if len(m) == 0 {
		return ""
	}
	var parts []string
	for _, k := range ByCount(m) {
		parts = append(parts, Number(m[k])+" "+k)
	}
	return open + strings.Join(parts, ", ") + end
}

// ByCount lists the keys of a map, those of the largest counts first.
func ByCount(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
	})
}
