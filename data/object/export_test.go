package object

// What the tests look at.
var ErrPath = errPath
