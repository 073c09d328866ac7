// Package gojieba links the C++ segmenter into a program, for its runs with
// features.segmenter: gojieba. Command neardup has it; another Go program imports
// this package for that, as it does a driver of package sql:
//
//	import _ "github.com/neardup/neardup/job/gojieba"
//
// Without it a program needs no C++ compiler, and no package of job does.
package gojieba

import (
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

func init() {
	method.LinkGojieba(func(d *jieba.Dictionary) (method.Segmenter, error) { return gojieba.New(d) })
}
