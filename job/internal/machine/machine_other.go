//go:build !linux

package machine

// Addresses are how many bytes of addresses this process may take; 0: as many as
// it likes, or nobody knows.
func Addresses() int64 { return 0 }
