package decision

import (
	"bytes"
	"encoding/binary"

	"github.com/neardup/neardup/job/internal/state"
)

// SiteBytes is the size of a record of a cluster's site: the document that the
// cluster is counted by (Decision.Group), and a hash of the site's name.
const SiteBytes = state.NumberBytes + 8

const (
	kindSites  = "neardup sites 1"
	countBytes = state.NumberBytes + 4
)

// WriteSites writes, for each cluster that a document of a split identifies, the
// number of its sites. records are consecutive, of SiteBytes each, and ascending.
func WriteSites(path string, records []byte) error {
	var out, last []byte
	count := uint32(0)
	flush := func() {
		if last != nil {
			out = binary.LittleEndian.AppendUint32(append(out, last[:state.NumberBytes]...), count)
		}
	}
	for ; len(records) >= SiteBytes; records = records[SiteBytes:] {
		record := records[:SiteBytes]
		switch {
		case bytes.Equal(record, last):
			continue
		case last != nil && bytes.Equal(record[:state.NumberBytes], last[:state.NumberBytes]):
			count++
		default:
			flush()
			count = 1
		}
		last = record
	}
	flush()
	return state.Write(path, kindSites, out)
}

// Sites tells how many sites the clusters of a split have.
type Sites struct {
	left []byte // of the file
}

// ReadSites reads what WriteSites wrote.
func ReadSites(path string) (Sites, error) {
	left, err := state.Read(path, kindSites)
	return Sites{left}, err
}

// Of returns the number of sites of the cluster that doc identifies. Call it in
// ascending order of doc.
func (s *Sites) Of(doc uint64) int32 {
	for len(s.left) >= countBytes && state.Number(s.left) < doc {
		s.left = s.left[countBytes:]
	}
	if len(s.left) < countBytes || state.Number(s.left) != doc {
		return 0
	}
	return int32(binary.LittleEndian.Uint32(s.left[state.NumberBytes:])) //nolint:gosec // documents are fewer
}
