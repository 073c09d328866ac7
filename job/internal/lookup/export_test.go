package lookup

import "errors"

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
