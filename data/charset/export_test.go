package charset

// What the tests look at.
var Lookup = lookup
