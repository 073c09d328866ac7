package parallel

// Pass reports progress. It is called when a pass over total units begins; total
// is 0 if it is not known. It returns advance, which is called concurrently with
// the number of units just done. A Pass may be nil.
type Pass func(total int64, unit string) (advance func(n int64))

// Begin calls p, or returns a function that does nothing if p is nil.
func (p Pass) Begin(total int64, unit string) (advance func(n int64)) {
	if p == nil {
		return func(int64) {}
	}
	return p(total, unit)
}
