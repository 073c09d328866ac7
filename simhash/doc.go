// Package simhash turns a document's text into a SimHash fingerprint, compares
// fingerprints, and lays out the segment keys under which similar ones meet.
//
// The fingerprint is made in the five steps of Charikar (Similarity Estimation
// Techniques from Rounding Algorithms, STOC 2002) and Manku et al. (WWW 2007):
// segment the normalised text into features, hash each, weigh each, sum the weights
// for each bit (added where the hash has a 1, subtracted where it has a 0), and take
// the signs. With hashes of four bits:
//
//	feature   weight   hash      bit 3   2    1    0
//	apple        3     1010         +3  −3   +3   −3
//	tree         2     0110         −2  +2   +2   −2
//	the          1     1001         +1  −1   −1   +1
//	sum                             +2  −2   +4   −4
//	fingerprint                      1   0    1    0
//
// Similar texts share most features, so most sums keep their sign: few bits differ.
//
// An [Analyzer] holds the options and tables; a [Workspace] of it does the work for
// one goroutine without allocating. Weights are integers, so the sum depends neither
// on the order of the features nor on the machine.
//
// The package reads no file, knows no document format, starts no goroutine, and never
// prints.
package simhash
