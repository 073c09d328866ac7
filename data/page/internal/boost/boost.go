// Package boost is gradient boosting with oblivious trees over features of
// seven bits: training, for whoever makes a model, and prediction eight rows at
// a time. It knows nothing of what the features mean.
//
// The trees are those of Prokhorenkova et al., "CatBoost: unbiased boosting
// with categorical features" (2018): all nodes of a level share one test, so
// that the answers to a tree's Depth tests are the number of its leaf.
package boost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Depth is the number of tests of a tree.
const Depth = 6

// Scale is what a logit of 1 is in leaves and scores.
const Scale = 1024

// tree is Depth tests, feature > threshold, and a value for each outcome: the
// first test's answer is the highest bit of the leaf's number.
type tree struct {
	features   [Depth]uint16
	thresholds [Depth]uint8
	leaves     [1 << Depth]int16
}

// Model is a sum of trees. It never changes and is safe for concurrent use.
type Model struct {
	base  int32
	trees []tree
}

// Trees is how many trees the model has.
func (m *Model) Trees() int { return len(m.trees) }

// Begins reports whether the model's first trees are those of start.
func (m *Model) Begins(start *Model) bool {
	return m.base == start.base && len(start.trees) <= len(m.trees) && slices.Equal(m.trees[:len(start.trees)], start.trees)
}

const ones = 0x0101010101010101

// Predict sets scores to the logits, times Scale, of rows whose feature f is
// columns[f*stride:], a byte of at most 127 a row; stride is a multiple of 8,
// and scores holds stride.
func (m *Model) Predict(scores []int32, columns []uint8, stride int) {
	for i := range scores {
		scores[i] = m.base
	}
	for t := range m.trees {
		tree := &m.trees[t]
		var at [Depth][]uint8
		var add [Depth]uint64
		for d, f := range tree.features {
			at[d] = columns[int(f)*stride : int(f)*stride+stride]
			add[d] = ones * uint64(127-tree.thresholds[d]) // the sum has its highest bit if the feature is larger
		}
		for i := 0; i < stride; i += 8 {
			var leaf uint64
			for d := range Depth {
				x := binary.LittleEndian.Uint64(at[d][i:])
				leaf = leaf<<1 | (x+add[d])>>7&ones
			}
			out := scores[i : i+8 : i+8]
			for j := range out {
				out[j] += int32(tree.leaves[leaf&(1<<Depth-1)])
				leaf >>= 8
			}
		}
	}
}

const treeBytes = Depth*3 + 2<<Depth

var errModel = errors.New("boost: damaged model")

// MarshalBinary encodes the model: the base score and the number of trees, 4
// bytes each, then each tree's features (2 bytes each), thresholds (1) and
// leaves (2), all little-endian.
func (m *Model) MarshalBinary() ([]byte, error) {
	b := binary.LittleEndian.AppendUint32(nil, uint32(m.base))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.trees)))
	for i := range m.trees {
		t := &m.trees[i]
		for _, f := range t.features {
			b = binary.LittleEndian.AppendUint16(b, f)
		}
		b = append(b, t.thresholds[:]...)
		for _, v := range t.leaves {
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		}
	}
	return b, nil
}

// Decode returns the model of MarshalBinary, which judges n features.
func Decode(b []byte, n int) (*Model, error) {
	if len(b) < 8 || len(b)-8 != treeBytes*int(binary.LittleEndian.Uint32(b[4:])) {
		return nil, errModel
	}
	m := &Model{base: int32(binary.LittleEndian.Uint32(b))}
	for b = b[8:]; len(b) > 0; b = b[treeBytes:] {
		var t tree
		for d := range Depth {
			t.features[d] = binary.LittleEndian.Uint16(b[2*d:])
			t.thresholds[d] = b[2*Depth+d]
			if int(t.features[d]) >= n || t.thresholds[d] > 126 {
				return nil, fmt.Errorf("%w: tree %d", errModel, len(m.trees))
			}
		}
		for i := range t.leaves {
			t.leaves[i] = int16(binary.LittleEndian.Uint16(b[3*Depth+2*i:]))
		}
		m.trees = append(m.trees, t)
	}
	return m, nil
}
