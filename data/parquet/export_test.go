package parquet

// What the tests look at.
var ErrNotTable = errNotTable
