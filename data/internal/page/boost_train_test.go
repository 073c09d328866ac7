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
	t := &trainer{trainData: d, trainOptions: o, scores: make([]int32, n), leaf: make([]uint8, n), pull: make([]sums32, n), tables: make([][][128]sums, len(d.Columns))}
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

	scores []int32
	leaf   []uint8       // of each row, in the tree that grows
	pull   []sums32      // of each row
	rest   [][]int32     // of each feature the rows that are not 0, if they are few
	rows   []int32       // that the tree is trained on, by leaf
	ends   []int32       // where those of each leaf end
	spare  []int32       // room to sort them
	tables [][][128]sums // of each feature the sums by leaf and value
}

// sparse returns the rows of a column that are not 0; nil when they are many.
func sparse(column []uint8) []int32 {
	n := 0
	for _, v := range column {
		if v != 0 {
			n++
		}
	}
	if n > len(column)/6 {
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

type sums32 struct{ gradient, hessian float32 }

func (s *sums) add(p sums32) {
	s.gradient += float64(p.gradient)
	s.hessian += float64(p.hessian)
}

func (s *sums) subtract(o sums) {
	s.gradient -= o.gradient
	s.hessian -= o.hessian
}

// test is a candidate for a level.
type test struct {
	feature   int
	threshold uint8
	gain      float64
}

// grow returns the next tree and adds its values to the scores.
func (t *trainer) grow(r *rand.Rand) (tr tree) {
	t.rows = t.rows[:0]
	for i, s := range t.scores {
		if r.Float64() >= t.Rows {
			t.pull[i] = sums32{}
			continue
		}
		p := 1 / (1 + math.Exp(-float64(s)/logitScale))
		w := t.Weights[i]
		t.pull[i] = sums32{w * float32(float64(t.Labels[i])-p), w * float32(p*(1-p))}
		t.rows = append(t.rows, int32(i))
	}
	t.ends = append(t.ends[:0], int32(len(t.rows)))
	clear(t.leaf)
	var candidates []int
	for f := range t.Columns {
		if r.Float64() < t.Features {
			candidates = append(candidates, f)
		}
	}
	for d := range treeDepth {
		best := t.best(candidates, t.totals())
		tr.features[d], tr.thresholds[d] = uint16(best.feature), best.threshold
		t.split(t.Columns[best.feature], best.threshold)
	}
	for l, s := range t.totals() {
		v := t.Rate * s.gradient / (s.hessian + t.Penalty)
		tr.leaves[l] = int16(math.Round(logitScale * max(-4, min(4, v))))
	}
	for i, l := range t.leaf {
		t.scores[i] += int32(tr.leaves[l])
	}
	return tr
}

// split makes two leaves of each by a test: leaf l becomes 2l and 2l + 1.
func (t *trainer) split(column []uint8, threshold uint8) {
	for i, v := range column {
		t.leaf[i] <<= 1
		if v > threshold {
			t.leaf[i]++
		}
	}
	ends := make([]int32, 0, 2*len(t.ends))
	from := int32(0)
	for _, end := range t.ends {
		low := from
		t.spare = t.spare[:0]
		for _, i := range t.rows[from:end] {
			if t.leaf[i]&1 == 0 {
				t.rows[low] = i
				low++
			} else {
				t.spare = append(t.spare, i)
			}
		}
		copy(t.rows[low:end], t.spare)
		ends = append(ends, low, end)
		from = end
	}
	t.ends = ends
}

// segment returns the rows of a leaf.
func (t *trainer) segment(l int) []int32 {
	if l == 0 {
		return t.rows[:t.ends[0]]
	}
	return t.rows[t.ends[l-1]:t.ends[l]]
}

// totals sums by leaf.
func (t *trainer) totals() []sums {
	all := make([]sums, len(t.ends))
	for l := range all {
		for _, i := range t.segment(l) {
			all[l].add(t.pull[i])
		}
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
			for j := range jobs {
				found[j] = t.try(candidates[j], totals)
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

// fill sets a feature's sums by leaf and value. Those of the larger of two
// leaves that were one are what is left of that one's.
func (t *trainer) fill(feature int, totals []sums) [][128]sums {
	column := t.Columns[feature]
	if t.tables[feature] == nil {
		t.tables[feature] = make([][128]sums, 1<<(treeDepth-1))
	}
	table := t.tables[feature][:len(totals)]
	if rows := t.rest[feature]; rows != nil {
		clear(table)
		for _, i := range rows {
			table[t.leaf[i]][column[i]].add(t.pull[i])
		}
		for l, all := range totals { // the rest are 0
			for v := 1; v < 128; v++ {
				all.subtract(table[l][v])
			}
			table[l][0] = all
		}
		return table
	}
	sum := func(l int) {
		to := &table[l]
		clear(to[:])
		for _, i := range t.segment(l) {
			to[column[i]&127].add(t.pull[i])
		}
	}
	if len(totals) == 1 {
		sum(0)
		return table
	}
	for l := len(totals)/2 - 1; l >= 0; l-- { // a leaf's sums stand where its halves' do: the last leaves first
		whole, less, more := table[l], 2*l, 2*l+1
		if len(t.segment(less)) > len(t.segment(more)) {
			less, more = more, less
		}
		sum(less)
		for v := range whole {
			whole[v].subtract(table[less][v])
		}
		table[more] = whole
	}
	return table
}

// try returns the best threshold of a feature.
func (t *trainer) try(feature int, totals []sums) test {
	table := t.fill(feature, totals)
	score := func(s sums) float64 { return s.gradient * s.gradient / (s.hessian + t.Penalty) }
	base := 0.0
	for _, s := range totals {
		base += score(s)
	}
	best := test{feature: feature, gain: math.Inf(-1)}
	var used [128]bool
	for l := range table {
		for v, s := range table[l] {
			used[v] = used[v] || s.hessian > lessThanAny
		}
	}
	low := make([]sums, len(totals))
	for v := range 127 {
		if !used[v] {
			continue
		}
		gain, wide := -base, false
		for l, all := range totals {
			s := table[l][v]
			low[l].gradient += s.gradient
			low[l].hessian += s.hessian
			high := sums{all.gradient - low[l].gradient, max(0, all.hessian-low[l].hessian)}
			gain += score(low[l]) + score(high)
			wide = wide || low[l].hessian >= t.MinLeaf && high.hessian >= t.MinLeaf
		}
		if wide && gain > best.gain {
			best.threshold, best.gain = uint8(v), gain
		}
	}
	return best
}

// lessThanAny is less than the weight of a row, and more than what subtracting leaves of nothing.
const lessThanAny = 1e-9

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
