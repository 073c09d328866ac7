package page

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// randomTable is random features of rows, as train and as predict take them.
func randomTable(r *rand.Rand, features, rows int) (columns [][]uint8, flat []uint8, stride int) {
	stride = (rows + 7) &^ 7
	flat = make([]uint8, features*stride)
	for f := range features {
		c := flat[f*stride : f*stride+rows]
		for i := range c {
			if f%2 == 0 || r.IntN(5) == 0 { // every other feature is sparse
				c[i] = uint8(r.IntN(128))
			}
		}
		columns = append(columns, c)
	}
	return columns, flat, stride
}

// score is what predict says of a row, one test after the other.
func (m *forest) score(columns [][]uint8, row int) int32 {
	s := m.base
	for _, t := range m.trees {
		leaf := 0
		for d, f := range t.features {
			leaf <<= 1
			if columns[f][row] > t.thresholds[d] {
				leaf++
			}
		}
		s += int32(t.leaves[leaf])
	}
	return s
}

func TestPredict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows := rapid.IntRange(1, 40).Draw(t, "rows")
		columns, flat, stride := randomTable(r, 9, rows)
		m := &forest{base: int32(r.IntN(2000) - 1000)}
		for range rapid.IntRange(0, 5).Draw(t, "trees") {
			var tr tree
			for d := range treeDepth {
				tr.features[d], tr.thresholds[d] = uint16(r.IntN(9)), uint8(r.IntN(127))
			}
			for i := range tr.leaves {
				tr.leaves[i] = int16(r.IntN(1 << 16))
			}
			m.trees = append(m.trees, tr)
		}
		b, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := decodeForest(b, 9)
		if err != nil || !decoded.begins(m) || decoded.size() != m.size() {
			t.Fatalf("decoded: %v", err)
		}
		scores := make([]int32, stride)
		decoded.predict(scores, flat, stride)
		for i := range rows {
			if want := m.score(columns, i); scores[i] != want {
				t.Fatalf("row %d: %d, want %d", i, scores[i], want)
			}
		}
	})
}

func TestDecodeForest(t *testing.T) {
	b, err := (&forest{trees: make([]tree, 2)}).encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decodeForest(b, 1); err != nil {
		t.Error(err)
	}
	for name, damaged := range map[string][]byte{"empty": nil, "cut": b[:len(b)-1], "longer": append(b[:len(b):len(b)], 0)} {
		if _, err := decodeForest(damaged, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := decodeForest(b, 0); err == nil {
		t.Error("a feature that is not there: no error")
	}
	b[8+2*treeDepth] = 127
	if _, err := decodeForest(b, 1); err == nil {
		t.Error("a threshold that no feature passes: no error")
	}
}

// labeled is rows whose label is whether both of two features are large.
func labeled(n int) trainData {
	r := rand.New(rand.NewPCG(3, 3))
	columns, _, _ := randomTable(r, 6, n)
	d := trainData{Columns: columns}
	for i := range n {
		label := float32(0)
		if columns[0][i] > 60 && columns[2][i] > 30 {
			label = 1
		}
		d.Labels, d.Weights = append(d.Labels, label), append(d.Weights, 1)
	}
	return d
}

func TestTrain(t *testing.T) {
	d := labeled(4000)
	o := trainOptions{Trees: 30, Rate: 0.3, Features: 0.8, Rows: 0.7, Penalty: 1, MinLeaf: 1, Seed: 7}
	m := train(d, o)
	wrong := 0
	for i, label := range d.Labels {
		if (m.score(d.Columns, i) > 0) != (label == 1) {
			wrong++
		}
	}
	if wrong > 20 {
		t.Errorf("%d of %d rows are wrong", wrong, len(d.Labels))
	}
	if again := train(d, o); !again.begins(m) {
		t.Error("the same data gave another model")
	}
	o.Trees = 10
	if start := train(d, o); !m.begins(start) {
		t.Error("fewer trees are not the first of more")
	}
	o.Seed++
	if other := train(d, o); m.begins(other) {
		t.Error("another seed gave the same model")
	}
}
