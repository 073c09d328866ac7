package summary

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash/template"
)

// Lines is how many lines a run's summary takes: a terminal of 24 shows it
// with the command line above and below.
const Lines = 22

// Ranks of what a summary tells: where there is no room the last go first.
const (
	first  = iota // what the run found, and what is wrong with it
	second        // what it rests on
	third         // lists
	fourth        // the long ones, and what is of interest to few
	ranks
)

// told is what a summary tells, in a language.
type told struct {
	message.Language
	lines []toldLine
}

type toldLine struct {
	rank       int
	name, text string
}

// row adds a line. Of a group of lines the first has the name.
func (t *told) row(rank int, name, text string) {
	t.lines = append(t.lines, toldLine{rank, name, text})
}

// headed adds the lines of a group.
func (t *told) headed(rank int, name string, lines []string) {
	for i, text := range lines {
		if i > 0 {
			name = ""
		}
		t.row(rank, name, text)
	}
}

// columns are those of the terminal that the lines fit.
const columns = 80

// height is how many lines of a terminal the lines take.
func height(lines []toldLine) (n int) {
	for _, l := range lines {
		n += max(1, (show.Cells(show.Line(l.text))+show.FieldCells+columns-1)/columns)
	}
	return n
}

// fit takes what is of the first rank, and of the others as many groups of lines as
// that many lines of a terminal hold.
func (t *told) fit(most int) (fits []toldLine) {
	keep, used := make([]bool, len(t.lines)), 0
	for rank := range ranks {
		for from, to := 0, 0; from < len(t.lines); from = to {
			head := t.lines[from]
			for to = from + 1; to < len(t.lines) && t.lines[to].name == "" && t.lines[to].rank == head.rank; {
				to++
			}
			n := height(t.lines[from:to])
			goesOn := head.name == "" && from > 0 && !keep[from-1] // of a group that is not there
			if head.rank != rank || rank > first && (used+n > most || goesOn) {
				continue
			}
			used += n
			for i := from; i < to; i++ {
				keep[i] = true
			}
		}
	}
	for i, l := range t.lines {
		if keep[i] {
			fits = append(fits, l)
		}
	}
	return fits
}

// Print writes the summary for a person, in at most Lines lines, unless
// more than that is wrong: `neardup inspect` has the others.
func (s *Summary) Print(w io.Writer, l message.Language) error {
	t := s.tell(l)
	left := t.fit(Lines)
	if n := len(t.lines) - len(left); n > 0 {
		left = t.fit(Lines - 1)
		n = len(t.lines) - len(left)
		left = append(left, toldLine{first, l.Text("more"), l.Text("%s: neardup inspect %s", l.Count(int64(n), "line"), s.Out)})
	}
	return write(w, left)
}

// PrintAll writes all of it.
func (s *Summary) PrintAll(w io.Writer, l message.Language) error {
	return write(w, s.tell(l).lines)
}

func write(w io.Writer, lines []toldLine) error {
	var b strings.Builder
	for _, line := range lines {
		show.Field(&b, line.name, "%s", line.text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tell says all that the summary has.
func (s *Summary) tell(l message.Language) *told {
	t := &told{Language: l}
	t.row(first, l.Text("documents"), show.Number(s.Documents)+t.counts(" (", s.LengthClasses, ")"))
	if languages := top(s.Languages, l.Text("unknown"), l.Text("other"), 5); len(languages) > 0 {
		t.row(second, l.Text("languages"), t.counts("", languages, ""))
	}
	t.input(s)
	if s.Boilerplate != nil {
		t.boilerplate(s.Boilerplate)
	}
	if m := s.Method; m != nil {
		t.row(first, l.Text("method"), l.Text("%s, distance %d", m.Preset, m.Distance))
		if m.NoTexts {
			t.row(second, "", l.Text("no texts: near the limit sketches decide, and contained copies are not found"))
		}
	}
	if s.Against != nil {
		t.against(s.Against, s.Documents)
	} else {
		t.matches(s)
	}
	t.clean(s)
	if s.Library != nil {
		t.library(s.Library)
	}
	t.lists(s)
	return t
}

// mostUnread is how many unreadable files are named.
const mostUnread = 5

// input tells what was skipped, and of which files.
func (t *told) input(s *Summary) {
	l := t.Language
	records, documents := s.passedOver()
	if len(records) > 0 {
		t.row(first, l.Text("skipped"), l.Text("%d of %s", total(records), l.Count(s.Records, "record"))+t.counts(" (", records, ")"))
	}
	for _, of := range []struct {
		name  string
		files []Unread
	}{{l.Text("unreadable"), s.Unreadable}, {l.Text("damaged"), s.Damaged}} {
		var lines []string
		for _, u := range of.files[:min(len(of.files), mostUnread)] {
			lines = append(lines, u.File+": "+u.Problem)
		}
		if more := len(of.files) - mostUnread; more > 0 {
			lines = append(lines, l.Text("and %s more", l.Count(int64(more), "file")))
		}
		t.headed(first, of.name, lines)
	}
	if len(s.Damaged) > 0 {
		t.row(first, l.Text("lost"), l.Text("%s of %s of the input", show.Bytes(s.Lost), show.Bytes(s.Bytes)))
	}
	if s.Unchecked > 0 {
		t.row(second, l.Text("no checksum"), l.Text("%s of zstandard, read without a check", l.Count(s.Unchecked, "frame")))
	}
	if len(documents) > 0 {
		var lines []string
		if n := documents[data.ReasonDuplicateID]; n > 0 {
			lines = append(lines, l.Count(n, "duplicate id"))
		}
		if n := documents[data.ReasonDeleted]; n > 0 {
			lines = append(lines, l.Count(n, "deleted id"))
		}
		t.row(second, l.Text("ids"), strings.Join(lines, l.Text(", ")))
	}
	if none := s.None.Total(); len(none) > 0 {
		t.row(second, l.Text("no main text"), l.Text("%s, kept but not matched", l.Count(total(none), "page"))+t.counts(" (", none, ")"))
	}
	if s.CutPages > 0 {
		t.row(second, "", l.Text("%s cut off in the input", l.Count(s.CutPages, "page")))
	}
}

// boilerplate tells what was left out, or why nothing was learned.
func (t *told) boilerplate(o *Boilerplate) {
	l, name := t.Language, t.Text("boilerplate")
	switch {
	case o.Documents > 0:
		t.row(second, name, l.Text("%[2]s of the text of %[1]s left out: shared by pages of the site", l.Count(o.Documents, "document"), show.Share(o.Left, o.Left+o.Own)))
	case o.Learned+o.Known > 0:
		t.row(second, name, l.Text("none left out: no document contains the boilerplate of %s", l.Count(o.Learned+o.Known, "site")))
	case o.Largest < template.MinPages:
		t.row(second, name, l.Text("none learned: a site needs %[4]d sampled pages, the largest of %[1]s has %[2]d of %[3]s", l.Count(o.Sites, "site"), o.Largest, l.Count(o.Sampled+o.FromHistory, "sampled page"), template.MinPages))
	default:
		t.row(second, name, l.Text("none found: %s, %s", l.Count(o.Sites, "site"), l.Count(o.Sampled, "sampled page")))
	}
	for _, s := range o.Most {
		t.row(fourth, "", l.Text("%8s  %s (%s, %s of %s)", show.Share(s.Left, s.Left+s.Own), cmp.Or(s.Site, l.Text("ids that are not URLs")), l.Count(s.Documents, "document"), l.Count(int64(s.Blocks), "block"), l.Count(int64(s.Pages), "sampled page")))
	}
}

// against tells what was found, by set.
func (t *told) against(a *Against, documents int64) {
	l := t.Language
	t.row(first, l.Text("against"), l.Text("%s with hits", l.Count(a.Documents, "document")+show.Percent(a.Documents, documents))+t.counts(" (", a.Verdicts, ")"))
	for _, s := range a.Sets {
		t.row(second, "", l.Text("%s: %d of %s found, in %s", s.Name, s.Found, l.Count(s.Texts, "text"), l.Count(s.Documents, "document")))
		if s.Short > 0 {
			t.row(second, "", l.Text("    %s skipped: fewer letters than against.least", l.Count(s.Short, "text")))
		}
		if s.Repeated > 0 {
			t.row(second, "", l.Text("    %s skipped: same letters as an earlier text", l.Count(s.Repeated, "text")))
		}
	}
}

// matches tells of pairs and clusters.
func (t *told) matches(s *Summary) {
	l := t.Language
	t.row(first, l.Text("matched"), show.Number(s.Matched)+show.Percent(s.Matched, s.Documents))
	if s.Checked > 0 {
		t.row(fourth, "", l.Text("best matches of %s verified against all documents", l.Count(s.Checked, "document")))
	}
	if s.Consulted > 0 {
		t.row(fourth, "", l.Text("texts of %s read to decide", l.Count(s.Consulted, "pair")))
	}
	if s.Contained > 0 {
		t.row(second, l.Text("contained"), l.Text("%s in which one document contains the other", l.Count(s.Contained, "pair")))
	}
	if s.Pairs > 0 {
		t.row(second, l.Text("pairs"), show.Number(s.Pairs))
	}
	t.row(first, l.Text("clusters"), l.Text("%d with %s", s.Clusters, l.Count(s.Clustered, "document")))
	if s.Alone > 0 {
		t.row(fourth, "", l.Text("%s more match a member of a cluster, but not the page it keeps", l.Count(s.Alone, "document")))
	}
	if s.Joined > 0 {
		t.row(third, l.Text("versions"), l.Text("%d clusters of documents that contain each other (clusters.contained)", s.Joined))
	}
}

// clean tells of the clean dump, and what to look at before anything is deleted.
func (t *told) clean(s *Summary) {
	l := t.Language
	if s.Kept+s.Dropped > 0 {
		t.row(first, l.Text("clean dump"), l.Text("%s kept, %d left out", l.Count(s.Kept, "document"), s.Dropped))
	}
	if a := s.Against; a != nil && a.Cut > 0 {
		t.row(first, "", l.Text("%d of them without what they have of the reference", a.Cut))
	}
	if v := s.Saved; v != nil {
		t.row(second, "", l.Text("%s of %s of text left out, about %s", show.Bytes(v.Bytes), show.Bytes(v.Of), l.Count(v.Tokens, "token")))
	}
	if s.Library != nil && s.Library.Dropped > 0 {
		t.row(first, "", l.Text("%d of them are in an earlier night (output.history)", s.Library.Dropped))
	}
	if r := s.Reread; r != nil {
		rank := second
		if r.Below > 0 {
			rank = first
		}
		t.row(rank, l.Text("re-checked"), l.Text("%s compared with the pages kept for them: lowest J %.2f, not copies %d", l.Count(r.Documents, "document"), r.Jaccard, r.Below))
		for _, e := range r.Examples {
			t.row(first, "", l.Text("J %.3f, containment %.3f: %s for %s", e.Jaccard, e.Containment, e.ID, e.Kept))
		}
	}
	warnings := s.Losses.Warnings(l)
	t.headed(first, l.Text("look at"), warnings[:min(len(warnings), shownLosses)])
	for _, text := range warnings[min(len(warnings), shownLosses):] {
		t.row(third, "", text)
	}
}

// shownLosses is how many of the losses a summary always names.
const shownLosses = 3

// Warnings says in words which sites lose much, and which clusters are wide.
func (o *Losses) Warnings(l message.Language) (all []string) {
	if o == nil {
		return nil
	}
	for _, s := range o.Sites {
		all = append(all, l.Text("%s loses %s of %s to others", s.Site, show.Share(s.Lost, s.Documents), l.Count(s.Documents, "document")))
	}
	if more := o.SitesAll - int64(len(o.Sites)); more > 0 {
		all = append(all, l.Text("and %s", l.Count(more, "more site")))
	}
	for _, c := range o.Clusters {
		all = append(all, l.Text("the cluster of %s has %s of %s", c.ID, l.Count(c.Documents, "document"), l.Count(c.Sites, "site")))
	}
	if more := o.ClustersAll - int64(len(o.Clusters)); more > 0 {
		all = append(all, l.Text("and %s", l.Count(more, "more cluster")))
	}
	return all
}

// library tells what the library knew of the documents, and what it learned.
func (t *told) library(of *Library) {
	l := t.Language
	t.row(first, l.Text("library"), l.Text("night %s against %s of %s", of.Night, l.Count(of.Documents, "document"), l.Count(int64(of.Nights), "earlier night")))
	all := of.New + of.Repeated + of.Returned
	t.row(first, "", l.Text("%d new%s, %d repeated%s, %d returned%s", of.New, show.Percent(of.New, all), of.Repeated, show.Percent(of.Repeated, all), of.Returned, show.Percent(of.Returned, all)))
	if of.Nights > 0 {
		t.drift(of)
	}
	t.row(third, "", l.Text("%s whose best match is in an earlier night", l.Count(of.Matched, "document")))
	t.row(third, "", l.Text("clusters continued: %d; earlier clusters merged: %d", of.Continued, of.Merges))
	added := l.Text("%s added to %s", l.Count(of.Added, "document"), of.Path)
	if of.Replaced {
		added = l.Text("%s added to %s, replacing the earlier version of this night", l.Count(of.Added, "document"), of.Path)
	}
	t.row(first, "", added)
}

// printed is how many of each kind a person is shown.
const printed = 5

// drift tells the shares by language and site, and what grew.
func (t *told) drift(of *Library) {
	l := t.Language
	for _, kind := range []struct {
		name, empty string
		drift       []Drift
	}{{l.Text("of language"), l.Text("unknown"), of.Languages}, {l.Text("of site"), l.Text("no address"), of.Sites}} {
		var lines []string
		for _, d := range kind.drift[:min(len(kind.drift), printed)] {
			lines = append(lines, l.Text("%8s  %s: %s new, %s repeated, %s returned", show.Number(d.Documents), cmp.Or(d.Name, kind.empty),
				show.Share(d.New, d.Documents), show.Share(d.Repeated, d.Documents), show.Share(d.Returned, d.Documents)))
		}
		t.headed(fourth, kind.name, lines)
	}
	var lines []string
	for _, g := range of.Growing[:min(len(of.Growing), printed)] {
		lines = append(lines, l.Text("%8s  %s (%d the night before, %d in all nights before)", show.Number(g.Documents), g.Example, g.Before, g.History))
	}
	t.headed(fourth, l.Text("growing"), lines)
}

// lists tells what has a line for each: clusters, stages, agents, files.
func (t *told) lists(s *Summary) {
	l := t.Language
	var largest []string
	for _, c := range s.Largest {
		largest = append(largest, fmt.Sprintf("%8s  %s", show.Number(c.Size), c.Example))
	}
	if len(s.Largest) == 0 && s.Clusters > 0 {
		largest = []string{l.Text("none new: each adds one document to an earlier cluster")}
	}
	most := min(len(largest), shownLargest)
	t.headed(second, l.Text("largest"), largest[:most])
	for _, text := range largest[most:] {
		t.row(third, "", text)
	}
	for i, a := range s.LeftOut {
		name := ""
		if i == 0 {
			name = l.Text("left out")
		}
		t.row(first, name, l.Text("agent %s, stage %s: %s", a.Agent, a.Stage, a.Reason))
	}
	t.row(first, l.Text("time"), seconds(s.Seconds)+t.slowest(s.Stages))
	for _, st := range s.Stages {
		text := fmt.Sprintf("%8s  %s", seconds(st.Seconds), st.Stage)
		if st.Resumed > 0 {
			text += l.Text("  (%d of %s finished earlier)", st.Resumed, l.Count(int64(st.Tasks), "task"))
		}
		t.row(fourth, "", text)
	}
	if s.PeakMemory > 0 {
		t.row(third, l.Text("peak memory"), show.Bytes(s.PeakMemory))
	}
	bytes := int64(0)
	for _, f := range s.Files {
		bytes += f.Bytes
	}
	t.row(first, l.Text("files"), l.Text("%s in %s", show.Bytes(bytes), s.Out))
	for _, f := range s.Files {
		t.row(fourth, "", fmt.Sprintf("%10s  %s", show.Bytes(f.Bytes), f.Path))
	}
}

// shownLargest is how many of the largest clusters come before other lists.
const shownLargest = 3

// slowest names the stages that took longest.
func (t *told) slowest(stages []StageTime) string {
	const shown = 3
	sorted := slices.SortedStableFunc(slices.Values(stages), func(a, b StageTime) int { return cmp.Compare(b.Seconds, a.Seconds) })
	var parts []string
	for _, st := range sorted[:min(len(sorted), shown)] {
		parts = append(parts, seconds(st.Seconds)+" "+st.Stage)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, t.Text(", ")) + ")"
}

// counts lists a map's entries, the largest first; what they are of by name.
func (t *told) counts(open string, m map[string]int64, end string) string {
	if len(m) == 0 {
		return ""
	}
	var parts []string
	for _, k := range show.ByCount(m) {
		parts = append(parts, show.Number(m[k])+" "+t.Name(k))
	}
	return open + strings.Join(parts, t.Text(", ")) + end
}
