package summary

import "github.com/neardup/neardup/job/internal/show"

// Reread is what a sample of the documents that are left out says: they and what
// stays for them, text against text.
type Reread struct {
	Documents int64    `json:"documents"` // that were read again
	Jaccard   float64  `json:"jaccard"`   // the least of character 5-grams, of those that no few edits make; 1 without any
	Below     int64    `json:"below"`     // documents that the texts say are no copies
	Examples  []Unlike `json:"examples,omitempty"`
}

// Unlike is a document that was left out for one that is not alike.
type Unlike struct {
	ID          string  `json:"doc_id"`
	Kept        string  `json:"kept_id"`
	Jaccard     float64 `json:"jaccard"`
	Containment float64 `json:"containment"`
}

func (r *Reread) print(row func(name, format string, args ...any)) {
	row("read again", "%s left out, text against text with what stays: the least J is %.2f, %s %s no %s", show.Count(r.Documents, "document"),
		r.Jaccard, show.Number(r.Below), show.Agree(r.Below, "is", "are"), map[bool]string{true: "copy", false: "copies"}[r.Below == 1])
	for _, e := range r.Examples {
		row("", "J %.3f, containment %.3f: %s for %s", e.Jaccard, e.Containment, e.ID, e.Kept)
	}
}
