package template_test

import (
	"fmt"
	"strings"

	"github.com/neardup/neardup/simhash/template"
)

func Example() {
	learner := template.NewLearner()
	page := func(body string) []byte {
		return []byte("Home | News | Contact\n" + body + "\nAll rights reserved, 2026.\n")
	}
	for i := range 20 {
		id := fmt.Appendf(nil, "http://news.example.org/%c", 'a'+i)
		learner.Add(template.Site(id), id, page(strings.Repeat(fmt.Sprintf("word%c", 'a'+i), 10)))
	}
	model := learner.Model()

	own, left := model.Suppress(nil, []byte("news.example.org"), page("A flood came in May"))
	fmt.Printf("%q, %d characters left out\n", own, left.Characters)
	// Output: "A flood came in May\n", 49 characters left out
}
