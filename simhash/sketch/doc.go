// Package sketch takes a second look at two documents that a fingerprint
// brought together, or brings together those that a fingerprint does not.
//
// A Sketch is 64 bytes that a Maker makes of a text's set of shingles, its
// runs of five letters or digits. From two sketches Estimate tells the Jaccard
// similarity of the sets; documents of one band's value meet in that band's
// table, as those of one segment's do. Rules gives the verdict on a pair, and
// where the sketches leave it open, Shingles and Overlap settle it on the
// texts. Texts too short for a fingerprint are compared by Short.
//
// The package computes: it normalises nothing (what it is given is in the
// normal form of package simhash), reads no file, starts no goroutine, and
// never prints.
package sketch
