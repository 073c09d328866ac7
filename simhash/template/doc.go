// Package template learns what the pages of a site share (menus, footers,
// legal notices) and takes it out of their texts, so that two pages are
// compared by what is their own.
//
// A text is read as blocks: lines, and within them what stands between the
// marks that end a sentence or part the entries of a menu. A block is known by
// its letters alone, so a counter or a date in it may change from page to
// page. A Learner samples pages of every site; the blocks that at least half
// of a site's sampled pages have are its template, and those that 8 of them
// have just so, if these pages otherwise differ. A Model holds the templates of
// all sites, and Suppress removes the blocks of a page's own site from it.
//
// The package computes: it reads no file, starts no goroutine, and never
// prints.
package template
