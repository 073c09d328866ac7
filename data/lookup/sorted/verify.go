package sorted

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Verified is what Verify found.
type Verified struct {
	Files   int      `json:"files"`
	Bytes   int64    `json:"bytes"`
	Damaged []string `json:"damaged"` // a line each, the file first
}

// Is reports whether the folder at dir holds parts of a store.
func Is(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) == extension })
}

// Verify reads all of the store at dir, of whatever schema, and says of which
// files bytes or name are not what was written. It changes nothing: whoever opens
// the store makes such files again.
func Verify(ctx context.Context, dir string) (v Verified, err error) {
	v.Damaged = []string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return v, fmt.Errorf("lookup: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if !ok {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err != nil {
			return v, fmt.Errorf("lookup: %w", err)
		}
		v.Files++
		v.Bytes += int64(len(text))
		if wrong := sound(text, name); wrong != "" {
			v.Damaged = append(v.Damaged, fmt.Sprintf("%s: %s: remove the file, and the next look-up makes it again", path, wrong))
		}
		if ctx.Err() != nil {
			return v, ctx.Err()
		}
	}
	return v, nil
}

// sound says what is wrong with the file of a part of that name; "": nothing.
func sound(b []byte, name string) string {
	begins := head(name)
	if len(b) < len(begins)+16 || string(b[:len(magic)]) != magic {
		return "it is no index of this version, or not whole"
	}
	size := binary.LittleEndian.Uint64(b[len(b)-8:])
	if size < 16 || size > uint64(len(b)-8) || size%8 != 0 {
		return "it is not whole"
	}
	end := uint64(len(b)-8) - size
	tail := b[end : len(b)-8]
	blocks := (end + blockBytes - 1) / blockBytes
	if xxh3.Hash(tail[:len(tail)-8]) != binary.LittleEndian.Uint64(tail[len(tail)-8:]) || 8*blocks > uint64(len(tail)-8) {
		return "its checksums are damaged"
	}
	sums := tail[uint64(len(tail)-8)-8*blocks:]
	for i := range blocks {
		if xxh3.Hash(b[i*blockBytes:min((i+1)*blockBytes, end)]) != binary.LittleEndian.Uint64(sums[8*i:]) {
			return fmt.Sprintf("it is damaged at offset %d", i*blockBytes)
		}
	}
	if string(b[:len(begins)]) != string(begins) {
		return "it was written under another name"
	}
	return ""
}
