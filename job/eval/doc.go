// Package eval is the laboratory: it measures how well a method finds the
// near-duplicates of documents whose true pairs are known, ours beside the
// methods that the field compares with, and explains single pairs.
//
// A Lab holds documents and the truth about them: labelled pairs, and every
// pair whose shingles are alike enough, found exactly. Lab.Measure runs a
// Method and compares what it found with the truth. A Report of several
// measurements is written as text, as JSON or as an HTML page that works
// offline. Without labelled pairs, Plant makes duplicates of known kinds from
// real documents.
//
// The package computes: it parses no flag, prints nothing, and writes only to
// the writer it is given.
package eval
