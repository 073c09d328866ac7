// Package reducer holds the reduce stages of the job as pure functions: the
// salted two-phase reduce that gathers each key's group, the best match of every
// document, clusters, and the document that each cluster keeps. It knows no
// engine, no file format and no flag.
//
// The reduce has two phases because of hot keys: if all postings of a boilerplate
// page's key went to one worker, that worker would be the last to finish. So the
// group of a key is first spread over several partitions by a salt, which is
// computed from the posting's suffix:
//
//	00A:0123 + suffix x, doc 1 ─┐
//	00A:0123 + suffix x, doc 2 ─┴─ Partial, salt 0 ─► x: docs 1, 2 ─┐
//	                                                                ├─ Final, key 00A:0123 ─► x: 1, 2
//	00A:0123 + suffix y, doc 3 ─── Partial, salt 1 ─► y: doc 3 ─────┘                         y: 3
//
// Equal suffixes have the same salt. So identical postings become one posting list
// in the first phase, and the second gets one record for each distinct suffix
// instead of one for each document.
//
// From the verified pairs, [Best] keeps each document's best match, [Components]
// the connected components, and [Representatives] chooses which documents stay.
package reducer
