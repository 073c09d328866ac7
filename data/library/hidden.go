package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"
)

// hashBytes is the size of an id's hash: XXH3 of 128 bits, big-endian. Two of
// a billion ids share one with a probability of 10⁻²¹.
const hashBytes = 16

func hashID(id []byte) [hashBytes]byte { return xxh3.Hash128(id).Bytes() }

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// hiding tells which documents are deleted. A file takes deletions into account up
// to the sequence in its manifest entry, so only later ones are looked up for its
// rows. It is safe for concurrent use.
type hiding struct {
	ids      map[[hashBytes]byte]tombstone
	prefixes []hiddenPrefix
	latest   int64 // sequence of the last deletion
}

// tombstone has the sequence of an id's last deletion, and of the last that is not
// Once; 0: none.
type tombstone struct{ last, forever int64 }

type hiddenPrefix struct {
	text []byte
	at   int64
	once bool
}

// readHidden reads the deletions that the manifest m of the library at dir names. A
// file of them that is missing or damaged is errDamaged.
func readHidden(dir string, m *Manifest) (*hiding, error) {
	h := &hiding{ids: map[[hashBytes]byte]tombstone{}}
	for _, d := range m.Deletions {
		h.latest = max(h.latest, d.Sequence)
		for _, p := range d.Prefixes {
			h.prefixes = append(h.prefixes, hiddenPrefix{[]byte(p), d.Sequence, d.Once})
		}
		if d.IDs == 0 {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(d.File))
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%w: deletions: %w: put a backup of the file in its place", errDamaged, err)
		}
		if int64(len(text)) != d.IDs*hashBytes {
			return nil, fmt.Errorf("%w: %s has %d bytes for %d ids: put a backup of it in its place", errDamaged, path, len(text), d.IDs)
		}
		if d.SHA256 != "" && d.SHA256 != digest(text) {
			return nil, fmt.Errorf("%w: %s has other bytes than the manifest says: put a backup of it in its place", errDamaged, path)
		}
		for key := range slices.Chunk(text, hashBytes) {
			t := h.ids[[hashBytes]byte(key)]
			t.last = max(t.last, d.Sequence)
			if !d.Once {
				t.forever = max(t.forever, d.Sequence)
			}
			h.ids[[hashBytes]byte(key)] = t
		}
	}
	return h, nil
}

// after reports whether a deletion after sequence hides the document with that id.
func (h *hiding) after(id []byte, sequence int64) bool {
	if h.latest <= sequence {
		return false
	}
	for _, p := range h.prefixes {
		if p.at > sequence && bytes.HasPrefix(id, p.text) {
			return true
		}
	}
	return len(h.ids) > 0 && h.ids[hashID(id)].last > sequence
}

// forever reports whether a document with that id must not come into the
// library again.
func (h *hiding) forever(id []byte) bool {
	for _, p := range h.prefixes {
		if !p.once && bytes.HasPrefix(id, p.text) {
			return true
		}
	}
	return len(h.ids) > 0 && h.ids[hashID(id)].forever > 0
}

// Doomed names the documents to delete: by id, by prefix of the id, or both.
type Doomed struct {
	IDs      []string
	Prefixes []string // of ids, such as http://example.org/private/
	// Once lets later nights bring the documents back. Otherwise they stay out
	// of the library for good.
	Once bool
}

// Deleted is what Delete did.
type Deleted struct {
	Rows    int64    `json:"rows"`              // hidden by this deletion
	Unknown []string `json:"unknown,omitempty"` // ids, in order, that no night has: mistaken, or deleted before
}

// Delete hides the documents from every later result. Their bytes stay in the files
// until Compact. The library keeps hashes of the ids, and the prefixes as text.
func (l *Library) Delete(ctx context.Context, d Doomed) (done Deleted, err error) {
	next := l.manifest.after()
	entry := deletion{Sequence: next.Sequence, At: l.now().UTC().Truncate(time.Second), Once: d.Once, Prefixes: slices.Clone(d.Prefixes)}
	if slices.Contains(d.Prefixes, "") {
		return done, errors.New("library: an empty prefix would delete everything: name one, or remove the folder")
	}
	known := make(map[[hashBytes]byte]bool, len(d.IDs))
	for _, id := range d.IDs {
		known[hashID([]byte(id))] = false
	}
	if len(known) == 0 && len(d.Prefixes) == 0 {
		return done, errors.New("library: no id and no prefix to delete")
	}
	if !l.writable {
		return done, fmt.Errorf("library: %s was opened for reading", l.dir)
	}
	keys := slices.SortedFunc(maps.Keys(known), func(a, b [hashBytes]byte) int { return bytes.Compare(a[:], b[:]) })
	text := make([]byte, 0, len(keys)*hashBytes)
	for _, k := range keys {
		text = append(text, k[:]...)
	}
	// Without ids too: the file shows that there was this change.
	entry.IDs, entry.File = int64(len(keys)), fmt.Sprintf("%s/%08d.ids", deletions, next.Sequence)
	entry.SHA256 = digest(text)
	if err := l.put(entry.File, text); err != nil {
		return done, fmt.Errorf("library: %w", err)
	}
	next.Deletions = append(next.Deletions, entry)
	hidden, err := readHidden(l.dir, next)
	if err != nil {
		return done, err
	}
	counts, err := l.countHidden(ctx, hidden, func(id []byte, deleted int64) {
		if len(known) == 0 {
			return
		}
		key := hashID(id)
		if found, asked := known[key]; asked && !found {
			known[key] = !l.hidden.after(id, deleted)
		}
	})
	if err != nil {
		return done, err
	}
	for _, id := range d.IDs {
		if key := hashID([]byte(id)); !known[key] {
			done.Unknown = append(done.Unknown, id)
			known[key] = true // named once
		}
	}
	for i := range next.Nights {
		n := &next.Nights[i]
		done.Rows += counts[n.Name] - n.Deleted
		n.Deleted = counts[n.Name]
	}
	return done, l.commit(next)
}

// countHidden counts, by night, the rows that are hidden. each is told of every
// row, with the sequence up to which its file knows deletions.
func (l *Library) countHidden(ctx context.Context, hidden *hiding, each func(id []byte, deleted int64)) (map[string]int64, error) {
	all := *l
	all.hidden = &hiding{} // sees every row
	counts := map[string]int64{}
	err := all.Stream(ctx, StreamOptions{Columns: []string{"doc_id"}, Workers: 1}, func(_ int, b *Batch) error {
		for i := range b.Rows {
			id := b.Rows[i].DocID
			each(id, b.deleted)
			if hidden.after(id, b.deleted) {
				counts[b.Night]++
			}
		}
		return nil
	})
	return counts, err
}

// Expire removes the nights dated before the day, and returns them.
func (l *Library) Expire(before time.Time) ([]Night, error) {
	return l.remove(func(n Night) bool {
		date, err := checkNight(n.Name)
		return err == nil && date.Before(before)
	})
}

// RemoveNights removes the nights of these names; it is an error if there is
// one that the library does not have.
func (l *Library) RemoveNights(names ...string) ([]Night, error) {
	for _, name := range names {
		if _, ok := l.manifest.night(name); !ok {
			var have []string
			for _, n := range l.manifest.Nights {
				have = append(have, n.Name)
			}
			return nil, fmt.Errorf("library: it has no night %q; there are: %s", name, strings.Join(have, ", "))
		}
	}
	return l.remove(func(n Night) bool { return slices.Contains(names, n.Name) })
}

// remove drops nights.
func (l *Library) remove(doomed func(Night) bool) (gone []Night, err error) {
	next := l.manifest.after()
	next.Nights = slices.DeleteFunc(next.Nights, func(n Night) bool {
		if doomed(n) {
			gone = append(gone, n)
			return true
		}
		return false
	})
	if len(gone) == 0 {
		return nil, nil
	}
	return gone, l.commit(next)
}

// Hides reports whether a deletion after sequence hides the document with that id.
// For a row of a file, sequence is the file's Deleted. It is safe for concurrent use.
func (l *Library) Hides(id []byte, sequence int64) bool { return l.hidden.after(id, sequence) }

// Forever reports of an id whether its document must not come into the library
// again; nil: there is none that must not. It is safe for concurrent use.
func (l *Library) Forever() func(id []byte) bool {
	if len(l.hidden.ids) == 0 && len(l.hidden.prefixes) == 0 {
		return nil
	}
	return l.hidden.forever
}
