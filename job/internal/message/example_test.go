package message_test

import (
	"fmt"

	"github.com/neardup/neardup/job/internal/message"
)

func Example() {
	for _, l := range []message.Language{message.English, message.Parse("zh_CN.UTF-8")} {
		fmt.Println(l.Text("clusters"), l.Text("%d with %s", 1234, l.Count(5678, "document")))
	}
	// Output:
	// clusters 1,234 with 5,678 documents
	// 簇 1,234 个，共 5,678 篇文档
}
