package warc

import (
	"bytes"
	"crypto/md5"  //nolint:gosec // what archives are written with
	"crypto/sha1" //nolint:gosec // the same
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"hash"
	"strings"
)

var errDigest = errors.New("the block is not what its WARC-Block-Digest says: its bytes were changed: fetch the file again")

// verify compares the record's block, all of which was read, with its
// WARC-Block-Digest, https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/#warc-block-digest.
// known is false where there is none, or one of an algorithm that is not known.
func (r *record) verify() (known bool, err error) {
	algorithm, want, ok := bytes.Cut(r.header.get("WARC-Block-Digest"), []byte{':'})
	if !ok {
		return false, nil
	}
	var sum hash.Hash
	switch strings.ReplaceAll(strings.ToLower(string(algorithm)), "-", "") {
	case "md5":
		sum = md5.New() //nolint:gosec // see above
	case "sha1":
		sum = sha1.New() //nolint:gosec // see above
	case "sha256":
		sum = sha256.New()
	case "sha512":
		sum = sha512.New()
	default:
		return false, nil
	}
	_, _ = sum.Write(r.block) // it cannot fail
	is := sum.Sum(nil)
	// SHA-1 stands in base 32 by custom; others do in hexadecimal.
	for _, text := range []string{base32.StdEncoding.EncodeToString(is), hex.EncodeToString(is)} {
		if equalFold(bytes.TrimRight(want, "="), strings.TrimRight(text, "=")) {
			return true, nil
		}
	}
	return false, errDigest
}
