package library

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zeebo/xxh3"
)

// Verify reads everything and returns what is wrong, one line each: files that
// are missing or have other bytes than the manifest says, rows that are not of
// their night, ids that stand in a night twice, counts that are not so, and
// files that no change of the library wrote.
func (l *Library) Verify(ctx context.Context) (wrong []string, err error) {
	if err := l.Behind(); err != nil {
		wrong = append(wrong, err.Error())
	}
	removable := l.removable()
	for _, name := range l.stray() {
		if !removable(name) {
			wrong = append(wrong, fmt.Sprintf("%s: no change that %s tells of wrote it: `neardup library repair` adopts it where a manifest in %s names it, else move it out of the library", l.Path(name), ManifestFile, changes))
		}
	}
	sound := map[string]bool{}
	advance := l.reads(l.manifest.Bytes(), "bytes")
	for _, f := range l.manifest.Files {
		if err := ctx.Err(); err != nil {
			return wrong, err
		}
		err := checkFile(ctx, l.Path(f.Name), f)
		if advance(f.Bytes); ctx.Err() != nil {
			return wrong, ctx.Err()
		}
		if err != nil {
			n, _ := l.manifest.NightOf(f.Name)
			wrong = append(wrong, fmt.Sprintf("%v; it holds night %s", err, n.Name))
			continue
		}
		sound[f.Name] = true
	}
	if t := l.manifest.Templates; t != nil {
		if err := checkFile(ctx, l.Path(t.Name), *t); err != nil {
			wrong = append(wrong, fmt.Sprintf("%v; it holds the templates of sites", err))
		}
	}
	advance = l.reads(l.manifest.Rows(), "rows")
	for _, n := range l.manifest.Nights {
		whole := true
		for _, e := range n.Extents {
			whole = whole && sound[e.File]
		}
		if !whole {
			continue
		}
		err := l.verifyNight(ctx, n)
		if advance(n.Live()); ctx.Err() != nil {
			return wrong, ctx.Err()
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	return wrong, nil
}

func (l *Library) verifyNight(ctx context.Context, n Night) error {
	deleted := int64(0)
	hashes := make([]uint64, 0, n.Rows)
	all := *l
	all.hidden, all.reading = &hiding{}, nil
	err := all.Stream(ctx, StreamOptions{Nights: []string{n.Name}, Columns: []string{"doc_id", "first_seen", "night"}, Workers: 1}, func(_ int, b *Batch) error {
		for i := range b.Rows {
			row := &b.Rows[i]
			hashes = append(hashes, xxh3.Hash(row.DocID))
			if l.hidden.after(row.DocID, b.deleted) {
				deleted++
			}
			if row.FirstSeen > n.Name || row.FirstSeen == "" {
				return fmt.Errorf("night %s: document %q was first seen in %q", n.Name, row.DocID, row.FirstSeen)
			}
			if row.Night != n.Name {
				return fmt.Errorf("night %s: holds a row of night %q", n.Name, row.Night)
			}
		}
		return nil
	})
	rows := int64(len(hashes))
	twice := repeated(hashes)
	switch {
	case err != nil:
		return err
	case twice > 0:
		return fmt.Errorf("night %s: %d of %d documents have an id that stands in it more than once", n.Name, twice, rows)
	case rows != n.Rows:
		return fmt.Errorf("night %s: %d rows, the manifest says %d", n.Name, rows, n.Rows)
	case deleted != n.Deleted:
		return fmt.Errorf("night %s: %d rows are deleted, the manifest says %d", n.Name, deleted, n.Deleted)
	}
	return nil
}

// sound is an error unless the file is what the manifest says of it.
func (l *Library) sound(ctx context.Context, f File) error {
	err := checkFile(ctx, l.Path(f.Name), f)
	if err != nil && ctx.Err() == nil {
		return l.damaged(err)
	}
	return err
}

// checkFile compares a file with what the manifest says of it.
func checkFile(ctx context.Context, path string, want File) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	n, err := io.Copy(h, reading{ctx, f})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); n != want.Bytes || !strings.EqualFold(got, want.SHA256) {
		return fmt.Errorf("%s: %d bytes with SHA-256 %s, the manifest says %d with %s", path, n, got, want.Bytes, want.SHA256)
	}
	return nil
}

// reading ends when ctx does.
type reading struct {
	ctx context.Context
	in  io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}
