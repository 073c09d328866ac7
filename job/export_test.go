package job

// What the tests look at.
var ErrTooManyBad = errTooManyBad

type Drift = drift
