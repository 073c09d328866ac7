package show

import "testing"

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 earlier nights", 1: "1 earlier night", 2: "2 earlier nights", 1000: "1,000 earlier nights", 1234567: "1,234,567 earlier nights"} {
		if got := Count(n, "earlier night"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := Count(int64(2), "prefix") + ", " + Count(1, "prefix"); got != "2 prefixes, 1 prefix" {
		t.Error(got)
	}
	if got := nounOf(int64(1), "site") + " " + nounOf(3, "site") + " " + Agree(1, "is", "are"); got != "site sites is" {
		t.Error(got)
	}
}
