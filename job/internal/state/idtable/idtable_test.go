package idtable

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// A table of ids finds the row of each that was added, and of no other.
func TestTableEqualsMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids Table
		rows := map[string]int{}
		id := rapid.Custom(func(t *rapid.T) string { return fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "id")) })
		for _, id := range rapid.SliceOfDistinct(id, rapid.ID).Draw(t, "ids") {
			rows[id] = ids.Len()
			ids.Add([]byte(id))
		}
		for i := range 201 {
			id := fmt.Sprint(i)
			want, ok := rows[id]
			if !ok {
				want = -1
			}
			if got := ids.Find([]byte(id)); got != want || ok && string(ids.At(got)) != id {
				t.Fatalf("%s is in row %d, want %d", id, got, want)
			}
		}
	})
}

func Example() {
	var ids Table
	ids.Add([]byte("https://example.org/a"))
	ids.Add([]byte("https://example.org/b"))
	fmt.Println(ids.Find([]byte("https://example.org/b")), ids.Find([]byte("https://example.org/c")))
	// Output: 1 -1
}
