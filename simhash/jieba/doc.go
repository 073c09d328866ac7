// Package jieba cuts Chinese text into words, with the dictionary, the hidden
// Markov model and the results of gojieba v1.4.7, and without cgo: the model
// is embedded in the program. ReadLexicon takes another one, in jieba's own five
// files, from a folder it is given; beside that the package reads no file, and it
// never keeps a text.
//
// A text is cut where the product of its words' probabilities is greatest; of
// the characters that stay alone the hidden Markov model makes words nobody
// listed.
package jieba
