// Package eval is the laboratory: it measures how well a method finds the
// near-duplicates of documents whose true pairs are known, ours beside the
// methods that the field compares with, and explains single pairs.
//
// A Lab holds documents and the truth about them: labelled pairs, and every one
// that is right by a Definition, found exactly and without any code of a run.
// Lab.Measure has a Method find pairs and compares them with the truth. A Report
// of several measurements is written as text, as JSON or as an HTML page that
// works offline. Plant makes duplicates of known kinds from real documents.
//
// Our own method is not modelled but run: Neardup writes the documents to a
// temporary folder, which Lab.Close removes, and reads the pairs that package
// job finds in it. Nothing else is written but to the writer that is given; the
// package parses no flag and prints nothing.
package eval
