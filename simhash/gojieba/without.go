//go:build !cgo

package gojieba

import (
	"fmt"

	"github.com/neardup/neardup/simhash/jieba"
)

// Segmenter is of a program that was built without cgo: there is none.
type Segmenter struct{}

// New returns ErrUnavailable.
func New(*jieba.Dictionary) (*Segmenter, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo; use the embedded segmenter, which gives the same words, or build it with CGO_ENABLED=1 and a C++ compiler", ErrUnavailable)
}

// Close does nothing.
func (*Segmenter) Close() error { return nil }

// Cut returns dst.
func (*Segmenter) Cut(dst []jieba.Word, _ []byte, _ bool) []jieba.Word { return dst }
