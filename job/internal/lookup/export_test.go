package lookup

import (
	"errors"
	"time"

	"github.com/neardup/neardup/data"
)

// What the tests look at.
var ErrLacking = errLacking

// UnreadAfter is the status of an error of reading the library that was there
// before the change.
func (x *Index) UnreadAfter(change func(), err error) (code int) {
	was, _ := x.look()
	change()
	var f failure
	errors.As(x.unread(was, err), &f)
	return f.code
}

// EncodePage is a record of the log, DecodePage reads one.
func EncodePage(row data.LibraryRow, change int64, extracted bool) []byte {
	p := addedPage{row: row, change: change, extracted: extracted, at: time.Now()}
	return p.encode(nil)
}

func DecodePage(b []byte) (row data.LibraryRow, change int64, extracted bool, err error) {
	var p addedPage
	err = p.decode(b)
	return p.row, p.change, p.extracted, err
}
