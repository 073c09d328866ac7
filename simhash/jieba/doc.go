// Package jieba cuts Chinese text into words, with the dictionary, the hidden
// Markov model and the results of gojieba v1.4.7, and without cgo: the model
// is embedded in the program. It never reads a file and never keeps a text.
//
// A text is cut where the product of its words' probabilities is greatest; of
// the characters that stay alone the hidden Markov model makes words nobody
// listed.
package jieba
