package job

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// Summary is what a run did; it ends the program's standard output and stands
// in the run directory.
type Summary struct {
	Command       string           `json:"command"`
	Out           string           `json:"out"`
	Splits        int              `json:"splits"`
	Bytes         int64            `json:"bytes"`                  // of input read
	Records       int64            `json:"records"`                // documents, and what was skipped and is none
	Documents     int64            `json:"documents"`              // rows of the fingerprints table
	Skipped       map[string]int64 `json:"skipped"`                // by reason; duplicate ids are documents too
	Bad           int64            `json:"bad"`                    // skipped records that were unusable or stood twice
	Unreadable    []unread         `json:"unreadable,omitempty"`   // files none of whose records could be read
	Damaged       []unread         `json:"damaged,omitempty"`      // files of which a part is lost, since its bytes are not those that were written
	Lost          int64            `json:"lost,omitempty"`         // bytes of the input in those files that could not be read
	CutPages      int64            `json:"cut_pages"`              // documents whose page the input has only the beginning of
	None          rundir.Reasons   `json:"no_main_text,omitempty"` // documents that are pages without a main text, by reason and site; they match nothing
	LengthClasses map[string]int64 `json:"length_classes"`         // documents by length class; normal ones are matched
	Languages     map[string]int64 `json:"languages,omitempty"`    // documents by language; "" is not known
	Boilerplate   *boilerplate     `json:"boilerplate,omitempty"`  // of a run that leaves out what sites share
	Matched       int64            `json:"matched"`                // documents with a match
	Method        *method          `json:"method,omitempty"`       // of a match
	found
	Kept    int64 `json:"kept"`    // documents in the clean dump
	Dropped int64 `json:"dropped"` // documents that it leaves out

	Reread *reread `json:"reread,omitempty"` // a sample of those
	Losses *losses `json:"losses,omitempty"` // what to look at before they are deleted

	Library *LibraryCounts `json:"library,omitempty"` // of a run with a library

	LeftOut []engine.LeftOut `json:"agents_left_out,omitempty"` // of the cluster, by this process, in order of time

	Tables []rundir.TableCount `json:"tables,omitempty"` // of the join

	Largest []clusterSize `json:"largest,omitempty"` // at most ten of two documents or more, largest first
	Stages  []StageTime   `json:"stages,omitempty"`
	Files   []Output      `json:"files,omitempty"`

	Began      time.Time `json:"began"`       // UTC
	Done       bool      `json:"done"`        // all stages; else the rest says how far the run came
	Warnings   int64     `json:"warnings"`    // in the log
	Restarts   int64     `json:"restarts"`    // of flows on a cluster
	Seconds    float64   `json:"seconds"`     // of this process
	PeakMemory int64     `json:"peak_memory"` // resident bytes of this process; 0 where the system does not say
}

// found is what is counted of matches and clusters.
type found struct {
	Checked   int64 `json:"checked"`   // documents compared with all others, to check the join
	Consulted int64 `json:"consulted"` // pairs whose texts were consulted
	Contained int64 `json:"contained"` // pairs, of different documents, of which one contains the other
	Pairs     int64 `json:"pairs"`     // rows of the pairs table, when asked for
	Clusters  int64 `json:"clusters"`  // of a document that stays, here or in an earlier night, and others that go for it
	Clustered int64 `json:"clustered"` // documents in clusters
	Alone     int64 `json:"alone"`     // documents that stay for no other: those that they are tied to stay, or go for others
	Joined    int64 `json:"joined"`    // versions: what containment joins
}

// method says how fingerprints were matched, which is not what a run of the
// same settings does where texts decide: fingerprints come without.
type method struct {
	Preset   string `json:"preset"`
	Distance int    `json:"distance"`
	NoTexts  bool   `json:"no_texts"` // the preset consults texts; the sketches alone decided
}

// unread is a file that could not be read, or a part of it.
type unread struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
	Lost    int64  `json:"lost"` // bytes of it
}

// clusterSize is a cluster with the document that stays as example.
type clusterSize struct {
	ID      string `json:"cluster_id"`
	Example string `json:"example"`
	Size    int64  `json:"size"`
}

// StageTime is the time a stage took.
type StageTime struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
	Tasks   int     `json:"tasks"`
	Resumed int     `json:"resumed"` // tasks that an earlier process had finished
}

// Output is a table or folder that the run wrote.
type Output struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Files int    `json:"files,omitempty"`
	Bytes int64  `json:"bytes"`
}

// mostUnread is how many unreadable files are named.
const mostUnread = 5

// unreadFiles prints the first of the files that could not be read, or not in
// full.
func unreadFiles(row func(name, format string, args ...any), what string, files []unread) {
	for i, u := range files[:min(len(files), mostUnread)] {
		row(headed(i, what), "%s: %s", u.File, u.Problem)
	}
	if more := len(files) - mostUnread; more > 0 {
		row("", "and %s more", show.Count(more, "file"))
	}
}

// Print writes the summary for a person.
func (s *Summary) Print(w io.Writer) error {
	var b strings.Builder
	row := func(name, format string, args ...any) { show.Field(&b, name, format, args...) }

	row("documents", "%s%s", show.Number(s.Documents), counts(" (", s.LengthClasses, ")"))
	if languages := top(s.Languages, "unknown", 5); len(languages) > 0 {
		row("languages", "%s", counts("", languages, ""))
	}
	records, documents := s.passedOver()
	if len(records) > 0 {
		row("skipped", "%s of %s%s", show.Number(total(records)), show.Count(s.Records, "record"), counts(" (", records, ")"))
	}
	unreadFiles(row, "unreadable", s.Unreadable)
	unreadFiles(row, "damaged", s.Damaged)
	if len(s.Damaged) > 0 {
		row("lost", "%s of %s of the input", show.Bytes(s.Lost), show.Bytes(s.Bytes))
	}
	if len(documents) > 0 {
		row("passed over", "%s%s", show.Count(total(documents), "document"), counts(" (", documents, ")"))
	}
	if none := s.None.Total(); len(none) > 0 {
		row("no main text", "%s, kept and never matched%s", show.Count(total(none), "page"), counts(" (", none, ")"))
	}
	if s.CutPages > 0 {
		row("", "of %s the input has only the beginning", show.Count(s.CutPages, "page"))
	}
	if s.Boilerplate != nil {
		s.Boilerplate.print(row)
	}
	if m := s.Method; m != nil {
		row("method", "%s, distance %d", m.Preset, m.Distance)
		if m.NoTexts {
			row("", "fingerprints come without texts: near the limit the sketches decide, contained copies are not found")
		}
	}
	row("matched", "%s%s", show.Number(s.Matched), percent(s.Matched, s.Documents))
	if s.Checked > 0 {
		row("", "the best matches of %s were checked against all documents", show.Count(s.Checked, "document"))
	}
	if s.Consulted > 0 {
		row("", "the texts of %s were consulted", show.Count(s.Consulted, "pair"))
	}
	if s.Contained > 0 {
		row("contained", "of %s one document contains the other", show.Count(s.Contained, "pair"))
	}
	if s.Pairs > 0 {
		row("pairs", "%s", show.Number(s.Pairs))
	}
	row("clusters", "%s of %s", show.Number(s.Clusters), show.Count(s.Clustered, "document"))
	if s.Alone > 0 {
		row("", "%s more %s a pair of a document in a cluster, not of the one that stays", show.Count(s.Alone, "document"), show.Agree(s.Alone, "is", "are"))
	}
	if s.Joined > 0 {
		row("versions", "%s of documents that contain each other (clusters.contained)", show.Number(s.Joined))
	}
	if s.Kept+s.Dropped > 0 {
		row("clean dump", "%s %s, %s %s left out", show.Count(s.Kept, "document"), show.Agree(s.Kept, "stays", "stay"), show.Number(s.Dropped), show.Agree(s.Dropped, "is", "are"))
	}
	if s.Reread != nil {
		s.Reread.print(row)
	}
	s.Losses.print(row)
	if l := s.Library; l != nil {
		if l.Dropped > 0 {
			row("", "%s of them because an earlier night has %s (output.earlier)", show.Number(l.Dropped), show.Agree(l.Dropped, "it", "them"))
		}
		l.print(row)
	}
	s.printLists(row)
	_, err := io.WriteString(w, b.String())
	return err
}

// passedOver are the skipped records, by reason: those that are no documents, and
// documents that are not matched for their id.
func (s *Summary) passedOver() (records, documents map[string]int64) {
	records, documents = maps.Clone(s.Skipped), map[string]int64{}
	for _, reason := range []string{data.ReasonDuplicateID, data.ReasonDeleted} {
		if n := records[reason]; n > 0 {
			documents[reason] = n
			delete(records, reason)
		}
	}
	return records, documents
}

// printLists prints what has a line for each: clusters, stages, agents, files.
func (s *Summary) printLists(row func(name, format string, args ...any)) {
	if len(s.Largest) == 0 && s.Clusters > 0 {
		row("largest", "none: each continues an earlier cluster with one document")
	}
	for i, c := range s.Largest {
		row(headed(i, "largest"), "%8s  %s", show.Number(c.Size), c.Example)
	}
	for i, st := range s.Stages {
		note := ""
		if st.Resumed > 0 {
			note = fmt.Sprintf("  (%d of %s finished earlier)", st.Resumed, show.Count(st.Tasks, "task"))
		}
		row(headed(i, "time"), "%8s  %s%s", seconds(st.Seconds), st.Stage, note)
	}
	row("", "%8s  in all", seconds(s.Seconds))
	for i, a := range s.LeftOut {
		row(headed(i, "left out"), "the agent at %s by the stage %s: %s", a.Agent, a.Stage, a.Reason)
	}
	if s.PeakMemory > 0 {
		row("peak memory", "%s", show.Bytes(s.PeakMemory))
	}
	for i, f := range s.Files {
		row(headed(i, "files"), "%10s  %s", show.Bytes(f.Bytes), f.Path)
	}
}

// headed is the name of line i of a list: the first has it.
func headed(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

func total(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func percent(part, whole int64) string {
	if whole == 0 {
		return ""
	}
	return " (" + share(part, whole) + ")"
}

// share is a part of a whole that is not 0.
func share(part, whole int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// counts lists a map's entries, the largest first.
func counts(open string, m map[string]int64, end string) string {
	if len(m) == 0 {
		return ""
	}
	var parts []string
	for _, k := range byCount(m) {
		parts = append(parts, show.Number(m[k])+" "+k)
	}
	return open + strings.Join(parts, ", ") + end
}

// byCount lists the keys of a map, those of the largest counts first.
func byCount(m map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
	})
}

// top is a map's n largest entries, with the rest as "other"; the key "" is
// given a name. It is nil when there is no other key.
func top(m map[string]int64, empty string, n int) map[string]int64 {
	if len(m) == 0 || len(m) == 1 && m[""] > 0 {
		return nil
	}
	largest := map[string]int64{}
	for i, k := range byCount(m) {
		name := cmp.Or(k, empty)
		if i >= n {
			name = "other"
		}
		largest[name] += m[k]
	}
	return largest
}
