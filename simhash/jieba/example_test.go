package jieba_test

import (
	"fmt"

	"github.com/neardup/neardup/simhash/jieba"
)

func Example() {
	d, err := jieba.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte("他来到了网易杭研大厦，2024年。")
	for _, w := range d.NewCutter(true).Cut(nil, text) {
		fmt.Printf("%s ", text[w.Start:w.End])
	}
	fmt.Println()
	// Output: 他 来到 了 网易 杭研 大厦 ， 2024 年 。
}

func ExampleDictionary_WithUserWords() {
	d, err := jieba.Default()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err = d.WithUserWords([]jieba.UserWord{{Text: "比特币", Tag: "n"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte("我买了比特币")
	for _, w := range d.NewCutter(true).Cut(nil, text) {
		fmt.Printf("%s/%s ", text[w.Start:w.End], d.Tag(w.ID))
	}
	fmt.Println()
	// Output: 我/r 买/v 了/ul 比特币/n
}
