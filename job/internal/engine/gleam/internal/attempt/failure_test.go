//go:build linux

package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/rundir"
)

// What the submitting command decides on comes out of a failure that crossed the
// wire as it went in.
func TestFailureKeepsItsCause(t *testing.T) {
	cross := func(err error) *Failure {
		f, got := &Failure{Stage: "read", Task: 1, Host: "host3"}, new(Failure)
		f.Of(err)
		text, jerr := json.Marshal(f)
		if jerr == nil {
			jerr = json.Unmarshal(text, got)
		}
		if jerr != nil {
			t.Fatal(jerr)
		}
		return got
	}
	column := &data.NoColumn{Of: "id", Usual: []string{"doc_id", "id"}, Have: []string{"编号", "正文"}, Header: true}
	local := fmt.Errorf("csv: a.csv: %w", column)
	f, missing := cross(local), (*data.NoColumn)(nil)
	if err := f.Mistake(); !errors.As(err, &missing) || err.Error() != local.Error() {
		t.Errorf("got %v, want %v", err, local)
	} else if missing.Of != column.Of || missing.Header != column.Header || !slices.Equal(missing.Have, column.Have) {
		t.Errorf("got %+v, want %+v", missing, column)
	}
	if f := cross(fmt.Errorf("write: %w: 7 rows", rundir.ErrNotConserved)); !errors.Is(f, rundir.ErrNotConserved) || f.Mistake() != nil {
		t.Errorf("%v is not %v", f, rundir.ErrNotConserved)
	}
	if f := cross(Lost("a process")); !f.Died || f.Mistake() != nil || errors.As(error(f), &missing) || errors.Is(f, rundir.ErrNotConserved) {
		t.Errorf("a death: %+v", f)
	}
}
