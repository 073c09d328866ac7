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
		var at [treeDepth][]uint8
		var add [treeDepth]uint64
		for d, f := range tree.features {
			at[d] = columns[int(f)*stride : int(f)*stride+stride]
			add[d] = ones * uint64(127-tree.thresholds[d]) // the sum has its highest bit if the feature is larger
		}
		for i := 0; i < stride; i += 8 {
			var leaf uint64
			for d := range treeDepth {
				x := binary.LittleEndian.Uint64(at[d][i:])
				leaf = leaf<<1 | (x+add[d])>>7&ones
			}
			out := scores[i : i+8 : i+8]
			for j := range out {
				out[j] += int32(tree.leaves[leaf&(1<<treeDepth-1)])
				leaf >>= 8
			}
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
