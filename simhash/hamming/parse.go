package hamming

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseRegions reads the regions of a plan as [Plan.String] writes them:
// bits/errors/agree or bits/errors/agree/lead, joined by +, as in
// "32/1/2+32/1/2". An empty string, or
// "all pairs", is a plan without a region.
func ParseRegions(s string) ([]Region, error) {
	if s == "" || s == "all pairs" {
		return nil, nil
	}
	var regions []Region
	for part := range strings.SplitSeq(s, "+") {
		fields := strings.Split(part, "/")
		if len(fields) != 3 && len(fields) != 4 {
			return nil, fmt.Errorf("hamming: region %q: write bits/errors/agree or bits/errors/agree/lead, like 32/1/2", part)
		}
		var v [4]int
		for i, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil || n < 0 || n > 128 {
				return nil, fmt.Errorf("hamming: region %q: write bits/errors/agree or bits/errors/agree/lead, like 32/1/2", part)
			}
			v[i] = n
		}
		regions = append(regions, Region{Bits: v[0], Errors: v[1], Agree: v[2], Lead: v[3]})
	}
	return regions, nil
}
