package cli

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/show"
)

// exportWorkbook writes a sheet for each table into one workbook, which appears
// when it is complete.
func exportWorkbook(ctx context.Context, std streams, run, path string, tables []string) (err error) {
	book := excelize.NewFile()
	defer func() { err = errors.Join(err, book.Close()) }()
	var tableNames []string
	err = export(run, tables, func(name string, parts []string) error {
		rows, cut, err := exportSheets(ctx, book, name, parts, excelize.TotalRows)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		tableNames = append(tableNames, name)
		if err := std.wrote(path+" "+name, rows); err != nil || cut == 0 {
			return err
		}
		l := std.language
		_, err = fmt.Fprintln(std.err, l.Text("%s of %s cut off: a cell of Excel holds %d characters. For the whole text: neardup export %s --csv DIR --tables %s", l.Count(cut, "cell"), name, excelize.TotalCellChars, show.Line(run), name))
		return err
	})
	if err != nil || len(tableNames) == 0 {
		return err
	}
	if err := book.DeleteSheet("Sheet1"); err != nil { // that a new workbook has
		return err
	}
	book.SetActiveSheet(0)
	file, err := data.CreateAtomic(path)
	if err != nil {
		return err
	}
	if _, err := book.WriteTo(file); err != nil {
		return errors.Join(err, file.Abort())
	}
	return file.Commit()
}

// exportSheets writes a table into a sheet of its name, and where it has more rows
// than a sheet holds into further ones, each with the header. It returns how many
// rows there are, and how many cells are cut off, which hold no more text.
func exportSheets(ctx context.Context, book *excelize.File, name string, parts []string, most int) (rows, cut int64, err error) {
	var sheet *excelize.StreamWriter
	var header []any
	at, sheets := 0, 0
	write := func(row []any) error {
		if sheet == nil || at == most {
			if sheet != nil {
				if err := sheet.Flush(); err != nil {
					return err
				}
			}
			sheets++
			title := name
			if sheets > 1 {
				title = fmt.Sprintf("%s %d", name, sheets)
			}
			if _, err := book.NewSheet(title); err != nil {
				return err
			}
			if sheet, err = book.NewStreamWriter(title); err != nil {
				return err
			}
			at = 0
			if header != nil {
				at++
				if err := sheet.SetRow("A1", header); err != nil {
					return err
				}
			}
		}
		cells := make([]any, len(row))
		for i, value := range row {
			cells[i] = sheetCell(value)
			if text, ok := cells[i].(string); ok {
				if held := text[:holds(text)]; len(held) < len(text) {
					cells[i] = held
					cut++
				}
			}
		}
		if header == nil {
			header = cells
		}
		at++
		return sheet.SetRow(fmt.Sprintf("A%d", at), cells)
	}
	rows, err = exportParts(ctx, parts, write)
	if err == nil && sheet != nil {
		err = sheet.Flush()
	}
	return rows, cut, err
}

// holds is how many bytes of a text a cell holds: a sheet counts as UTF-16 does.
func holds(text string) int {
	units := 0
	for i, r := range text {
		if units += utf16.RuneLen(r); units > excelize.TotalCellChars {
			return i
		}
	}
	return len(text)
}

// exact is where a spreadsheet, which has floats alone, begins to round integers.
const exact = 1 << 53

// sheetCell is a value as a sheet has it: a number where a sheet can hold it, else
// text. Text is no formula, whatever it begins with.
func sheetCell(value any) any {
	switch v := value.(type) {
	case nil, string, bool, float32, float64, int32, uint32:
		return v
	case int64:
		if v > -exact && v < exact {
			return v
		}
	case uint64:
		if v < exact {
			return v
		}
	}
	return spreadsheet(value)
}
