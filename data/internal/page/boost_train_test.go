package page

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// trainOptions says how a model is trained.
type trainOptions struct {
	Trees    int
	Rate     float64 // of learning
	Features float64 // share of the features that a tree may look at
	Rows     float64 // share of the rows that it is trained on
	Penalty  float64 // added to the weight of a leaf: larger leaves more to the others
	MinLeaf  float64 // weight that both sides of a test have, at least, in some leaf
	Seed     uint64
}

// trainData are the rows to learn from, as predict takes them.
type trainData struct {
	Columns [][]uint8 // by feature: of each row a number from 0 to 127
	Labels  []float32 // from 0 to 1
	Weights []float32
}

// train fits the logits of the labels by cross-entropy, a tree after the other.
// The same data and options give the same model on any number of cores; fewer
// trees give the first trees of a longer model.
func train(d trainData, o trainOptions) *forest {
	n := len(d.Labels)
	var sum, all float64
	for i, w := range d.Weights {
		sum += float64(w) * float64(d.Labels[i])
		all += float64(w)
	}
	m := &forest{base: int32(logitScale * math.Log(sum/(all-sum)))}
	t := &trainer{trainData: d, trainOptions: o, scores: make([]int32, n), leaf: make([]uint8, n), gradient: make([]float32, n), hessian: make([]float32, n)}
	for _, column := range d.Columns {
		t.rest = append(t.rest, sparse(column))
	}
	for i := range t.scores {
		t.scores[i] = m.base
	}
	r := rand.New(rand.NewPCG(o.Seed, 1))
	for range o.Trees {
		m.trees = append(m.trees, t.grow(r))
	}
	return m
}

type trainer struct {
	trainData
	trainOptions

	scores            []int32
	leaf              []uint8
	gradient, hessian []float32
	rest              [][]int32 // of each feature the rows that are not 0, if they are few
}

// sparse returns the rows of a column that are not 0; nil when they are many.
func sparse(column []uint8) []int32 {
	n := 0
	for _, v := range column {
		if v != 0 {
			n++
		}
	}
	if n > len(column)/3 {
		return nil
	}
	rows := make([]int32, 0, n)
	for i, v := range column {
		if v != 0 {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// sums are gradients and hessians.
type sums struct{ gradient, hessian float64 }

// test is a candidate for a level.
type test struct {
	feature   int
	threshold uint8
	gain      float64
}

// grow returns the next tree and adds its values to the scores.
func (t *trainer) grow(r *rand.Rand) (tr tree) {
	for i, s := range t.scores {
		p := 1 / (1 + math.Exp(-float64(s)/logitScale))
		w := t.Weights[i]
		if r.Float64() >= t.Rows {
			w = 0
		}
		t.gradient[i] = w * float32(float64(t.Labels[i])-p)
		t.hessian[i] = w * float32(p*(1-p))
	}
	clear(t.leaf)
	var candidates []int
	for f := range t.Columns {
		if r.Float64() < t.Features {
			candidates = append(candidates, f)
		}
	}
	for d := range treeDepth {
		best := t.best(candidates, t.totals(1<<d))
		tr.features[d], tr.thresholds[d] = uint16(best.feature), best.threshold
		column := t.Columns[best.feature]
		for i, v := range column {
			t.leaf[i] <<= 1
			if v > best.threshold {
				t.leaf[i]++
			}
		}
	}
	for l, s := range t.totals(1 << treeDepth) {
		v := t.Rate * s.gradient / (s.hessian + t.Penalty)
		tr.leaves[l] = int16(math.Round(logitScale * max(-4, min(4, v))))
	}
	for i, l := range t.leaf {
		t.scores[i] += int32(tr.leaves[l])
	}
	return tr
}

// totals sums by leaf.
func (t *trainer) totals(leaves int) []sums {
	all := make([]sums, leaves)
	for i, l := range t.leaf {
		all[l].gradient += float64(t.gradient[i])
		all[l].hessian += float64(t.hessian[i])
	}
	return all
}

// best returns the test that gains most, the first of equal ones, the leaves
// of the level having those sums.
func (t *trainer) best(candidates []int, totals []sums) test {
	found := make([]test, len(candidates))
	var all sync.WaitGroup
	jobs := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			table := make([][128]sums, len(totals))
			for j := range jobs {
				found[j] = t.try(candidates[j], totals, table)
			}
		})
	}
	for j := range candidates {
		jobs <- j
	}
	close(jobs)
	all.Wait()
	best := found[0]
	for _, c := range found[1:] {
		if c.gain > best.gain {
			best = c
		}
	}
	return best
}

// try returns the best threshold of a feature.
func (t *trainer) try(feature int, totals []sums, table [][128]sums) test {
	clear(table)
	column := t.Columns[feature]
	add := func(i int, v uint8) {
		s := &table[t.leaf[i]][v]
		s.gradient += float64(t.gradient[i])
		s.hessian += float64(t.hessian[i])
	}
	if rows := t.rest[feature]; rows != nil {
		for _, i := range rows {
			add(int(i), column[i])
		}
		for l, all := range totals { // the rest are 0
			for _, s := range table[l] {
				all.gradient -= s.gradient
				all.hessian -= s.hessian
			}
			table[l][0] = all
		}
	} else {
		for i, v := range column {
			add(i, v)
		}
	}
	score := func(s sums) float64 { return s.gradient * s.gradient / (s.hessian + t.Penalty) }
	base := 0.0
	for _, s := range totals {
		base += score(s)
	}
	best := test{feature: feature, gain: math.Inf(-1)}
	low := make([]sums, len(totals))
	for v := range 127 {
		gain, wide, moved := -base, false, false
		for l, all := range totals {
			s := table[l][v]
			moved = moved || s.hessian != 0
			low[l].gradient += s.gradient
			low[l].hessian += s.hessian
			high := sums{all.gradient - low[l].gradient, all.hessian - low[l].hessian}
			gain += score(low[l]) + score(high)
			wide = wide || low[l].hessian >= t.MinLeaf && high.hessian >= t.MinLeaf
		}
		if moved && wide && gain > best.gain {
			best.threshold, best.gain = uint8(v), gain
		}
	}
	return best
}

// size is how many trees the model has.
func (m *forest) size() int { return len(m.trees) }

// begins reports whether the model's first trees are those of start.
func (m *forest) begins(start *forest) bool {
	return m.base == start.base && len(start.trees) <= len(m.trees) && slices.Equal(m.trees[:len(start.trees)], start.trees)
}

// encode writes what decodeForest reads.
func (m *forest) encode() ([]byte, error) {
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
