// Package template learns the boilerplate that the pages of a site share (menus,
// footers, legal notices) and removes it from their texts, so that two pages are
// compared by what is their own.
//
// A text is divided into blocks: at line ends, and within a line at the marks that end
// a sentence or separate the entries of a menu. A block is identified by the hash of
// its letters alone, so a counter or a date in it may change from page to page.
//
// A [Learner] samples pages of every site. The blocks that at least half of a site's
// sampled pages have become the site's template. So do blocks that 8 sampled pages
// have with the same digits, if these pages differ otherwise. A [Model] holds the
// templates of all sites; [Model.Suppress] removes from a page the blocks of its own
// site's template.
//
// The package reads no file, starts no goroutine, and never prints.
package template
