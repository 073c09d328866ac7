package engine

import (
	"cmp"
	"slices"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
)

// batchCandidates is how many candidates a Batch collects.
const batchCandidates = 256 << 10

// Batch verifies candidate pairs whose views are on shared storage, where random
// reads are slow. It collects many candidates, reads the view of each of their
// documents once, in order of document number, then verifies them. Not safe for
// concurrent use.
type Batch struct {
	reader     *views.Reader
	rule       mapper.Rule
	verify     *mapper.Verifier
	emit       func(data.Pair) error
	candidates []mapper.Candidate
	docs       []uint64
}

// NewBatch returns a Batch that calls emit with the verified pairs. The caller
// must call Flush after the last Add.
func NewBatch(reader *views.Reader, rule mapper.Rule, emit func(data.Pair) error) *Batch {
	return &Batch{reader: reader, rule: rule, verify: mapper.NewVerifier(rule), emit: emit}
}

// Add collects a candidate, and verifies all that are collected when the batch
// is full. Under a rule without verification it emits the pair at once.
func (b *Batch) Add(c mapper.Candidate) error {
	if !b.rule.Verified {
		return b.emit(data.Pair{A: c.A, B: c.B, Distance: c.Distance})
	}
	if b.candidates = append(b.candidates, c); len(b.candidates) == batchCandidates {
		return b.Flush()
	}
	return nil
}

// Flush verifies the collected candidates and emits their pairs.
func (b *Batch) Flush() error {
	b.docs = b.docs[:0]
	for i := range b.candidates {
		b.docs = append(b.docs, b.candidates[i].A, b.candidates[i].B)
	}
	slices.Sort(b.docs)
	b.docs = slices.Compact(b.docs)
	units := mapper.NewUnits(true)
	var x, y data.View
	for _, doc := range b.docs {
		if err := b.reader.View(doc, &x); err != nil {
			return err
		}
		units.Append(&x)
	}
	view := func(doc uint64, v *data.View) {
		i, _ := slices.BinarySearchFunc(b.docs, doc, cmp.Compare[uint64])
		units.View(uint32(i), v)
	}
	for i := range b.candidates {
		c := &b.candidates[i]
		view(c.A, &x)
		view(c.B, &y)
		if p, ok := b.verify.Pair(c, &x, &y); ok {
			if err := b.emit(p); err != nil {
				return err
			}
		}
	}
	b.candidates = b.candidates[:0]
	return nil
}
