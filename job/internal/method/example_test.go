package method_test

import (
	"fmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
)

// One preset goes by the distance, the other verifies pairs too.
func Example() {
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced} {
		c, err := config.Default().WithPreset(preset)
		if err != nil {
			fmt.Println(err)
			return
		}
		rule := method.Rule(c.Match)
		fmt.Printf("%s: distance %d, bands %v, verified %v, the distance is proof %v\n", preset, rule.K, rule.Bands, rule.Verified,
			method.Proves(&c.Match, data.Evidence{Reason: data.ByDistance}))
	}
	// Output:
	// classic: distance 3, bands false, verified false, the distance is proof true
	// balanced: distance 3, bands true, verified true, the distance is proof true
}
