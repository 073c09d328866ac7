package losses

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/state"
)

// What two splits lose is what one would that has the documents of both, and what is
// read is what was written.
func TestSplitsAddUp(t *testing.T) {
	whole, dir := New(), t.TempDir()
	together := New()
	for split := range 2 {
		l := New()
		for _, each := range []*Losses{whole, l} {
			for i := range 20 {
				site := []byte(fmt.Sprintf("site%d.example", (i+split)%7))
				each.Document(site)
				each.Removed(&data.RemovedRow{DocID: []byte{byte(i)}, KeptID: []byte{byte(i % 3)}, Site: site})
				each.Member(&data.ClusterRow{ClusterID: []byte{'a' + byte(i%2)}, Size: int32(8 + 4*(i%2)), Site: site})
			}
		}
		path := filepath.Join(dir, fmt.Sprint(split))
		if err := l.Write(path); err != nil {
			t.Fatal(err)
		}
		back, err := Read(path)
		if err != nil || !reflect.DeepEqual(back, l) {
			t.Fatalf("%v, %+v, want %+v", err, back, l)
		}
		together.Take(back)
	}
	if !reflect.DeepEqual(together, whole) || len(whole.Sites) != 7 || len(whole.Clusters) != 1 {
		t.Errorf("%+v, want %+v", together, whole)
	}
	path := filepath.Join(dir, "0")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, state.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
}

func Example() {
	l := New()
	l.Document([]byte("mirror.example"))
	l.Removed(&data.RemovedRow{DocID: []byte("http://mirror.example/1"), KeptID: []byte("http://origin.example/1"), Site: []byte("mirror.example")})
	fmt.Printf("%+v\n", l.Sites["mirror.example"])
	// Output: {Documents:1 Lost:1}
}
