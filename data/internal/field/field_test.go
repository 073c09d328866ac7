package field_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/internal/field"
)

func TestParseDate(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
	}{
		{"2024-05-18T01:58:10Z", 1715997490000},
		{"2024-05-18T01:58:10.25Z", 1715997490250},
		{"2024-05-18T03:58:10+02:00", 1715997490000},
		{"2024-05-18 01:58:10", 1715997490000},
		{"2024-05-18", 1715990400000},
		{"20240518", 1715990400000},
		{"20240518015810", 1715997490000},
		{"1715997490", 1715997490000},
		{"1715997490.5", 1715997490500},
		{"1715997490000", 1715997490000},
		{"1715997490000000", 1715997490000},
		{"-1", -1000},
		{"1987", 536457600000},
		{"2024年5月18日", 1715990400000},
		{"Sat, 18 May 2024 01:58:10 GMT", 1715997490000},
		{"26-FEB-1987 15:01:01.79", 541350061790},
		{" 2024-05-18 ", 1715990400000},
		{"", data.NoDate},
		{"yesterday", data.NoDate},
		{"2024-13-18T01:58:10Z", data.NoDate},
		{"2024-02-30T01:58:10Z", data.NoDate},
		{"2008-10-294T05:21:46-0700", data.NoDate},
		{"NaN", data.NoDate},
		{"Inf", data.NoDate},
	} {
		if got := field.ParseDate([]byte(c.text)); got != c.want {
			t.Errorf("ParseDate(%q) = %d, want %d", c.text, got, c.want)
		}
	}
}

// A day is what package time takes it for, and no other is one.
func TestParseDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := fmt.Sprintf("%04d-%02d-%02d", rapid.IntRange(0, 9999).Draw(t, "year"), rapid.IntRange(0, 13).Draw(t, "month"), rapid.IntRange(0, 32).Draw(t, "day"))
		want := int64(data.NoDate)
		if day, err := time.Parse(time.DateOnly, text); err == nil {
			want = day.UnixMilli()
		}
		if got := field.ParseDate([]byte(text)); got != want {
			t.Fatalf("ParseDate(%q) = %d, want %d", text, got, want)
		}
	})
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"2024-05-18T01:58:10Z", "20240518", "1715997490.5", "1e300", "-", "2 Jan 2006"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ms := field.ParseDate(b)
		if again := field.ParseDate(append([]byte(" "), b...)); again != ms && len(b) < 64 {
			t.Errorf("ParseDate(%q) = %d, with a space in front %d", b, ms, again)
		}
	})
}

func TestParseFingerprint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hi, lo := rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		for _, c := range []struct {
			text  string
			hex   bool
			hi    uint64
			lower bool
		}{
			{text: fmt.Sprint(lo)},
			{text: fmt.Sprint(int64(lo))},
			{text: fmt.Sprintf("0x%x", lo)},
			{text: fmt.Sprintf("%016X", lo), hex: true},
			{text: fmt.Sprintf("%016x%016x", hi, lo), hex: true, hi: hi},
		} {
			gotHi, gotLo, err := field.ParseFingerprint([]byte(c.text), c.hex)
			if err != nil || gotHi != c.hi || gotLo != lo {
				t.Errorf("ParseFingerprint(%q, %v) = %x, %x, %v", c.text, c.hex, gotHi, gotLo, err)
			}
		}
	})
	for _, text := range []string{"", "-", "12a", "0x", "0xg", "1.5", "99999999999999999999", "-9223372036854775809"} {
		if _, _, err := field.ParseFingerprint([]byte(text), false); err == nil {
			t.Errorf("ParseFingerprint(%q) has no error", text)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-2.5": -2.5, "1e3": 1000, " 7 ": 7, ".5": 0.5} {
		if got := field.ParseNumber([]byte(text)); got != want {
			t.Errorf("ParseNumber(%q) = %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "x", "NaN", "Inf", "-", "1,5", "infinity"} {
		if got := field.ParseNumber([]byte(text)); !math.IsNaN(got) {
			t.Errorf("ParseNumber(%q) = %v, want NaN", text, got)
		}
	}
}

func ExamplePick() {
	header := []string{"URL", "headline", "body"}
	title, err := field.Pick(header, "", field.Usual[field.Title])
	fmt.Println(title, err)
	_, err = field.Pick(header, "titel", nil)
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// no column "titel"; there are: URL, headline, body
}
