package history_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/neardup/neardup/job/internal/history"
)

func TestDocumentsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "part")
	docs := []history.Document{{Doc: 7, FirstSeen: "2026-11-01"}, {Doc: 9, Match: &history.Match{Night: "2026-11-02", ID: "x", Distance: 2, Similarity: 0.9, Reason: "texts alike"}, Clusters: []string{"a", "b"}, Kept: &history.Match{Night: "2026-11-01", ID: "y"}}}
	if err := history.WriteDocuments(path, docs); err != nil {
		t.Fatal(err)
	}
	got, err := history.ReadDocuments(path)
	if err != nil || len(got) != 2 || !reflect.DeepEqual(got[7], &docs[0]) || !reflect.DeepEqual(got[9], &docs[1]) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := history.ReadDocuments(path + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
}
