package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/stage"
)

// errNoRun is returned for a night of which no run directory was named.
var errNoRun = errors.New("its run directory was not named")

// Repair writes the damaged files of a library again, from the run directories of
// their nights. It does not touch sound files, and replaces a file only by one with
// exactly the bytes that the manifest states. It calls told for each damaged file.
// left says why the file was left as it is; it is nil if the file is sound now, or if
// the library can do without it.
func Repair(ctx context.Context, l *library.Library, runs []string, told func(file string, left error)) error {
	lost, err := l.Damaged(ctx)
	if err != nil {
		return err
	}
	r := repair{l, lost, map[string]*nightRun{}, map[string]map[xxh3.Uint128]string{}}
	for _, path := range runs {
		if err := r.open(path); err != nil {
			return err
		}
	}
	for _, file := range lost {
		err := l.Repair(file, func(n library.Night, yield func(*data.LibraryRow) error) error {
			return r.rows(ctx, n, yield)
		}, r.merges, r.templates)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if told(file, err); err == nil {
			r.lost = slices.DeleteFunc(slices.Clone(r.lost), func(name string) bool { return name == file })
		}
	}
	return nil
}

// repair is one call of Repair.
type repair struct {
	library *library.Library
	lost    []string
	runs    map[string]*nightRun               // by night and hash, see key
	first   map[string]map[xxh3.Uint128]string // by night, then by hash of the id: when it was first seen
}

// nightRun is the run of a night.
type nightRun struct {
	path     string
	dir      *rundir.Dir
	manifest rundir.Manifest
}

func (r *repair) open(path string) error {
	n := &nightRun{path: path}
	var err error
	if n.dir, err = rundir.Attach(path); err != nil {
		return err
	}
	if err := rundir.ReadJSON(n.dir.Path(rundir.ManifestFile), &n.manifest); err != nil {
		return err
	}
	c, err := config.Recorded(n.manifest.Config)
	if err != nil {
		return err
	}
	if c.Library.Night == "" {
		return fmt.Errorf("%s is no run with a library", path)
	}
	r.runs[c.Library.Night+" "+n.manifest.ConfigHash] = n
	return nil
}

func (repair) key(n library.Night) string {
	hash, _, _ := strings.Cut(n.Run, "-")
	return n.Name + " " + hash
}

// of returns the night's run.
func (r *repair) of(n library.Night) (*nightRun, error) {
	if run := r.runs[r.key(n)]; run != nil {
		return run, nil
	}
	return nil, fmt.Errorf("night %s: %w", n.Name, errNoRun)
}

// rows yields the documents of a night as its run added them: the first of each
// id, with the night in which it was first seen, and its cluster.
func (r *repair) rows(ctx context.Context, n library.Night, yield func(*data.LibraryRow) error) error {
	run, err := r.of(n)
	if err != nil {
		return err
	}
	first, err := r.firstSeen(ctx, n)
	if err != nil {
		return err
	}
	had := make(map[xxh3.Uint128]bool, len(first))
	for task := range run.manifest.Splits {
		if err := run.split(ctx, task, first, had, yield); err != nil {
			return err
		}
	}
	return nil
}

// firstSeen says of the ids of a night, by their hashes, when they were first
// seen.
func (r *repair) firstSeen(ctx context.Context, n library.Night) (map[xxh3.Uint128]string, error) {
	if first := r.first[n.Name]; first != nil {
		return first, nil
	}
	run, err := r.of(n)
	if err != nil {
		return nil, err
	}
	first := map[xxh3.Uint128]string{}
	err = run.ids(ctx, func(id []byte) { first[xxh3.Hash128(id)] = n.Name })
	if err != nil {
		return nil, err
	}
	err = r.library.SeenBefore(ctx, n, func(file string) bool { return slices.Contains(r.lost, file) },
		func(o library.Night, seen func(id []byte, first string)) error {
			firstSeen, err := r.firstSeen(ctx, o)
			if err != nil {
				return err
			}
			return r.runs[r.key(o)].ids(ctx, func(id []byte) { seen(id, firstSeen[xxh3.Hash128(id)]) })
		},
		func(id []byte, night string) {
			if hash := xxh3.Hash128(id); night < first[hash] {
				first[hash] = night
			}
		})
	if err != nil {
		return nil, err
	}
	r.first[n.Name] = first
	return first, nil
}

// ids calls yield with the ids of all documents of the run.
func (n *nightRun) ids(ctx context.Context, yield func(id []byte)) error {
	for task := range n.manifest.Splits {
		err := corpus.EachFingerprinted(ctx, n.dir, task, []string{"doc_id"}, func(row *data.LibraryRow) error {
			yield(row.DocID)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// split yields the documents of a split whose ids it has not had.
func (n *nightRun) split(ctx context.Context, task int, first map[xxh3.Uint128]string, had map[xxh3.Uint128]bool, yield func(*data.LibraryRow) error) (err error) {
	clustered, end, err := withClusters(n.dir, task, yield)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	return corpus.EachFingerprinted(ctx, n.dir, task, nightColumns, func(row *data.LibraryRow) error {
		hash := xxh3.Hash128(row.DocID)
		if had[hash] {
			return nil
		}
		had[hash] = true
		row.FirstSeen = first[hash]
		return clustered(row)
	})
}

// merges yields the cluster merges that a night brought.
func (r *repair) merges(n library.Night, yield func(from, into []byte) error) error {
	run, err := r.of(n)
	if err != nil {
		return err
	}
	var counts stage.Counts
	if err := rundir.ReadJSON(run.dir.Path(rundir.State, stage.CountsFile), &counts); err != nil {
		return err
	}
	return counts.EachMerge(yield)
}

// templates returns the library's templates, from a run whose file has the checksum
// that the manifest states.
func (r *repair) templates() ([]byte, error) {
	want := r.library.Manifest().Templates
	var wrong []error
	for _, run := range r.runs {
		blob, err := os.ReadFile(method.TemplatesPath(run.path))
		if sum := sha256.Sum256(blob); hex.EncodeToString(sum[:]) == want.SHA256 {
			return blob, nil
		}
		wrong = append(wrong, err)
	}
	return nil, errors.Join(append(wrong, fmt.Errorf("the run that learned them last: %w", errNoRun))...)
}
