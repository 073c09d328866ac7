package sorted_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/neardup/neardup/data/lookup/lookuptest"
	"github.com/neardup/neardup/data/lookup/sorted"
)

// TestLookupScale measures look-ups among as many documents as
// NEARDUP_LOOKUP_SCALE says, kept in the folder NEARDUP_LOOKUP_DIR.
// NEARDUP_LOOKUP_PROBE is another cost of a probe.
func TestLookupScale(t *testing.T) {
	scale := lookuptest.Scaled(t)
	s, err := sorted.Open(os.Getenv("NEARDUP_LOOKUP_DIR"), lookuptest.ScaleSchema())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if cost, err := strconv.Atoi(os.Getenv("NEARDUP_LOOKUP_PROBE")); err == nil {
		s.SetProbeCost(cost)
	}
	lookuptest.Scale(t, s, scale)
	t.Logf("%d bytes a document", s.Bytes()/int64(scale))
}
