package plan

// What the tests look at.
var ErrNothing = errNothing
