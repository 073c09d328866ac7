package redis_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/redis"
)

func Example() {
	_, err := redis.Open(context.Background(), lookup.Schema{Bits: 7}, redis.Options{})
	fmt.Println(err)
	// Output: lookup: fingerprints of 7 bits: write 32, 64 or 128
}
