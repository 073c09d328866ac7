package redis_test

import (
	"context"
	"os"
	"testing"

	"github.com/neardup/neardup/data/lookup/lookuptest"
	"github.com/neardup/neardup/data/lookup/redis"
)

// TestLookupScale measures look-ups among as many documents as
// NEARDUP_LOOKUP_SCALE says, in the server at NEARDUP_LOOKUP_REDIS.
func TestLookupScale(t *testing.T) {
	scale := lookuptest.Scaled(t)
	s, err := redis.Open(context.Background(), lookuptest.ScaleSchema(), redis.Options{Address: os.Getenv("NEARDUP_LOOKUP_REDIS")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lookuptest.Scale(t, s, scale)
}
