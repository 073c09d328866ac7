package passage

// reach is how far an alignment reaches from where it begins.
type reach struct {
	doc, item int // letters of each
	equal     int // pairs of letters that are the same
	first     int // of them before the first edit
	run       int // the longest run without an edit
}

const (
	// An alignment that has x and y letters of the two texts and d letters left out
	// on one side or the other has the score x + y − 3d. Texts that have nothing to
	// do with each other agree, aligned at their best, in about half of their
	// letters: their score falls by .6 a letter. editCost was chosen so.
	editCost = 3

	// An alignment ends where its score is so far below its best: it goes on past
	// some ten letters that were exchanged for others, and past fifty letters of
	// nonsense no more.
	mostDrop = 60

	// mostEdits is how many letters an alignment leaves out before it ends.
	mostEdits = 4096
)

// A frontier is the furthest point that is reached on a diagonal, x − y, with so
// many edits.
type frontier struct {
	x, run int // letters of the document, and the longest run on the way there
}

const unreached = -1 << 30

// aligner aligns two texts from a point on, as Zhang, Schwartz, Wagner and Miller (2000)
// do: with each further edit, all diagonals go on as far as letters are equal, and
// those that fall far behind the best score are given up. Like texts take time in
// proportion to their length. It holds buffers.
type aligner struct{ now, before []frontier }

// extend aligns doc and item from a point on, forwards where step is 1, backwards
// where it is −1: the first letters are doc[d] and item[i], of which so many may be
// read.
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
		// Next to what is alive lies what the next edit may read.
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

// step is the furthest point that one more edit reaches on a diagonal: a letter of
// the document alone, or one of the item.
func (a *aligner) step(at, k int) frontier {
	over, under := a.before[at-1], a.before[at+1]
	if over.x++; over.x > under.x {
		return over
	}
	return under
}
