// Package simhash turns a document's text into a SimHash fingerprint, compares
// fingerprints, and lays out the segment keys under which similar ones meet.
//
// The fingerprint is made in the five steps of Charikar (Similarity Estimation
// Techniques from Rounding Algorithms, STOC 2002) and Manku et al. (WWW 2007):
// segment the normalised text into features, hash each, weigh each, sum the
// weights per bit (added where the hash has a 1, subtracted where it has a 0),
// and take the signs. An [Analyzer] holds the options and tables; a
// [Workspace] of it does the work for one goroutine without allocating.
//
// Weights are integers, so the sum depends neither on the order of the
// features nor on the machine. The package computes: it reads no file, knows
// no document format, starts no goroutine, and never prints.
package simhash
