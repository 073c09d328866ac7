// Package panics calls what panics where it should return an error, as Arrow's readers
// and writers do on damaged input and failed writes.
package panics

import "fmt"

// AsError calls f, and returns a panic of f as an error.
func AsError(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("arrow: %w", p)
		default:
			err = fmt.Errorf("arrow: %v", p)
		}
	}()
	return f()
}
