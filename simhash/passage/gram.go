package passage

// A gram is the shortest stretch that ends at a letter and weighs gramWeight or
// more: 24 letters of an alphabet, or eight characters of Chinese, Japanese or
// Korean, which say about as much.
const (
	gramWeight = 24
	heaviest   = 3 // letter
)

// Weight returns the weight of a letter (a code point plus 1): 3 in the scripts of
// East Asia, 1 in all others.
func Weight(letter uint32) int {
	const kana, hangulEnd, compat, compatEnd, supplementary = 0x3040, 0xd7b0, 0xf900, 0xfb00, 0x20000
	c := letter - 1
	if c-kana < hangulEnd-kana || c-compat < compatEnd-compat || c >= supplementary {
		return heaviest
	}
	return 1
}

// WeightOf returns the sum of the letters' weights.
func WeightOf(letters []uint32) (weight int) {
	for _, c := range letters {
		weight += Weight(c)
	}
	return weight
}

// base is the base of the polynomial hash of a gram: 2⁶⁴ over the golden ratio, made
// odd.
const base = 0x9e3779b97f4a7c15

// powers are base^i.
var powers = func() (p [gramWeight + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * base
	}
	return p
}()

// roller hashes the grams of a text, one for each letter, at which it ends. The hash
// of n letters a…z is mix of the polynomial z + y·base + … + a·baseⁿ⁻¹ modulo 2⁶⁴.
// The polynomial rolls: multiplied by base, plus the letter that comes, minus the
// letters that leave, each times its power of base.
type roller struct {
	letters     []uint32
	first, next int // the gram's first letter, and the one after its last
	weight      int
	hash        uint64
}

// fill writes the hashes of the grams that end at the next letters to dst, 0 for a
// letter at which none ends. It returns how many it wrote, 0 at the end of the text.
func (r *roller) fill(dst []uint64) (n int) {
	n = min(len(dst), len(r.letters)-r.next)
	first, weight, hash := r.first, r.weight, r.hash
	for i, c := range r.letters[r.next : r.next+n] {
		hash = hash*base + uint64(c)
		weight += Weight(c)
		for {
			leaves := r.letters[first]
			w := Weight(leaves)
			if weight-w < gramWeight {
				break
			}
			hash -= uint64(leaves) * powers[r.next+i-first]
			weight -= w
			first++
		}
		dst[i] = 0
		if weight >= gramWeight {
			dst[i] = mix(hash)
		}
	}
	r.first, r.weight, r.hash = first, weight, hash
	r.next += n
	return n
}

// mix spreads a polynomial over all bits, since its low bits depend on the letters'
// low bits alone. The result is never 0.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x*0xd6e8feb86659fd93 | 1
}

// gramAt returns the gram that ends with letters[end], or nil if there is none.
func gramAt(letters []uint32, end int) []uint32 {
	weight := 0
	for first := end; first >= 0; first-- {
		if weight += Weight(letters[first]); weight >= gramWeight {
			return letters[first : end+1]
		}
	}
	return nil
}

// leastKinds is how many different letters a gram needs to be indexed. Others, such as
// rows of zeros or of dashes written as letters, occur everywhere.
const leastKinds = 5

// plain reports whether a gram has fewer than leastKinds different letters.
func plain(gram []uint32) bool {
	var seen [leastKinds]uint32
	n := 0
next:
	for _, c := range gram {
		for _, s := range seen[:n] {
			if s == c {
				continue next
			}
		}
		if seen[n] = c; n == leastKinds-1 {
			return false
		}
		n++
	}
	return true
}
