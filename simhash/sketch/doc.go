// Package sketch verifies pairs of documents that fingerprints brought together,
// and brings together similar documents whose fingerprints are far apart.
//
// A [Sketch] is 64 bytes that a [Maker] makes of a text's set of shingles, its runs
// of five letters or digits. It is a MinHash signature with one bit kept of each
// minimum, and LSH bands:
//
//	text ─► shingles ─► hash ─► 320 bins, each keeps its smallest hash
//	                              ├─► the lowest bit of 256 minima   32 bytes
//	                              └─► 8 bands, each of 3 minima      32 bytes
//
// [Estimate] tells the Jaccard similarity of two sets from the bits in which two
// sketches differ. Documents with the same value in a band are candidates, as are
// those with the same segment of the fingerprint. [Rules] give the verdict on a
// pair. Where the sketches leave it open, [Shingles] and [Overlap] decide on the
// texts. Texts too short for a fingerprint are compared letter by letter, by
// [Short].
//
// All texts must be in the normal form of package simhash. The package reads no
// file, starts no goroutine, and never prints.
package sketch
