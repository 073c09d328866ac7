package cli

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// A sheet shows what the table has: ids that look like numbers or formulas are
// text, long integers are not rounded, and a table that is larger than a sheet goes
// on in another one.
func TestWorkbook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part-00000.parquet")
	w, err := parquet.Create(path, &data.Removed, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"007", "=1+1", "http://a.example/\x01?q=<&>", "_x0041_", strings.Repeat("长", 100), strings.Repeat("😀", excelize.TotalCellChars/2), strings.Repeat("😀", excelize.TotalCellChars/2+1)}
	for i, id := range ids {
		if err := w.Write(&data.RemovedRow{DocID: []byte(id), Row: math.MaxInt64 - int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	book := excelize.NewFile()
	defer func() { _ = book.Close() }()
	rows, cut, err := exportSheets(context.Background(), book, "removed", []string{path}, 3)
	if err != nil || cut != 1 || rows != int64(len(ids)) {
		t.Fatalf("%d rows, %v", rows, err)
	}
	file := filepath.Join(t.TempDir(), "book.xlsx")
	if err := book.SaveAs(file); err != nil {
		t.Fatal(err)
	}
	back, err := excelize.OpenFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = back.Close() }()
	if got := fmt.Sprint(back.GetSheetList()); got != "[Sheet1 removed removed 2 removed 3 removed 4]" {
		t.Fatal(got)
	}
	var said []string
	for _, sheet := range back.GetSheetList()[1:] {
		got, err := back.GetRows(sheet)
		if err != nil || len(got) > 3 || got[0][0] != "doc_id" {
			t.Fatalf("%s: %q, %v", sheet, got, err)
		}
		for i, row := range got[1:] {
			said = append(said, row[0])
			for c, name := range got[0] {
				at, _ := excelize.CoordinatesToCellName(c+1, i+2)
				formula, err := back.GetCellFormula(sheet, at)
				if err != nil || formula != "" {
					t.Errorf("%s %s has the formula %q, %v", sheet, at, formula, err)
				}
				if kind, _ := back.GetCellType(sheet, at); name == "doc_id" && kind != excelize.CellTypeInlineString && kind != excelize.CellTypeSharedString {
					t.Errorf("%s %s, an id, is of type %d", sheet, at, kind)
				}
				if want := fmt.Sprint(math.MaxInt64 - int64(len(said)-1)); name == "row" && row[c] != want {
					t.Errorf("row %s, want %s", row[c], want)
				}
			}
		}
	}
	// A sheet counts as UTF-16 does, and keeps no half of a character.
	ids[6] = said[6]
	if n := len(utf16.Encode([]rune(said[6]))); n > excelize.TotalCellChars || n < excelize.TotalCellChars-2 {
		t.Errorf("the long cell has %d", n)
	}
	ids[2] = strings.ReplaceAll(ids[2], "\x01", "\uFFFD")
	if fmt.Sprint(said) != fmt.Sprint(ids) {
		t.Errorf("%q, want %q", said, ids)
	}
}
