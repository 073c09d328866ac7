package engine

import (
	"slices"
	"sync"
)

// mostKept is how many bytes of texts are kept at most.
const mostKept = 64 << 20

// KeptTexts are the texts, in normal form, of splits that this process has
// fingerprinted, so that the stage of texts need not read a small input again.
// Of a split they have all texts or none. They are safe for concurrent use.
type KeptTexts struct {
	limit int64

	mu     sync.Mutex
	held   int64
	splits map[int]*keptSplit
}

type keptSplit struct {
	texts [][]byte // by row; nil if there is no room for them
	bytes int64
}

// KeepTexts has this process keep texts, if texts decide and it may use memory
// for them: an engine whose later tasks run in the same process calls it before
// the first.
func (j *Job) KeepTexts() error {
	limit, err := j.Config.Execution.MemoryLimit()
	if err == nil && j.kept == nil && ConsultsTexts(j.Config.Match) {
		j.kept = &KeptTexts{limit: min(mostKept, limit/16), splits: map[int]*keptSplit{}}
	}
	return err
}

// add keeps the next texts of a split, which end at those places of normal.
func (k *KeptTexts) add(task int, normal []byte, ends []int) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.splits[task]
	if s == nil {
		s = &keptSplit{texts: [][]byte{}}
		k.splits[task] = s
	}
	const slice = 24 // bytes
	size := int64(len(normal) + slice*len(ends))
	switch {
	case s.texts == nil:
		return
	case k.held+size > k.limit:
		k.held -= s.bytes
		*s = keptSplit{}
		return
	}
	k.held, s.bytes = k.held+size, s.bytes+size
	normal = slices.Clone(normal)
	from := 0
	for _, to := range ends {
		s.texts = append(s.texts, normal[from:to])
		from = to
	}
}

// take returns the texts of a split by row, nil without them, and keeps them no
// longer.
func (k *KeptTexts) take(task int) [][]byte {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.splits[task]
	if s == nil {
		return nil
	}
	delete(k.splits, task)
	k.held -= s.bytes
	return s.texts
}
