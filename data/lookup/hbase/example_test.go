package hbase_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/hbase"
)

func Example() {
	_, err := hbase.Open(context.Background(), lookup.Schema{Bits: 7}, "127.0.0.1:8080", "neardup")
	fmt.Println(err)
	// Output: lookup: fingerprints of 7 bits: write 32, 64 or 128
}
