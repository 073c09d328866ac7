//go:build cgo

package gojieba

// What the tests look at.
var ErrClosed = errClosed
