package hamming

import (
	"sync"
	"unsafe"
)

// A Memory keeps the large slices of one Set for the next one. Fresh pages
// from the system cost about a nanosecond a byte, which is a fifth of the time
// of [Best] for k = 3; a caller that joins again and again saves that by
// handing the same Memory over in [Options]. The zero value is ready for use.
//
// A Set, its Reducers and its Matches are valid until their Memory is given to
// the next Collapse or Best: before that, no call may be under way with them.
type Memory struct {
	mu         sync.Mutex
	free, used [][]uint64
}

// recycle makes the memory of the last Set free again, and gives up what that
// did not need.
func (m *Memory) recycle() {
	if m != nil {
		m.mu.Lock()
		m.free, m.used = m.used, nil
		m.mu.Unlock()
	}
}

// take returns a slice whose elements may have any value.
func take[T any](m *Memory, n int) []T {
	size := unsafe.Sizeof(*new(T))
	words := int((uintptr(n)*size + 7) / 8)
	if m == nil || words < hugeMin/64 {
		return makeLarge[T](n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	best := -1
	for i, s := range m.free {
		if len(s) >= words && len(s)/2 <= words && (best < 0 || len(s) < len(m.free[best])) {
			best = i
		}
	}
	var s []uint64
	if best < 0 {
		s = makeLarge[uint64](words + words/64)
	} else {
		s = m.free[best]
		m.free[best] = m.free[len(m.free)-1]
		m.free = m.free[:len(m.free)-1]
	}
	m.used = append(m.used, s)
	return unsafe.Slice((*T)(unsafe.Pointer(&s[0])), n)
}

// takeZero returns a slice of zeros.
func takeZero[T any](m *Memory, n int) []T {
	s := take[T](m, n)
	if m != nil {
		clear(s)
	}
	return s
}

// makeLarge allocates a slice, in huge pages where the system has them: a
// first touch then costs a tenth, and scattering misses the TLB less.
func makeLarge[T any](n int) []T {
	s := make([]T, n)
	if size := uintptr(n) * unsafe.Sizeof(*new(T)); size >= hugeMin {
		adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size))
	}
	return s
}

// hugeMin is the size from which huge pages are asked for.
const hugeMin = 4 << 20
