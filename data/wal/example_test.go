package wal_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/neardup/neardup/data/wal"
)

func Example() {
	dir, err := os.MkdirTemp("", "wal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "1.log")
	l, err := wal.Create(path, []byte("pages"))
	if err != nil {
		fmt.Println(err)
		return
	}
	group := wal.AppendRecord(nil, []byte("one"))
	group = wal.AppendRecord(group, []byte("two"))
	fmt.Println(l.Append(2, group), l.Close())
	err = wal.Read(path, nil, func(record []byte) error {
		fmt.Println(string(record))
		return nil
	})
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// one
	// two
	// <nil>
}
