package simhash

import (
	"math/big"
	"strings"
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
		for _, s := range []string{a.Hex(bits), a.String(), strings.ToUpper(a.Hex(bits))} {
			if got, err := Parse(s); err != nil || got != a {
				t.Fatalf("%q is read as %v, %v", s, got, err)
			}
		}
		if got := a.Hex(bits); len(got) != bits/4 {
			t.Fatalf("%q has not %d digits", got, bits/4)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "00000000", "1f3c00420000abcd", "+f3c00420000abcd", "1f3c00420000abcd1f3c00420000abcd", "0x3c0042"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			return
		}
		if hex := got.Hex(4 * len(s)); !strings.EqualFold(hex, s) {
			t.Fatalf("%q is read as %s", s, hex)
		}
	})
}

func TestLanes(t *testing.T) {
	for l, want := range map[Lane]string{LaneNormal: "normal", LaneShort: "short", LaneEmpty: "empty", 9: "Lane(9)"} {
		if got := l.String(); got != want {
			t.Errorf("lane is written %q, want %q", got, want)
		}
	}
}
