package summary

import (
	"github.com/neardup/neardup/job/internal/show"
)

// Against says what of a reference a run found in its documents.
type Against struct {
	Documents int64            `json:"documents"` // with a hit
	Hits      int64            `json:"hits"`      // rows of the table against
	Verdicts  map[string]int64 `json:"verdicts"`  // of them
	Sets      []AgainstSet     `json:"sets"`      // in the order of the settings
}

// AgainstSet is a set of the reference.
type AgainstSet struct {
	Name      string `json:"set"`
	Texts     int64  `json:"texts"`     // that were looked for
	Short     int64  `json:"short"`     // that were not: they have too few letters
	Repeated  int64  `json:"repeated"`  // that were not: an earlier text has the same letters
	Found     int64  `json:"found"`     // texts that a document has
	Documents int64  `json:"documents"` // that have one
}

// print tells what was found, by set.
func (a *Against) print(row func(name, format string, args ...any), documents int64) {
	row("against", "%s%s with hits%s", show.Count(a.Documents, "document"), show.Percent(a.Documents, documents), show.Counts(" (", a.Verdicts, ")"))
	for _, s := range a.Sets {
		row("", "%s: %s of %s found, in %s", s.Name, show.Number(s.Found), show.Count(s.Texts, "text"), show.Count(s.Documents, "document"))
		if s.Short > 0 {
			row("", "    %s not looked for: fewer letters than against.least", show.Count(s.Short, "text"))
		}
		if s.Repeated > 0 {
			row("", "    %s not looked for: the same letters as an earlier text", show.Count(s.Repeated, "text"))
		}
	}
}
