package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"
)

// pageOf is a page as it stands in a file, with a checksum or without.
func pageOf(body []byte, text int32, checksum bool) []byte {
	b := []byte{0x15, 0} // field 1, an int32: a data page
	field := func(n int32) { b = binary.AppendUvarint(append(b, 0x15), uint64(uint32(n<<1)^uint32(n>>31))) }
	field(text)
	field(int32(len(body)))
	if checksum {
		field(int32(crc32.ChecksumIEEE(body)))
	}
	return append(append(b, 0), body...)
}

// TestCheckPages finds any changed byte of a page that has a checksum.
func TestCheckPages(t *testing.T) {
	var file []byte
	for i := range 5 {
		file = append(file, pageOf(bytes.Repeat([]byte{byte(i)}, 100*i), int32(1000+i), true)...)
	}
	if largest, err := checkPages(bytes.NewReader(file), 0, int64(len(file))); err != nil || largest != 1004 {
		t.Fatalf("%d, %v", largest, err)
	}
	for at := len(file) - 400; at < len(file); at++ { // the last one's body
		damaged := bytes.Clone(file)
		damaged[at] ^= 1 << (at % 8)
		if _, err := checkPages(bytes.NewReader(damaged), 0, int64(len(damaged))); !errors.Is(err, errPage) {
			t.Errorf("byte %d was changed: %v", at, err)
		}
	}
	if _, err := checkPages(bytes.NewReader(file), 0, int64(len(file)-1)); err == nil {
		t.Error("a page goes beyond its column: no error")
	}
	if _, err := checkPages(bytes.NewReader(pageOf(nil, -5, false)), 0, 5); err == nil {
		t.Error("a page of a negative size: no error")
	}
}
