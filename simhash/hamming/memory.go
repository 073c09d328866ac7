package hamming

// makeLarge allocates a slice, in huge pages where that helps.
func makeLarge[T any](n int) []T {
	s := make([]T, n)
	adviseHuge(s)
	return s
}

func adviseHuge[T any](s []T) {}
