package history

import "github.com/neardup/neardup/job/internal/state"

// Folders within the run directory's state.
const (
	Folder      = "history"       // with a library: what it knows of the documents, a file for each split
	PartsFolder = "history.parts" // what an engine keeps for a resumed run: matches of splits of the library that it has finished; removed when the stage is done
)

// Unchanged is the reason of a match on which no rule gives a verdict: an earlier
// night has a document with the same id, fingerprint and length.
const Unchanged = "unchanged"

// Document is what the library knows of one of this run's documents.
type Document struct {
	Doc       uint64
	FirstSeen string   // first night that had the document's id; "" if none had
	Match     *Match   // best match in an earlier night, under another id; nil without one
	Kept      *Match   // best match among documents that were kept in their nights; may have the document's own id; nil without one
	Clusters  []string // current clusters of the earlier documents that it matches

	First, Last string // first and last night with a matching document, under any id
	Nights      int    // number of such nights
}

// Documents maps document numbers of one split to what the library knows of them.
// Documents unknown to the library are missing.
type Documents map[uint64]*Document

const kindDocuments = "neardup history 5"

// WriteDocuments writes docs as the file of a split.
func WriteDocuments(path string, docs []Document) error {
	return state.WriteGob(path, kindDocuments, docs)
}

// ReadDocuments reads what WriteDocuments wrote.
func ReadDocuments(path string) (Documents, error) {
	docs, err := state.ReadGob[[]Document](path, kindDocuments)
	byDoc := make(Documents, len(docs))
	for i := range docs {
		byDoc[docs[i].Doc] = &docs[i]
	}
	return byDoc, err
}
