package lookup

// What the tests look at.
var ErrLacking = errLacking
