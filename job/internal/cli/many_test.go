package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Enough fingerprints for every path that several workers take, through the
// program as it is linked: of a generic function that several packages use the
// linker takes one of their compilations, which need not be the one that the
// tests of its own package run.
func TestManyFingerprints(t *testing.T) {
	if testing.Short() {
		t.Skip("150,000 documents: not in the short form")
	}
	const n = 150_000 // several workers deal more than 65,536 values
	r := rand.New(rand.NewPCG(5, 5))
	var rows bytes.Buffer
	rows.WriteString("id,fingerprint\n")
	last := uint64(0)
	for i := range n {
		if i%10 > 0 {
			last = r.Uint64()
		}
		rows.WriteString(strconv.Itoa(i) + "," + strconv.FormatUint(last, 10) + "\n")
	}
	in := filepath.Join(t.TempDir(), "prints.csv")
	if err := os.WriteFile(in, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, distance := range []string{"3", "12"} {
		var out, told bytes.Buffer
		args := []string{"match", in, "--out", filepath.Join(t.TempDir(), "out"), "--distance", distance, "--workers", "2"}
		if code := Main(args, os.Stdin, &out, &told); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, told.String())
		}
		want := fmt.Sprintf("matched      %s", "29,9")
		if distance == "3" && !strings.Contains(out.String(), want) {
			t.Errorf("%v: no %q in\n%s", args, want, out.String())
		}
	}
}
