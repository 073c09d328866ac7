package passage_test

import (
	"fmt"

	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/passage"
)

func Example() {
	var letters simhash.LetterReader
	var b passage.Builder
	question := "Which river flows through the most capital cities of Europe before it reaches the sea?"
	if _, err := b.Add(letters.Read(nil, []byte(question))); err != nil {
		panic(err)
	}
	s := passage.NewSearcher(b.Build(), passage.Rules{Share: 0.7})
	doc := "Quiz night at the Old Bridge, again, and it rained. Which river flows through most capital cities of Europe, before it reaches the sea? Nobody knew."
	for _, h := range s.Search(letters.Read(nil, []byte(doc))) {
		at := letters.Cursor([]byte(doc))
		from, to := at.Start(h.From), at.End(h.To)
		fmt.Printf("%s %.2f %s\n", h.Verdict, h.Share, doc[from.Byte:to.Byte])
	}
	// Output: carries 0.96 Which river flows through most capital cities of Europe, before it reaches the sea
}
