package plan

import (
	"context"

	"github.com/neardup/neardup/job/internal/config"
)

// What the tests look at.
var ErrNothing = errNothing

// Sample is a plan as far as a sample is read.
func Sample(ctx context.Context, cfg config.Config, inputs []string, o Options) (*Plan, error) {
	s, err := sample(ctx, cfg, inputs, o)
	if err != nil {
		return nil, err
	}
	return s.plan, nil
}
