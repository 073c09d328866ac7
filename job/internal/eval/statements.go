package eval

import "github.com/neardup/neardup/job/internal/config"

// The texts that described the method and what to compare it with, in words
// that a reader who knows them recognises.
const (
	sourceMass    = "mass text similarity with SimHash, 2013"
	sourceGo      = "gosimhash, SimHash in Go, 2014"
	sourceNews    = "a news product's dedup, 2018"
	sourceSpark   = "text dedup on Spark, Sichuan University, 2019"
	sourceOurs    = "neardup"
	sourceTextual = "SimHash, 2013; news dedup, 2018"
)

// MethodStatement states a method that has a name of its own: what it takes for
// near-duplicates, and the text that describes it.
type MethodStatement struct {
	Name, Doc, Source string
	Small             bool // it compares all pairs of texts, of few documents
}

// Methods states all methods that Parse knows by name.
func Methods() []MethodStatement {
	return []MethodStatement{
		{config.PresetClassic, "SimHash of words within 3 of 64 bits", sourceMass + ", and all others", false},
		{config.PresetBalanced, "classic's and MinHash bands' candidates, confirmed by sketches", sourceOurs, false},
		{config.PresetThorough, "a wider search, confirmed by the texts", sourceOurs, false},
		{"simhash", "the original SimHash: unit weights, no stop words", "Charikar, 2002; " + sourceSpark, false},
		{"simhash-top20", "SimHash of the 20 words of the highest tf × idf", sourceGo, false},
		{config.PresetPiecewise, "classic with a limit by length: 3, up to 10 for short texts", sourceNews + ", and SimHash, 2013", false},
		{"shingling", "half of all 5-grams in common", "Broder, 1997; " + sourceSpark, false},
		{"minhash", "MinHash of 256 values, at the limit that is best on these documents", "Broder, 1997", false},
		{"information-fingerprints", "half of the hashes of the 10 words of the highest tf × idf are equal", sourceNews + ", scheme 1", false},
		{"segment-signature", "half of the paragraphs are equal", sourceNews + ", scheme 2", false},
		{"top-features-md5", "the 10 words of the highest tf × idf are the same: one MD5", sourceNews + ", scheme 3", false},
		{"punctuation-context", "half of the two characters on either side of each punctuation mark", sourceNews + ", scheme 4", false},
		{"longest-sentences", "the 3 longest sentences are the same", "gosimhash, 2014; news dedup, 2018", false},
		{"levenshtein", "edit distance of at most 0.3 of the longer text", sourceTextual, true},
		{"cosine", "cosine of the word counts of 0.9 or more", sourceTextual, true},
		{"euclid", "Euclidean distance of the word counts: 0.25 of |a| + |b| at most", sourceTextual, true},
		{"jaccard", "0.6 of the words in common", sourceTextual, false},
		{"common-substring", "the longest common substring is 0.3 of the shorter text or more", sourceTextual, true},
	}
}

// sourceOf is the source of a method by its name.
func sourceOf(name string) string {
	for _, s := range Methods() {
		if s.Name == name {
			return s.Source
		}
	}
	return sourceOurs
}
