//go:build !amd64 || purego

package jieba

const hasFast = false

func solveFast(*solver) {}
