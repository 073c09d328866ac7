// Package passage finds which items of a reference a document is, or carries: an
// evaluation set's question of 20 words in a book of 100,000, a copy of a page on a
// blocklist. It works on letters as simhash.LetterReader reads them, so that case,
// width, punctuation, line breaks and traditional characters make no difference.
//
// A gram is a short run of letters. The index holds grams of each item, a few letters
// apart. A search hashes every gram of the document, with a rolling hash, and looks it
// up. So it never misses a common run that weighs at least [Seen], which is little
// more than a gram. If an item and the document have more such runs in common than
// phrases, and around them enough grams of five letters, or if they have a long run, an
// alignment extends from each common gram in both directions as far as the texts are
// alike:
//
//	item        [────gram───gram───gram───]
//	                  │
//	document    …… ◄──┼────────────────►  ……
//
// The share of the item that the alignment covers decides. So a line of a licence or
// a proverb that both quote is no hit. The time for a document does not depend on the
// size of the reference, only on what the two have in common.
//
// The package never reads a file, and never decides what becomes of a document.
package passage
