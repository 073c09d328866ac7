//go:build !purego

package jieba

const hasFast = true

// solveFast is Cutter.look and Cutter.solve.
//
//go:noescape
func solveFast(s *solver)
