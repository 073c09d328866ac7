package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// SettingAgainst is the setting that names the reference.
const SettingAgainst = "against.paths"

// hash writes the names and contents of the reference's files to w.
func (a Against) hash(w io.Writer) error {
	for _, path := range a.Paths {
		err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(path, file)
			if err != nil {
				return err
			}
			info, err := os.Stat(file) // of what a link leads to
			if err != nil || info.IsDir() {
				return err
			}
			fmt.Fprintf(w, "%q %d ", name, info.Size())
			return copyFile(w, file)
		})
		if err != nil {
			return &SettingError{Name: SettingAgainst, Value: path, Remedy: fmt.Sprintf("%v: name files and folders that are there", err)}
		}
	}
	return nil
}

func copyFile(w io.Writer, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.Copy(w, f)
	return err
}
