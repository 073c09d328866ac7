package lookup

import (
	"errors"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/jieba"
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

// PanicOnChinese has the index panic on texts with ideographs.
func (x *Index) PanicOnChinese() error {
	a, err := simhash.NewWith(x.config.Features.Options, simhash.Extra{Cut: func([]jieba.Word, []byte) []jieba.Word { panic("no Chinese") }})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.job = &engine.Job{Config: x.config, Analyzer: a, Templates: x.job.Templates}
	return err
}
