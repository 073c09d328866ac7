//go:build linux

package attempt

import "testing"

func TestSame(t *testing.T) {
	sum, err := ProgramSum()
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Spec{Binary: sum}).Same(); err != nil {
		t.Error(err)
	}
	if (&Spec{Binary: sum + 1}).Same() == nil {
		t.Error("another build is taken for this one")
	}
}
