package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	maxWindow     = 1 << 31  // of zstd --long=31
	maxDictionary = 16 << 20 // bytes; those in use have some hundred KiB
)

// dictionaryMagic starts the skippable frame that holds the dictionary of a
// .warc.zst, https://iipc.github.io/warc-specifications/specifications/warc-zstd/.
var dictionaryMagic = []byte{0x5d, 0x2a, 0x4d, 0x18}

// ReadDictionary reads the dictionary frame that a .warc.zst may start with,
// and returns its dictionary, decompressed. Without one it reads nothing and
// returns nil. in needs a buffer of 12 bytes or more.
func ReadDictionary(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(12)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(head) < 12 || !bytes.Equal(head[:4], dictionaryMagic) {
		return nil, nil
	}
	compressed := bytes.Equal(head[8:], zstdMagic)
	if !compressed && !bytes.Equal(head[8:], []byte{0x37, 0xa4, 0x30, 0xec}) { // RFC 8878 section 5
		return nil, nil // a skippable frame of another kind
	}
	size := binary.LittleEndian.Uint32(head[4:])
	if size > maxDictionary {
		return nil, fmt.Errorf("zstd: a dictionary of %d bytes, more than %d", size, maxDictionary)
	}
	if _, err := in.Discard(8); err != nil {
		return nil, err
	}
	var dictionary bytes.Buffer // grows with what there is, not with what is claimed
	if _, err := io.CopyN(&dictionary, in, int64(size)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("zstd: dictionary: %w", err)
	}
	if !compressed {
		return dictionary.Bytes(), nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDictionary))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	defer z.Close()
	plain, err := z.DecodeAll(dictionary.Bytes(), nil)
	if err != nil {
		return nil, fmt.Errorf("zstd: dictionary: %w", err)
	}
	return plain, nil
}

// NewZstd returns a decoder that decompresses where it is read, without
// goroutines. dictionary may be nil; frames whose window is larger than
// window bytes are an error, 0 allows all that zstd writes.
func NewZstd(src io.Reader, dictionary []byte, window uint64) (*zstd.Decoder, error) {
	if window == 0 || window > maxWindow {
		window = maxWindow
	}
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window), zstd.WithDecoderLowmem(true)}
	if dictionary != nil {
		options = append(options, zstd.WithDecoderDicts(dictionary))
	}
	z, err := zstd.NewReader(src, options...)
	if err != nil && dictionary != nil {
		return nil, fmt.Errorf("zstd: dictionary: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return z, nil
}
