package dedup_test

import (
	"fmt"

	"github.com/neardup/neardup/job/dedup"
	"github.com/neardup/neardup/simhash"
)

func Example() {
	texts := []string{
		"两兄弟为一堵墙十年不说话，法庭里一碗茶下去，眼圈都红了。判决生效以后才是难处，人找不到，房子早已过到了别人名下。",
		"The committee met on Tuesday to discuss the new library, and put the vote off until the spring, when the costs are known.",
		"两兄弟为一堵墙十年不说话，法庭里一碗茶下去，眼圈都红了。判决生效之后才是难处，人找不到，房子早已过到了别人名下。",
		"Boil the potatoes in salted water for twenty minutes, drain them, and mash them with butter while they are still hot.",
	}
	groups, err := dedup.Dedup(texts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range groups {
		fmt.Println("texts", g.Texts, "are nearly the same, keep", g.Keep)
	}
	// Output:
	// texts [0 2] are nearly the same, keep 0
}

func ExamplePairs() {
	var prints []simhash.Fingerprint
	for _, text := range []string{
		"a lazy dog sleeps in the warm afternoon sun beside an old red barn",
		"quarterly earnings of the shipping company rose by eleven percent",
		"A lazy dog sleeps in the warm afternoon sun, beside an old red barn!",
	} {
		f, err := dedup.Fingerprint(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		prints = append(prints, f)
	}
	found, err := dedup.Pairs(prints, 3)
	fmt.Println(found, err)
	// Output:
	// [{0 2 0}] <nil>
}
