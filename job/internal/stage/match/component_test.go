package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state/pairs"
)

// What pairs connect comes together, in the order of the pairs, and each pair once.
func TestByComponent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var open []pairs.Pair
		for range r.IntN(60) {
			a := r.Uint64N(40)
			open = append(open, pairs.Pair{Pair: data.Pair{A: a, B: a + 1 + r.Uint64N(4)}})
		}
		slices.SortFunc(open, pairs.Compare)
		of := map[uint64]int{} // the component of a document, by flooding
		for i := range open {
			of[open[i].A], of[open[i].B] = int(open[i].A), int(open[i].B)
		}
		for changed := true; changed; {
			changed = false
			for _, p := range open {
				if least := min(of[p.A], of[p.B]); of[p.A] != least || of[p.B] != least {
					of[p.A], of[p.B], changed = least, least, true
				}
			}
		}
		var want []uint32
		for i := range open {
			want = append(want, uint32(i))
		}
		slices.SortStableFunc(want, func(i, j uint32) int { return of[open[i].A] - of[open[j].A] })
		if got := byComponent(open); !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", open, got, want)
		}
	}
}
