package data

import (
	"fmt"

	"github.com/zeebo/xxh3"
)

// Sum is the size and checksum of a file. It guards against damage, not against
// someone who can write sums too.
type Sum struct {
	Bytes int64  `json:"bytes"`
	XXH3  string `json:"xxh3"` // of 128 bits, in hexadecimal digits
}

// Summer computes the Sum of what is written to it. The zero value is ready.
type Summer struct {
	bytes int64
	hash  xxh3.Hasher
}

// Write never fails.
func (s *Summer) Write(p []byte) (int, error) {
	s.bytes += int64(len(p))
	return s.hash.Write(p)
}

// Sum returns the sum of all that was written.
func (s *Summer) Sum() Sum {
	return Sum{s.bytes, fmt.Sprintf("%x", s.hash.Sum128().Bytes())}
}
