package gleam

import (
	"context"
	"runtime"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/engine"
	"github.com/neardup/neardup/job/engine/local"
	"github.com/neardup/neardup/reducer"
)

// Earlier streams the library in this process.
func (e *Engine) Earlier(ctx context.Context, job *engine.Job, tonight *engine.Tonight, l *library.Library, splits []library.Split, found *reducer.Earliest) error {
	return local.New(runtime.GOMAXPROCS(0)).Earlier(ctx, job, tonight, l, splits, found)
}
