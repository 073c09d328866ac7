package data

// What the tests look at.
var (
	ErrDone = errDone
	Window  = window
)
