package passage

// A gram is the shortest stretch that ends at a letter and weighs gramWeight or
// more: 24 letters of an alphabet, or eight characters of Chinese, Japanese or
// Korean, which say about as much.
const (
	gramWeight = 24
	heaviest   = 3 // letter
)

// Weight is what a letter, a character plus 1, weighs: 3 of the scripts of East
// Asia, 1 of all others.
func Weight(letter uint32) int {
	const kana, hangulEnd, compat, compatEnd, supplementary = 0x3040, 0xd7b0, 0xf900, 0xfb00, 0x20000
	c := letter - 1
	if c-kana < hangulEnd-kana || c-compat < compatEnd-compat || c >= supplementary {
		return heaviest
	}
	return 1
}

// WeightOf is what letters weigh together.
func WeightOf(letters []uint32) (weight int) {
	for _, c := range letters {
		weight += Weight(c)
	}
	return weight
}

// base is that of the polynomial that a gram's hash begins as: 2⁶⁴ over the golden
// ratio, made odd.
const base = 0x9e3779b97f4a7c15

// powers are base^i.
var powers = func() (p [gramWeight + 1]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * base
	}
	return p
}()

// roller hashes the grams of a text, one that ends at each letter. The hash of the
// letters a…z is made of z + y·base + … + a·baseⁿ⁻¹ modulo 2⁶⁴, which follows from
// that of the gram before: it is multiplied, a letter comes and letters go.
type roller struct {
	letters     []uint32
	first, next int // the gram's first letter, and the one after its last
	weight      int
	hash        uint64
}

// fill writes the hashes of the next grams, one for each letter, to dst, 0 where no
// gram ends, and returns how many. It is 0 at the end.
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

// mix spreads a polynomial over all bits, as its low ones come from the letters' low
// bits alone. It is never 0.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x*0xd6e8feb86659fd93 | 1
}

// gramAt returns the gram that ends with letter end, none if there is none.
func gramAt(letters []uint32, end int) []uint32 {
	weight := 0
	for first := end; first >= 0; first-- {
		if weight += Weight(letters[first]); weight >= gramWeight {
			return letters[first : end+1]
		}
	}
	return nil
}

// leastKinds is how many different letters a gram has to have: others, rows of
// zeros and of dashes written as letters, stand everywhere.
const leastKinds = 5

// plain reports whether a gram is of so few different letters that it is nobody's.
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
