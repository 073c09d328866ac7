package summary

// Against says what of a reference a run found in its documents.
type Against struct {
	Documents int64            `json:"documents"` // with a hit
	Hits      int64            `json:"hits"`      // rows of the table against
	Verdicts  map[string]int64 `json:"verdicts"`  // of them
	Cut       int64            `json:"cut"`       // documents of the clean dump that lack the stretches of their hits
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
