package wal

import "bytes"

// FileSystem is what logs stand in; OnDisk has them stand in another one, until it
// is called again.
type FileSystem = fileSystem

func OnDisk(other FileSystem) (was FileSystem) {
	was, disk = disk, other
	return was
}

// ReadBytes reads a file of these bytes as Open does, or, if sealed, as Read does
// that passes over damage; end is where what Open keeps ends.
func ReadBytes(b []byte, sealed bool, yield func(record []byte) error) (end int64, err error) {
	r, err := readHeader(bytes.NewReader(b), "bytes", int64(len(b)))
	if err != nil {
		return 0, err
	}
	if r.sealed = sealed; sealed {
		r.damaged = func(error) {}
	}
	for r.next() {
		if err := r.each(yield); err != nil {
			return r.at, err
		}
	}
	return r.at, r.err
}
