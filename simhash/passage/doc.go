// Package passage finds which items of a reference a document is, or carries: an
// evaluation set's question of 20 words in a book of 100,000, a copy of a page on a
// blocklist. It works on letters as simhash.LetterReader reads them, so that case,
// width, punctuation, line breaks and traditional characters make no difference.
//
// Of each item grams are indexed, a few letters apart; of a document every gram is
// looked for, by a rolling hash, so that a common run of little more than a gram is
// never missed (Seen). What one document costs does not depend on the reference but
// for what they have in common. From each gram in common an alignment goes both ways
// as far as the texts are alike, and the share of the item that it covers decides:
// a licence's line or a proverb that both quote is no hit.
//
// It never reads a file, and never decides what becomes of a document.
package passage
