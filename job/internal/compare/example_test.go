package compare

import "fmt"

func Example() {
	report, err := Dirs("runs/before", "runs/after", "length")
	fmt.Println(len(report), err)
	for _, d := range report.Defects() {
		fmt.Println(d.Kind, d.What, d.Before, d.After)
	}
	// Output:
	// 0 runs/before is no finished run
	// runs/after is no finished run
}
