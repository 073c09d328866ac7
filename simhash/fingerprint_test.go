package simhash

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestFingerprintProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]int{32, 64, 128}).Draw(t, "bits")
		a, b := drawFingerprint(t, bits, "a"), drawFingerprint(t, bits, "b")
		number := func(f Fingerprint) *big.Int {
			n := new(big.Int).SetUint64(f.Hi)
			return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(f.Lo))
		}
		h := 0
		for _, digit := range new(big.Int).Xor(number(a), number(b)).Text(2) {
			h += int(digit - '0')
		}
		if got := Distance(a, b); got != h {
			t.Fatalf("distance %d, want %d", got, h)
		}
		if got := Similarity(a, b, bits); got != 1-float64(h)/float64(bits) {
			t.Fatalf("similarity %v at distance %d", got, h)
		}
		s := a.Hex(bits)
		if got, ok := new(big.Int).SetString(s, 16); !ok || got.Cmp(number(a)) != 0 || len(s) != bits/4 {
			t.Fatalf("%+v is written %q", a, s)
		}
	})
}
