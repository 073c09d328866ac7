package shuffle

import (
	"context"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/columns"
)

// Views joins documents of fingerprints of so many bits, at most 64, by their views:
// it calls emit as [Memory.Pairs] does, with their indices as places.
func Views(ctx context.Context, rule mapper.Rule, bits int, views []data.View, o Options, emit func(worker int, p data.Pair)) error {
	tiers := rule.Tiers()
	sizes := make([]uint64, len(tiers))
	for i := range views {
		tiers.Count(sizes, &views[i])
	}
	if err := tiers.Choose(bits, sizes); err != nil {
		return err
	}
	units, normal, postings := mapper.NewUnits(true), []uint32{}, []uint64{}
	for i := range views {
		units.Append(&views[i])
		if views[i].Normal {
			normal, postings = append(normal, uint32(i)), append(postings, mapper.Segments[uint64](&views[i]))
		}
	}
	lists, err := columns.Collapse(postings, bits, 0)
	if err != nil {
		return err
	}
	join := &Memory[uint64]{Rule: rule, Tiers: tiers, Lists: lists, Normal: normal, Views: units, Options: o}
	return join.Pairs(ctx, emit)
}
