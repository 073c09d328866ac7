package model

import "math/big"

// LogRatio returns the natural logarithm of the float64 quotient freq/sum,
// correctly rounded, freq and sum > 0. math.Log may be off by one in the last
// place, which is enough to turn a tie between two segmentations.
func LogRatio(freq, sum float64) float64 {
	var m big.Float
	m.SetPrec(logPrec).SetFloat64(freq / sum)
	exp := m.MantExp(&m) // m in [0.5, 1)
	if m.Cmp(big.NewFloat(0.70710678)) < 0 {
		m.SetMantExp(&m, 1)
		exp--
	}
	// ln m = 2·artanh((m-1)/(m+1)), ln 2 = 2·artanh(1/3).
	one := new(big.Float).SetPrec(logPrec).SetInt64(1)
	num := new(big.Float).SetPrec(logPrec).Sub(&m, one)
	den := new(big.Float).SetPrec(logPrec).Add(&m, one)
	ln := twoArtanh(num.Quo(num, den))
	ln2 := twoArtanh(new(big.Float).SetPrec(logPrec).Quo(one, new(big.Float).SetPrec(logPrec).SetInt64(3)))
	ln2.Mul(ln2, new(big.Float).SetPrec(logPrec).SetInt64(int64(exp)))
	f, _ := ln.Add(ln, ln2).Float64()
	return f
}

// logPrec leaves more than a hundred bits beyond float64's 53: no quotient of
// two small integers comes closer than that to the middle of two float64.
const logPrec = 192

// twoArtanh returns 2·artanh(z) = 2(z + z³/3 + z⁵/5 + …) for |z| ≤ 1/3.
func twoArtanh(z *big.Float) *big.Float {
	sum := new(big.Float).SetPrec(logPrec)
	if z.Sign() == 0 {
		return sum
	}
	power := new(big.Float).SetPrec(logPrec).Set(z)
	square := new(big.Float).SetPrec(logPrec).Mul(z, z)
	term := new(big.Float).SetPrec(logPrec)
	for k := int64(1); ; k += 2 {
		term.Quo(power, new(big.Float).SetPrec(logPrec).SetInt64(k))
		if sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-logPrec {
			return sum.SetMantExp(sum, 1)
		}
		sum.Add(sum, term)
		power.Mul(power, square)
	}
}
