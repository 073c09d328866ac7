package summary

// Reread is the result of a sample of removals: the texts of removed documents were
// compared with those of the documents that stay for them.
type Reread struct {
	Documents int64    `json:"documents"` // that were read again
	Jaccard   float64  `json:"jaccard"`   // the least of character 5-grams, of those that no few edits make; 1 without any
	Below     int64    `json:"below"`     // documents that the texts say are no copies
	Examples  []Unlike `json:"examples,omitempty"`
}

// Unlike is a document that was removed for one whose text is not alike.
type Unlike struct {
	ID          string  `json:"doc_id"`
	Kept        string  `json:"kept_id"`
	Jaccard     float64 `json:"jaccard"`
	Containment float64 `json:"containment"`
}
