// Package summary is the report of a run: summary.json, and the same as text. The
// stages fill it in. The package never reads the tables that a run wrote.
package summary

import (
	"cmp"
	"maps"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
)

// Summary is the report of a run. The program prints it last on standard output, and
// writes it to the run directory.
type Summary struct {
	Command       string           `json:"command"`
	Out           string           `json:"out"`
	Splits        int              `json:"splits"`
	Bytes         int64            `json:"bytes"`                  // of input read
	Records       int64            `json:"records"`                // documents, and what was skipped and is none
	Documents     int64            `json:"documents"`              // rows of the fingerprints table
	Skipped       map[string]int64 `json:"skipped"`                // by reason; duplicate ids are documents too
	Bad           int64            `json:"bad"`                    // skipped records that were unusable or stood twice
	Unreadable    []Unread         `json:"unreadable,omitempty"`   // files none of whose records could be read
	Damaged       []Unread         `json:"damaged,omitempty"`      // files of which a part is lost, since its bytes are not those that were written
	Lost          int64            `json:"lost,omitempty"`         // bytes of the input in those files that could not be read
	Unchecked     int64            `json:"unchecked,omitempty"`    // compressed members of the input that have no checksum, and are believed since they are whole
	CutPages      int64            `json:"cut_pages"`              // documents whose page the input has only the beginning of
	None          rundir.Reasons   `json:"no_main_text,omitempty"` // documents that are pages without a main text, by reason and site; they match nothing
	LengthClasses map[string]int64 `json:"length_classes"`         // documents by length class; normal ones are matched
	Languages     map[string]int64 `json:"languages,omitempty"`    // documents by language; "" is not known
	Boilerplate   *Boilerplate     `json:"boilerplate,omitempty"`  // of a run that leaves out what sites share
	Matched       int64            `json:"matched"`                // documents with a match
	Method        *Method          `json:"method,omitempty"`       // of a match
	Found
	Kept    int64 `json:"kept"`    // documents in the clean dump
	Dropped int64 `json:"dropped"` // documents that it leaves out

	Saved *Saved `json:"saved,omitempty"` // by leaving them out

	Reread *Reread `json:"reread,omitempty"` // a sample of those
	Losses *Losses `json:"losses,omitempty"` // what to look at before they are deleted

	Library *Library `json:"library,omitempty"` // of a run with a library
	Against *Against `json:"against,omitempty"` // of a run against a reference

	LeftOut []engine.LeftOut `json:"agents_left_out,omitempty"` // of the cluster, by this process, in order of time

	Tables []rundir.TableCount `json:"tables,omitempty"` // of the join

	Largest []Cluster   `json:"largest,omitempty"` // at most ten of two documents or more, largest first
	Stages  []StageTime `json:"stages,omitempty"`
	Files   []Output    `json:"files,omitempty"`

	Began      time.Time `json:"began"`       // UTC
	Done       bool      `json:"done"`        // all stages; else the rest says how far the run came
	Warnings   int64     `json:"warnings"`    // in the log
	Restarts   int64     `json:"restarts"`    // of flows on a cluster
	Seconds    float64   `json:"seconds"`     // of this process
	PeakMemory int64     `json:"peak_memory"` // resident bytes of this process; 0 where the system does not say
}

// Found counts matches and clusters.
type Found struct {
	Checked   int64 `json:"checked"`   // documents compared with all others, to check the join
	Consulted int64 `json:"consulted"` // pairs whose texts were consulted
	Contained int64 `json:"contained"` // pairs, of different documents, of which one contains the other
	Pairs     int64 `json:"pairs"`     // rows of the pairs table, when asked for
	Clusters  int64 `json:"clusters"`  // of a document that stays, here or in an earlier night, and others that go for it
	Clustered int64 `json:"clustered"` // documents in clusters
	Alone     int64 `json:"alone"`     // documents that stay for no other: those that they are tied to stay, or go for others
	Joined    int64 `json:"joined"`    // versions: what containment joins
}

// Method says how the command match compared fingerprints. That may differ from what a
// run with the same settings does: fingerprints come without texts, so no texts can
// decide.
type Method struct {
	Preset   string `json:"preset"`
	Distance int    `json:"distance"`
	NoTexts  bool   `json:"no_texts"` // the preset consults texts; the sketches alone decided
}

// Unread is a file that could not be read, or a part of it.
type Unread struct {
	File    string `json:"file"`
	Problem string `json:"problem"`
	Lost    int64  `json:"lost"` // bytes of it
}

// Cluster is a cluster; Example is the id of its representative.
type Cluster struct {
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

// passedOver divides the skipped records, by reason, into records that are no documents,
// and documents that are not matched because of their ids.
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

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond).String()
}

func total(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// top returns the n largest entries of m, and the sum of the rest under the name other.
// The key "" gets the name empty. It returns nil if m has no other key.
func top(m map[string]int64, empty, other string, n int) map[string]int64 {
	if len(m) == 0 || len(m) == 1 && m[""] > 0 {
		return nil
	}
	largest := map[string]int64{}
	for i, k := range show.ByCount(m) {
		name := cmp.Or(k, empty)
		if i >= n {
			name = other
		}
		largest[name] += m[k]
	}
	return largest
}
