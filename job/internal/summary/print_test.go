package summary

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// full is a summary that has something to say of everything.
func full() *Summary {
	s := &Summary{
		Command: "run", Out: "runs/2026-11-20", Bytes: 3 << 30, Records: 1_200_000, Documents: 1_000_000, Skipped: map[string]int64{"malformed": 7, "not_page": 190_000, "duplicate_id": 12},
		CutPages: 3, None: rundir.Reasons{"error": {"a.example": 9}}, LengthClasses: map[string]int64{"normal": 999_000, "short": 1000}, Languages: map[string]int64{"zh": 800_000, "en": 200_000},
		Boilerplate: &Boilerplate{SiteText: rundir.SiteText{Documents: 9000, Left: 5, Own: 95}}, Matched: 300_000,
		Found: Found{Checked: 400, Consulted: 1234, Contained: 55, Pairs: 400_000, Clusters: 90_000, Clustered: 300_000, Alone: 77, Joined: 9}, Kept: 700_000, Dropped: 300_000,
		Reread: &Reread{Documents: 400, Jaccard: 0.5}, Losses: &Losses{SitesAll: 30},
		Library:    &Library{Path: "lib", Night: "2026-11-20", Nights: 31, Documents: 30_000_000, Matched: 5, New: 700_000, Repeated: 200_000, Returned: 100_000, Added: 1_000_000, Dropped: 9},
		Seconds:    4000,
		PeakMemory: 3 << 30,
	}
	for i := range 12 {
		s.Losses.Sites = append(s.Losses.Sites, SiteLoss{fmt.Sprintf("site%d.example", i), 100, 90})
		s.Largest = append(s.Largest, Cluster{"c", strings.Repeat("http://www.example.org/", 5), 30})
		s.Library.Sites = append(s.Library.Sites, Drift{"a.example", 10, 5, 3, 2})
		s.Library.Growing = append(s.Library.Growing, Growth{Example: "a", Documents: 4})
		s.Stages = append(s.Stages, StageTime{Stage: "fingerprint", Seconds: 3, Tasks: 9, Resumed: 1})
		s.Files = append(s.Files, Output{Path: "runs/2026-11-20/matches", Bytes: 99})
		s.Boilerplate.Most = append(s.Boilerplate.Most, SiteTemplate{Site: "a.example", SiteText: rundir.SiteText{Documents: 1, Left: 1, Own: 1}})
	}
	return s
}

// A summary fits a terminal of 24 lines of 80 cells, in both languages; nothing of
// it is lost.
func TestFits(t *testing.T) {
	s := full()
	for _, l := range []message.Language{message.English, message.Chinese} {
		var short, all bytes.Buffer
		if err := s.Print(&short, l); err != nil {
			t.Fatal(err)
		}
		if err := s.PrintAll(&all, l); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(short.String()) {
			lines += 1 + (show.Cells(strings.TrimSuffix(line, "\n"))-1)/80
			if !strings.Contains(all.String(), line) && !strings.Contains(line, "neardup inspect runs/2026-11-20") {
				t.Errorf("%q is not in all of the summary", line)
			}
		}
		if lines > Lines || lines < Lines/2 || strings.Contains(all.String(), "%!") || strings.Count(all.String(), "\n") < 60 {
			t.Errorf("%d lines of a terminal, %d of all:\n%s\n%s", lines, strings.Count(all.String(), "\n"), &short, &all)
		}
		for _, want := range []string{"700,000", "site2.example", "2026-11-20", "inspect"} {
			if !strings.Contains(short.String(), want) {
				t.Errorf("%s: without %q:\n%s", l, want, &short)
			}
		}
	}
}

// What is wrong is said in full, however much it is.
func TestWrongIsSaid(t *testing.T) {
	s := full()
	for i := range 5 {
		s.Reread.Examples = append(s.Reread.Examples, Unlike{fmt.Sprint("page", i), "kept", 0.1, 0.2})
		s.Damaged = append(s.Damaged, Unread{fmt.Sprint("file", i), "checksum", 9})
	}
	var b bytes.Buffer
	if err := s.Print(&b, message.English); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if !strings.Contains(b.String(), fmt.Sprint("page", i)) || !strings.Contains(b.String(), fmt.Sprint("file", i)) {
			t.Errorf("without page%d or file%d:\n%s", i, i, &b)
		}
	}
}
