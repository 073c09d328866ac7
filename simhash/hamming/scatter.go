package hamming

import "unsafe"

// A lineWriter writes to many places of a large slice, one element after the
// other at each. Elements wait in a line of each place until it is full and
// goes to memory as a whole, past the caches: a plain store would first read
// the line it changes, and each place would hold on to a line of the cache.
type lineWriter[T any] struct {
	out   []T
	lines []T            // a cache line of each place
	base  unsafe.Pointer // of lines
	first []uint32       // of each place, where it begins
}

const cacheLine = 64

// streamMin is the size in bytes from which a slice is written by lines; less
// stays in the cache.
const streamMin = 8 << 20

// newLineWriter returns a lineWriter to out that begins at the places at.
func newLineWriter[T any](out []T, at []uint32) *lineWriter[T] {
	per := cacheLine / int(unsafe.Sizeof(*new(T)))
	lines := make([]T, (len(at)+1)*per)
	skip := int(-uintptr(unsafe.Pointer(&lines[0])) & (cacheLine - 1) / unsafe.Sizeof(*new(T)))
	lines = lines[skip : skip+len(at)*per]
	return &lineWriter[T]{out, lines, unsafe.Pointer(&lines[0]), append([]uint32(nil), at...)}
}

// put adds x to place b, where it becomes element at of out. If it reports
// true, the line has to be written.
func (w *lineWriter[T]) put(b uint64, at uint32, x T) bool {
	one := unsafe.Sizeof(x)
	*(*T)(unsafe.Add(w.base, uintptr(b)*cacheLine+uintptr(at)*one&(cacheLine-1))) = x
	return uintptr(at+1)*one&(cacheLine-1) == 0
}

// write writes the line of place b, whose last element is at.
func (w *lineWriter[T]) write(b uint64, at uint32) {
	per := uint32(cacheLine / unsafe.Sizeof(*new(T)))
	if begin := at - (per - 1); begin >= w.first[b] {
		stream(unsafe.Pointer(&w.out[begin]), unsafe.Add(w.base, b*cacheLine))
		return
	}
	w.flush(b, at+1)
}

// flush writes what waits at place b, which ends before at.
func (w *lineWriter[T]) flush(b uint64, at uint32) {
	per := uint32(cacheLine / unsafe.Sizeof(*new(T)))
	line := w.lines[b*uint64(per) : (b+1)*uint64(per)]
	from := max((at-1)&^(per-1), w.first[b])
	for i := from; i < at; i++ {
		w.out[i] = line[i&(per-1)]
	}
}

// close writes all that waits; at are the ends of the places.
func (w *lineWriter[T]) close(at []uint32) {
	for b, end := range at {
		if end > w.first[b] {
			w.flush(uint64(b), end)
		}
	}
	streamed()
}

// streams says whether out can be written by lines.
func streams[T any](out []T) bool {
	return haveStream && uintptr(len(out))*unsafe.Sizeof(*new(T)) >= streamMin &&
		uintptr(unsafe.Pointer(&out[0]))%cacheLine == 0
}
