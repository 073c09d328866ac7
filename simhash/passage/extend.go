package passage

// reach is how far an alignment extends from where it begins.
type reach struct {
	doc, item int // letters of each text
	equal     int // aligned pairs of equal letters
	first     int // such pairs before the first edit
	run       int // the longest run of such pairs without an edit
}

const (
	// The score of an alignment is x + y − editCost·d, where x and y are the letters
	// of the two texts that it covers and d those that it leaves out on either side.
	// Unrelated texts, aligned at their best, agree in about half of their letters.
	// With this editCost their score falls by .6 a letter.
	editCost = 3

	// mostDrop is how far the score may fall below its best before an alignment ends.
	// So it continues past some ten letters that were replaced, but not past fifty
	// letters of nonsense.
	mostDrop = 60

	// mostEdits is how many letters an alignment leaves out before it ends.
	mostEdits = 4096
)

// A frontier is the furthest point that is reached on a diagonal x − y with the
// current number of edits.
type frontier struct {
	x, run int // letters of the document, and the longest run on the way there
}

const unreached = -1 << 30

// aligner aligns two texts from a point on by the greedy algorithm of Zhang, Schwartz,
// Wagner and Miller (2000). For 0, 1, 2, … edits it finds the furthest point on each
// diagonal: one edit from a neighbouring diagonal, then on as far as letters are
// equal. It gives up diagonals that fall far behind the best score, so similar texts
// take time proportional to their length. It reuses its buffers, so only one goroutine
// may use it at a time.
type aligner struct{ now, before []frontier }

// extend aligns doc and item from doc[d] and item[i] on, forwards if step is 1,
// backwards if it is −1. It reads at most docs letters of doc and items of item, and
// returns the reach of the best score.
func (a *aligner) extend(doc, item []uint32, d, i, docs, items, step int) (best reach) {
	if len(a.now) == 0 {
		a.now, a.before = make([]frontier, 2*mostEdits+3), make([]frontier, 2*mostEdits+3)
	}
	const zero = mostEdits + 1 // the place of the diagonal 0
	score, lo, hi := 0, 0, 0
	for edits := 0; edits <= mostEdits && lo <= hi; edits++ {
		from, to := hi+1, lo-1 // the diagonals that go on
		for k := lo; k <= hi; k++ {
			f := frontier{}
			if edits > 0 {
				f = a.step(zero+k, k)
			}
			x, y := f.x, f.x-k
			if x > docs || y > items || x < 0 || y < 0 {
				a.now[zero+k].x = unreached
				continue
			}
			began := x
			for x < docs && y < items && doc[d+step*x] == item[i+step*y] {
				x++
				y++
			}
			f = frontier{x, max(f.run, x-began)}
			a.now[zero+k] = f
			if edits == 0 {
				best.first = x
			}
			s := x + y - editCost*edits
			if s > score {
				score = s
				best.doc, best.item, best.equal, best.run = x, y, (x+y-edits)/2, f.run
			}
			if s < score-mostDrop {
				a.now[zero+k].x = unreached
				continue
			}
			from, to = min(from, k), max(to, k)
			if x == docs && y == items {
				return best
			}
		}
		if from > to {
			return best
		}
		// The next round reads these diagonals beside those that are alive.
		for _, k := range []int{from - 2, from - 1, to + 1, to + 2} {
			if at := zero + k; at >= 0 && at < len(a.now) {
				a.now[at].x = unreached
			}
		}
		a.now, a.before = a.before, a.now
		lo, hi = max(from-1, -mostEdits), min(to+1, mostEdits)
	}
	return best
}

// step returns the furthest point on diagonal k that one more edit reaches: it leaves
// out a letter of the document or one of the item.
func (a *aligner) step(at, k int) frontier {
	over, under := a.before[at-1], a.before[at+1]
	if over.x++; over.x > under.x {
		return over
	}
	return under
}
