package eval_test

import (
	"context"
	"fmt"

	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/labels"
)

func Example() {
	text := "昨天下午三点，市图书馆新馆正式对读者开放，首日接待了两千多人。馆内新增了儿童阅览室，还有自助借还机和咖啡厅，许多读者带着孩子前来参观。"
	c := &eval.Corpus{Documents: []eval.Document{
		{ID: "a", Text: []byte(text)},
		{ID: "b", Text: []byte(text + "责任编辑：王明。")},
		{ID: "c", Text: []byte("城市交通部门宣布，从下周一起调整早晚高峰的公交线路，并且增加地铁班次，以缓解拥堵。")},
	}}
	if err := c.Label([]labels.Pair{{A: "a", B: "b", Answer: labels.Yes}}); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	lab, err := eval.New(ctx, c, eval.Options{Half: eval.AllPairs})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = lab.Close() }()
	result, err := lab.Measure(ctx, eval.Preset("balanced"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Pairs, result.Precision.Value, result.Recall.Value)
	// Output: 1 1 1
}
