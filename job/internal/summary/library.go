package summary

// Library counts what a run found in its library and added to it.
type Library struct {
	Path      string `json:"path"`
	Night     string `json:"night"`
	Nights    int    `json:"nights"`    // that this one was compared with
	Documents int64  `json:"documents"` // of those nights
	Matched   int64  `json:"matched"`   // of this run's documents have their best match in an earlier night
	New       int64  `json:"new"`       // neither the id nor the content was there
	Repeated  int64  `json:"repeated"`  // another id, but the content was there
	Returned  int64  `json:"returned"`  // the id was there
	Continued int64  `json:"continued"` // components of this run that continue an earlier one
	Merges    int64  `json:"merges"`    // earlier components that this run joined with another
	Added     int64  `json:"added"`     // documents added
	Left      int64  `json:"left"`      // not added: they were deleted for good
	Replaced  bool   `json:"replaced"`  // the library had the night
	Dropped   int64  `json:"dropped"`   // documents that the clean dump leaves out since an earlier night has them

	// The shares by language and by site, most documents first; of the sites at
	// most ten, drift/ has them all.
	Languages []Drift `json:"languages,omitempty"`
	Sites     []Drift `json:"sites,omitempty"`
	// Growing are the fingerprints that grew most since the night before, at
	// most ten; growth/ has more.
	Growing []Growth `json:"growing,omitempty"`
}

// Drift counts documents of one kind by what the library knew of them.
type Drift struct {
	Name      string `json:"name"` // the language or the site; "" is not known
	Documents int64  `json:"documents"`
	New       int64  `json:"new"`      // neither the id nor the content was there
	Repeated  int64  `json:"repeated"` // another id, but the content was there
	Returned  int64  `json:"returned"` // the id was there
}

// Growth is a fingerprint that more documents have than the night before.
type Growth struct {
	Fingerprint string `json:"fingerprint"` // hexadecimal
	Documents   int64  `json:"documents"`   // of the night
	Before      int64  `json:"before"`      // of the night before
	History     int64  `json:"history"`     // of all earlier nights
	Example     string `json:"example"`     // the first id of the night that has it
}
