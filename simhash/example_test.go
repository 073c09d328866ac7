package simhash_test

import (
	"fmt"

	"github.com/neardup/neardup/simhash"
)

func Example() {
	o := simhash.DefaultOptions()
	o.MinFeatures = 4
	analyzer, err := simhash.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := analyzer.NewWorkspace() // one per goroutine
	a := w.Fingerprint([]byte("标题"), []byte("我来到北京清华大学，今天的天气很好。"))
	b := w.Fingerprint([]byte("標題"), []byte("我來到北京清華大學　今天的天氣很好！"))
	fmt.Println(a.LengthClass, a.Features, a.Length)
	fmt.Println(simhash.Distance(a.Fingerprint, b.Fingerprint), simhash.Similarity(a.Fingerprint, b.Fingerprint, 64))
	// Output:
	// normal 6 18
	// 0 1
}

func ExampleWorkspace_Features() {
	o := simhash.DefaultOptions()
	o.TitleWeight = 3
	analyzer, err := simhash.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range analyzer.NewWorkspace().Features(nil, []byte("Golang 语言"), []byte("Ｇｏｌａｎｇ語言的標準庫、Don’t panic, カナ")) {
		fmt.Println(f.Text, f.Weight)
	}
	// Output:
	// golang 4
	// 语言 4
	// panic 1
	// カナ 1
	// 库 1
	// 标准 1
}

func ExampleLayout() {
	layout, err := simhash.NewLayout(64, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := simhash.Fingerprint{Lo: 0x1f3c00420000abcd}
	for table := range layout.Tables() {
		key, suffix := layout.Key(table, f)
		fmt.Println(key, suffix.Hex(64), layout.Join(key, suffix) == f)
	}
	// Output:
	// 00A:1f3c 000000420000abcd true
	// 01B:0042 00001f3c0000abcd true
	// 10C:0000 00001f3c0042abcd true
	// 11D:abcd 00001f3c00420000 true
}
