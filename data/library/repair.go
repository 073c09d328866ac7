package library

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
)

// Damaged returns the names of the files that are missing or have other bytes
// than the manifest says: documents in the order of their nights, then cluster
// merges, samples and templates.
func (l *Library) Damaged(ctx context.Context) (names []string, err error) {
	m := l.manifest
	var files []File
	for _, kind := range []string{documents, merges, samples} {
		for _, n := range m.Nights {
			for _, f := range m.Files {
				if strings.HasPrefix(f.Name, kind+"/") && n.holds(f.Name) && !slices.Contains(files, f) {
					files = append(files, f)
				}
			}
		}
	}
	if m.Templates != nil {
		files = append(files, *m.Templates)
	}
	for _, f := range files {
		err := checkFile(ctx, l.Path(f.Name), f)
		if ctx.Err() != nil {
			return names, ctx.Err()
		}
		if err != nil {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// Repair makes the file of that name again, and puts it in the place of the one
// that is there if it has the bytes that the manifest says. of calls yield with
// the documents of a night as they were added, in their order; mergers, as for
// Add, with the cluster merges that it brought; templates returns what KeepTemplates
// was given. Samples are left out of the library: the pages that they are of
// are not in a run's tables, and its sites learn from the next nights. An error
// leaves the library as it is.
func (l *Library) Repair(name string, of func(n Night, yield func(*data.LibraryRow) error) error,
	mergers func(n Night, yield func(from, into []byte) error) error, templates func() ([]byte, error)) error {
	if !l.writable {
		return fmt.Errorf("library: %s was opened for reading", l.dir)
	}
	if t := l.manifest.Templates; t != nil && t.Name == name {
		blob, err := templates()
		if err != nil {
			return err
		}
		if digest(blob) != t.SHA256 {
			return errOtherBytes
		}
		return l.writeFile(name, blob)
	}
	want, ok := l.manifest.File(name)
	if !ok {
		return fmt.Errorf("library: no file is named %s", name)
	}
	if i := slices.IndexFunc(l.manifest.Nights, func(n Night) bool { return n.Samples == name }); i >= 0 {
		next := l.manifest.after()
		next.Nights[i].Samples = ""
		return l.commit(next)
	}
	// The copy stands beside the file, under a name that the next sweep removes.
	folder, base := filepath.Split(filepath.FromSlash(name))
	copied := filepath.Join(folder, "."+base+".again.tmp")
	defer func() { _ = os.Remove(l.Path(copied)) }()
	var got File
	var err error
	if !l.manifest.IsDocuments(name) {
		got, err = l.mergesAgain(name, copied, mergers)
	} else {
		got, err = l.documentsAgain(want, copied, of)
	}
	if err != nil {
		return err
	}
	if got.Bytes != want.Bytes || !strings.EqualFold(got.SHA256, want.SHA256) {
		return errOtherBytes
	}
	if err := l.fs.Rename(l.Path(copied), l.Path(name)); err != nil {
		return fmt.Errorf("library: %w", err)
	}
	return l.fs.SyncDir(filepath.Dir(l.Path(name)))
}

var errOtherBytes = errors.New("made again, it has other bytes than the manifest says: another program wrote it, or earlier nights that its rows rest on are gone")

func (l *Library) mergesAgain(name, copied string, mergers func(n Night, yield func(from, into []byte) error) error) (File, error) {
	n, _ := l.manifest.NightOf(name)
	return l.mergesTo(copied, n.Name, func(yield func(from, into []byte) error) error { return mergers(n, yield) })
}

// documentsAgain writes the file's rows: those of its night, but for those that
// deletions had removed when it was written.
func (l *Library) documentsAgain(want File, copied string, of func(n Night, yield func(*data.LibraryRow) error) error) (f File, err error) {
	w := &writer{library: l, limit: want.Rows + 1, as: copied}
	defer func() { err = errors.Join(err, w.abort()) }()
	n, _ := l.manifest.NightOf(want.Name)
	file := slices.IndexFunc(n.Extents, func(e extent) bool { return e.File == want.Name })
	if file < 0 {
		return f, fmt.Errorf("library: %s is of no night", want.Name)
	}
	before := int64(0) // rows of the night's files in front of it
	for _, e := range n.Extents[:file] {
		before += e.Rows
	}
	erased, err := l.hiddenIf(func(d deletion) bool { return d.Sequence <= want.Deleted && (!d.Once || d.At.After(n.Added)) })
	if err != nil {
		return f, err
	}
	at := int64(0)
	err = of(n, func(row *data.LibraryRow) error {
		if erased.after(row.DocID, 0) {
			return nil
		}
		if at++; at <= before || at > before+want.Rows {
			return nil
		}
		row.Night = n.Name
		return w.write(row)
	})
	if err != nil {
		return f, err
	}
	if at < before+want.Rows {
		return f, fmt.Errorf("night %s has %d rows, the manifest says %d or more", n.Name, at, before+want.Rows)
	}
	if err := w.close(); err != nil {
		return f, err
	}
	if len(w.files) != 1 {
		return f, fmt.Errorf("library: %s has no rows", want.Name)
	}
	return w.files[0], nil
}

// hiddenIf are the documents that some of the deletions hide.
func (l *Library) hiddenIf(of func(deletion) bool) (*hiding, error) {
	m := l.manifest.copy()
	m.Deletions = slices.DeleteFunc(m.Deletions, func(d deletion) bool { return !of(d) })
	return readHidden(l.dir, m)
}

// SeenBefore calls seen with the documents of earlier nights, and the night in
// which each was first seen, as they were when the night was added. Those of a
// night that has rows in a lost file come from instead.
func (l *Library) SeenBefore(ctx context.Context, n Night, lost func(file string) bool, instead func(n Night, seen func(id []byte, first string)) error, seen func(id []byte, first string)) error {
	was := *l
	var err error
	if was.hidden, err = l.hiddenIf(func(d deletion) bool { return !d.At.After(n.Added) }); err != nil {
		return err
	}
	var sound []string
	for _, o := range l.manifest.Nights {
		switch {
		case o.Name >= n.Name || o.Added.After(n.Added):
		case slices.ContainsFunc(o.Extents, func(e extent) bool { return lost(e.File) }):
			err := instead(o, func(id []byte, first string) {
				if !was.hidden.after(id, 0) {
					seen(id, first)
				}
			})
			if err != nil {
				return err
			}
		default:
			sound = append(sound, o.Name)
		}
	}
	if sound == nil {
		return nil
	}
	return was.Rows(ctx, StreamOptions{Nights: sound, Columns: []string{"doc_id", "first_seen"}}, func(row *data.LibraryRow) error {
		seen(row.DocID, row.FirstSeen)
		return nil
	})
}
