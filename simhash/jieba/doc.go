// Package jieba cuts Chinese text into words, with the dictionary, the hidden
// Markov model and the results of gojieba v1.4.7, and without cgo: the model
// is embedded in the program. ReadLexicon takes another one, in jieba's own five
// files, from a folder it is given; beside that the package reads no file, and it
// never keeps a text.
//
// A text is cut in two steps. Of all ways to divide it into words of the dictionary, the
// first step takes the one with the greatest product of the words' probabilities. The
// second looks at runs of single characters that remain, and joins them to words that
// are not in the dictionary, by a hidden Markov model.
package jieba
