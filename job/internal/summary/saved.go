package summary

// Saved is what the clean dump saves in storage, and in training a language model.
type Saved struct {
	Bytes  int64 `json:"bytes"`  // of the texts, as UTF-8, of the documents that are left out
	Of     int64 `json:"of"`     // of all documents' texts
	Tokens int64 `json:"tokens"` // of those left out, about: see NewSaved
}

// NewSaved estimates tokens by two rules of thumb for the vocabularies of today's
// language models: six for ten characters of Han, Kana or Hangul, one for four
// others. A tokenizer may well give a third more or less.
func NewSaved(bytes, of, wide, others int64) *Saved {
	return &Saved{Bytes: bytes, Of: of, Tokens: wide*6/10 + others/4}
}
