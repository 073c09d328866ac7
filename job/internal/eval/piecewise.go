package eval

import (
	"context"

	"github.com/neardup/neardup/job/dedup"
	"github.com/neardup/neardup/simhash"
)

// The limit of piecewise, by the characters of a text: pieceLong bits for one of
// piecesFrom characters or more, up to pieceShort below.
const (
	piecesFrom = 500
	pieceLong  = 3
	pieceShort = 10
	// A document of fewer words says nothing and is passed over.
	pieceWords = 3
)

// pieceLimit is the largest distance of a text of so many characters: in even
// steps from pieceShort, below 72, to pieceLong, from 500 on. The sources of the
// method give both ends and no steps (see job/docs/tricks.md).
func pieceLimit(characters int) int {
	return pieceShort - (pieceShort-pieceLong)*min(characters, piecesFrom)/piecesFrom
}

// piecewise is our fingerprint with a limit that depends on the length: two
// documents are the same within the limit of the longer one. So only texts below
// piecesFrom are compared beyond pieceLong, with each other: the tables of the
// larger distance hold no others.
func piecewise() Method {
	return baseline{"piecewise", false, func(ctx context.Context, l *Lab) ([]Found, error) {
		o := simhash.DefaultOptions()
		o.IgnoreBelow = pieceWords
		a, err := simhash.New(o)
		if err != nil {
			return nil, err
		}
		results := make([]simhash.Result, len(l.corpus.Documents))
		err = l.each(ctx, a, func(w *simhash.Workspace, i int) {
			d := &l.corpus.Documents[i]
			results[i] = w.Fingerprint(d.Title, d.Text)
		})
		if err != nil {
			return nil, err
		}
		var found []Found
		for _, k := range []int{pieceLong, pieceShort} {
			var documents []int32
			var prints []simhash.Fingerprint
			for i, r := range results {
				if r.Features >= pieceWords && pieceLimit(r.Length) >= min(k, pieceLong+1) {
					documents, prints = append(documents, int32(i)), append(prints, r.Fingerprint)
				}
			}
			pairs, err := dedup.Pairs(prints, k)
			if err != nil {
				return nil, err
			}
			for _, p := range pairs {
				a, b := documents[p.A], documents[p.B]
				limit := pieceLimit(max(results[a].Length, results[b].Length))
				if p.Distance <= limit && (k == pieceLong || p.Distance > pieceLong) {
					found = append(found, Found{Pair: pairOf(a, b), Score: 1 - float64(p.Distance)/64})
				}
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		return found, nil
	}}
}
