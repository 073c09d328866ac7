package parquet

// ReadInfo returns what the metadata of the Parquet file at path says of it,
// a table of neardup's or not.
func ReadInfo(path string) (Info, error) {
	in, err := openInput(path, nil)
	if err != nil {
		return Info{}, err
	}
	return in.info(), in.Close()
}
