//go:build !unix

package sorted

import "os"

// mapFile reads the file at path.
func mapFile(path string) ([]byte, error) { return os.ReadFile(path) }

func unmap([]byte) error { return nil }
