package clean

// What the tests look at.
var ErrStandardInput = errStandardInput
