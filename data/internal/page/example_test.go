package page_test

import (
	"fmt"

	"github.com/neardup/neardup/data/internal/page"
)

func Example() {
	html := []byte(`<html lang="en"><title>Foxes</title><body>
		<nav><ul><li><a href="/">Home</a><li><a href="/news">News</a><li><a href="/sport">Sport</a></ul></nav>
		<main><article><h1>Foxes</h1>
		<p>The quick brown fox jumped over the lazy dog, which took no notice of it &amp; went on sleeping.
		<p>Nobody knows why foxes do this; those who were asked said that they had never thought about it.
		</article></main>
		<footer><a href="/terms">Terms</a> © Example</footer>`)
	var x page.Extractor
	x.Parse(html)
	fmt.Printf("%s (%s)\n", x.Title(), x.Language())
	fmt.Printf("%s\n", x.AppendMain(nil))
	fmt.Println("--")
	fmt.Printf("%s\n", x.AppendVisible(nil))
	// Output:
	// Foxes (en)
	// Foxes
	// The quick brown fox jumped over the lazy dog, which took no notice of it & went on sleeping.
	// Nobody knows why foxes do this; those who were asked said that they had never thought about it.
	// --
	// Home
	// News
	// Sport
	// Foxes
	// The quick brown fox jumped over the lazy dog, which took no notice of it & went on sleeping.
	// Nobody knows why foxes do this; those who were asked said that they had never thought about it.
	// Terms © Example
}
