package sketch_test

import (
	"fmt"

	"github.com/neardup/neardup/simhash/sketch"
)

func Example() {
	a := []byte("本报讯，昨天下午三点，市图书馆新馆正式对读者开放，首日接待了两千多人，馆内新增了儿童阅览室。")
	b := []byte("本报讯，昨天下午三点，市图书馆新馆正式对读者开放，首日接待了近三千人，馆内新增了儿童阅览室。")

	var maker sketch.Maker // one per goroutine
	var short sketch.Short // so is this
	var x, y sketch.Sketch
	maker.Sketch(&x, a)
	maker.Sketch(&y, b)
	estimate := sketch.Estimate(sketch.Differ(&x, &y))
	exact, _ := sketch.Overlap(sketch.Shingles(nil, a), sketch.Shingles(nil, b))
	fmt.Printf("estimate %.2f, exact %.2f\n", estimate, exact)

	rules := sketch.Thorough()
	length := 46 // characters of the shorter text
	verdict := rules.Judge(estimate, length)
	if verdict.Open {
		verdict, _ = rules.Settle(&short, sketch.Letters(nil, a), sketch.Letters(nil, b), exact, length)
	}
	fmt.Println(verdict.Same, verdict.Reason)
	// Output:
	// estimate 0.62, exact 0.68
	// true texts alike
}

func ExampleShort() {
	a, _ := sketch.ShortText(nil, []byte("陈乔恩手机号码遭泄露"))
	b, _ := sketch.ShortText(nil, []byte("陈乔恩 手机的号码遭到泄露!"))
	var s sketch.Short
	verdict, edits := s.Judge(a, b)
	fmt.Println(edits, verdict.Reason)
	// Output: 2 short, few edits
}
