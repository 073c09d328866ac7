package library

// What the tests look at.
var (
	ErrChanged = errChanged
	ErrDamaged = errDamaged
)
