package page

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// treeDepth is the number of tests of a tree.
const treeDepth = 6

// logitScale is what a logit of 1 is in leaves and scores.
const logitScale = 1024

// The model is gradient boosting with oblivious trees over features of seven
// bits; it predicts eight rows at a time, and knows nothing of what the
// features mean. Its tests train it.
//
// The trees are those of Prokhorenkova et al., "CatBoost: unbiased boosting
// with categorical features" (2018): all nodes of a level share one test, so
// that the answers to a tree's tests are the number of its leaf.

// tree is treeDepth tests, feature > threshold, and a value for each outcome: the
// first test's answer is the highest bit of the leaf's number.
type tree struct {
	features   [treeDepth]uint16
	thresholds [treeDepth]uint8
	leaves     [1 << treeDepth]int16
}

// forest is the model: a sum of trees. It never changes and is safe for concurrent use.
type forest struct {
	base  int32
	trees []tree
}

const ones = 0x0101010101010101

// predict sets scores to the logits, times logitScale, of rows whose feature f is
// columns[f*stride:], a byte of at most 127 a row; stride is a multiple of 8,
// and scores holds stride.
func (m *forest) predict(scores []int32, columns []uint8, stride int) {
	for i := range scores {
		scores[i] = m.base
	}
	for t := range m.trees {
		tree := &m.trees[t]
		// A feature and what its threshold leaves of 127 have the highest bit in their
		// sum if the feature is larger. The tests are written out: a loop over six of
		// them takes longer than they do.
		column := func(d int) ([]uint8, uint64) {
			f := int(tree.features[d]) * stride
			return columns[f : f+stride : f+stride], ones * uint64(127-tree.thresholds[d])
		}
		c0, t0 := column(0)
		c1, t1 := column(1)
		c2, t2 := column(2)
		c3, t3 := column(3)
		c4, t4 := column(4)
		c5, t5 := column(5)
		for i := 0; i < stride; i += 8 {
			word := binary.LittleEndian.Uint64
			leaf := (word(c0[i:])+t0)>>7&ones<<5 | (word(c1[i:])+t1)>>7&ones<<4 | (word(c2[i:])+t2)>>7&ones<<3 |
				(word(c3[i:])+t3)>>7&ones<<2 | (word(c4[i:])+t4)>>7&ones<<1 | (word(c5[i:])+t5)>>7&ones
			out := (*[8]int32)(scores[i:])
			out[0] += int32(tree.leaves[leaf&(1<<treeDepth-1)])
			out[1] += int32(tree.leaves[leaf>>8&(1<<treeDepth-1)])
			out[2] += int32(tree.leaves[leaf>>16&(1<<treeDepth-1)])
			out[3] += int32(tree.leaves[leaf>>24&(1<<treeDepth-1)])
			out[4] += int32(tree.leaves[leaf>>32&(1<<treeDepth-1)])
			out[5] += int32(tree.leaves[leaf>>40&(1<<treeDepth-1)])
			out[6] += int32(tree.leaves[leaf>>48&(1<<treeDepth-1)])
			out[7] += int32(tree.leaves[leaf>>56&(1<<treeDepth-1)])
		}
	}
}

const treeBytes = treeDepth*3 + 2<<treeDepth

var errForest = errors.New("page: damaged model")

// decodeForest reads a model that judges n features: the base score and the
// number of trees, 4 bytes each, then each tree's features (2 bytes each),
// thresholds (1) and leaves (2), all little-endian.
func decodeForest(b []byte, n int) (*forest, error) {
	if len(b) < 8 || len(b)-8 != treeBytes*int(binary.LittleEndian.Uint32(b[4:])) {
		return nil, errForest
	}
	m := &forest{base: int32(binary.LittleEndian.Uint32(b))}
	for b = b[8:]; len(b) > 0; b = b[treeBytes:] {
		var t tree
		for d := range treeDepth {
			t.features[d] = binary.LittleEndian.Uint16(b[2*d:])
			t.thresholds[d] = b[2*treeDepth+d]
			if int(t.features[d]) >= n || t.thresholds[d] > 126 {
				return nil, fmt.Errorf("%w: tree %d", errForest, len(m.trees))
			}
		}
		for i := range t.leaves {
			t.leaves[i] = int16(binary.LittleEndian.Uint16(b[3*treeDepth+2*i:]))
		}
		m.trees = append(m.trees, t)
	}
	return m, nil
}
