package library

// What the tests look at.
var (
	ErrDamaged = errDamaged
)
