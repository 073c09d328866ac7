package library_test

import (
	"context"
	"fmt"
	"os"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
)

func Example() {
	err := func() error {
		dir, err := os.MkdirTemp("", "library-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		ctx := context.Background()
		l, err := library.Lock(ctx, dir, library.Options{})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := l.Settle(64, map[string]string{"features.kind": "words"}, nil); err != nil {
			return err
		}
		for _, night := range []string{"2026-11-20", "2026-11-21"} {
			_, _, err := l.Add(ctx, night, "", func(yield func(*data.LibraryRow) error) error {
				return yield(&data.LibraryRow{DocID: []byte("http://example.org/"), Lo: 7, LengthClass: "normal", FirstSeen: "2026-11-20"})
			}, nil)
			if err != nil {
				return err
			}
		}
		return l.Rows(ctx, library.StreamOptions{}, func(row *data.LibraryRow) error {
			fmt.Printf("%s %s, first seen %s\n", row.Night, row.DocID, row.FirstSeen)
			return nil
		})
	}()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2026-11-20 http://example.org/, first seen 2026-11-20
	// 2026-11-21 http://example.org/, first seen 2026-11-20
}
