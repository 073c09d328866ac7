package lookup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/lock"
	"github.com/neardup/neardup/data/wal"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/corpus"
	"github.com/neardup/neardup/job/internal/history"
	"github.com/neardup/neardup/job/internal/version"
	"github.com/neardup/neardup/simhash/template"
)

// MadeNight describes a night that was made of added pages.
type MadeNight struct {
	Night     string `json:"night"`
	Documents int64  `json:"documents"`
	Merges    int    `json:"merges"`         // of clusters
	Lost      int    `json:"lost,omitempty"` // damaged stretches of the log that were skipped
}

// NightOptions of MakeNights.
type NightOptions struct {
	Library     library.Options
	SkipDamaged bool        // skip what cannot be read of the log
	Warn        func(error) // called for what was skipped or cut off
}

// MakeNights makes a night of each log file of the library at dir and removes the
// file. It fails if a service has the log. With an error it returns the nights made
// before.
func MakeNights(ctx context.Context, dir string, o NightOptions) (made []MadeNight, err error) {
	m, err := library.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	paths, err := LogFiles(dir)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	held, err := lock.Take(ctx, filepath.Join(dir, library.Added, lockName), lock.Options{Limit: -1})
	if err != nil {
		return nil, fmt.Errorf("%w: a service takes pages: ask it, by POST /nights", err)
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	settings, err := checksumOf(m)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Recorded(m.Config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, library.ManifestFile), err)
	}
	for _, path := range paths {
		of, err := readMeta(path, settings)
		if err != nil {
			return made, err
		}
		if !o.SkipDamaged { // cut off what an interrupted last write left
			out, cut, err := wal.Open(path, func([]byte) error { return nil })
			if err != nil {
				return made, fmt.Errorf("%w: --skip-damaged makes a night of what can be read", err)
			}
			if err := out.Close(); err != nil {
				return made, err
			}
			if cut > 0 {
				o.Warn(fmt.Errorf("%s: the last %d bytes are of a write that did not end: what nobody was answered for is cut off", path, cut))
			}
		}
		n := nightMaker{dir: dir, path: path, token: of.Token, config: cfg, options: o.Library, step: func(string) error { return nil }}
		if o.SkipDamaged {
			n.damaged = func(err error) { n.done.Lost++; o.Warn(err) }
		}
		if err := n.make(ctx); err != nil {
			return made, err
		}
		if n.done.Night != "" {
			made = append(made, n.done)
		}
		if err := wal.Remove(path); err != nil {
			return made, err
		}
	}
	return made, nil
}

// nightMaker makes a night of a log file. It can be run again after a crash: if the
// library has a night with the file's token, there is nothing left to do.
type nightMaker struct {
	dir, path, token string
	config           config.Config
	options          library.Options
	damaged          func(error)             // for wal.Read
	named            func(night string)      // called before a night of that name exists; may be nil
	step             func(step string) error // see AddedOptions

	done MadeNight
}

// make makes the night, or finds the one that was made of the file before, and
// describes it in n.done. If all of the file's pages have been deleted, it makes none.
func (n *nightMaker) make(ctx context.Context) (err error) {
	var rows []data.LibraryRow
	var changes []int64
	if rows, changes, err = n.rows(); err != nil {
		return err
	}
	l, err := library.Lock(ctx, n.dir, n.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	m := l.Manifest()
	for _, have := range m.Nights {
		if have.Run == n.token {
			n.name(have.Name)
			n.done.Documents = have.Rows
			return nil
		}
	}
	at := 0
	rows = slices.DeleteFunc(rows, func(row data.LibraryRow) bool {
		at++
		return l.Hides(row.DocID, changes[at-1])
	})
	if len(rows) == 0 {
		return nil
	}
	n.name(nextNight(m, time.Now()))
	if err := n.step("named"); err != nil {
		return err
	}
	merges, err := n.descend(ctx, l, rows)
	if err != nil {
		return err
	}
	if err := n.step("matched"); err != nil {
		return err
	}
	added, _, err := l.Add(ctx, n.done.Night, n.token, func(yield func(*data.LibraryRow) error) error {
		for i := range rows {
			if err := yield(&rows[i]); err != nil {
				return err
			}
			if i == len(rows)/2 {
				if err := n.step("half"); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(yield func(from, into []byte) error) error {
		for _, m := range merges {
			if err := yield([]byte(m.From), []byte(m.Into)); err != nil {
				return err
			}
		}
		return n.step("merges")
	})
	n.done.Documents, n.done.Merges = added.Rows, len(merges)
	return err
}

func (n *nightMaker) name(night string) {
	if n.done.Night = night; n.named != nil {
		n.named(night)
	}
}

// nextNight returns the first unused name for a night of added pages of today's date
// (UTC).
func nextNight(m *library.Manifest, now time.Time) string {
	for i := 1; ; i++ {
		name := fmt.Sprintf("%s.added-%04d", now.UTC().Format(time.DateOnly), i)
		if _, ok := m.Night(name); !ok {
			return name
		}
	}
}

// rows returns the newest version of each id in the file, in the order in which the ids
// first came, and for each the library's change when that version was added.
func (n *nightMaker) rows() (rows []data.LibraryRow, changes []int64, err error) {
	at := map[string]int{}
	extracted := false
	err = wal.Read(n.path, n.damaged, func(record []byte) error {
		var p addedPage
		if err := p.decode(record); err != nil {
			return fmt.Errorf("%s: %w", n.path, err)
		}
		extracted = extracted || p.extracted
		p.row.Site = template.Site(p.row.DocID)
		i, ok := at[string(p.row.DocID)]
		if !ok {
			at[string(p.row.DocID)] = len(rows)
			rows, changes = append(rows, p.row), append(changes, p.change)
			return nil
		}
		rows[i], changes[i] = p.row, p.change
		return nil
	})
	if extracted {
		n.options.Extractor = warc.Extractor
	}
	return rows, changes, err
}

// descend fills in what a run would have found out about the rows: FirstSeen, Cluster
// and Kept. Of pages that are duplicates of each other the earliest is kept; none
// is, if an earlier night has a duplicate. It returns the merges of earlier clusters
// that the pages connect.
func (n *nightMaker) descend(ctx context.Context, l *library.Library, rows []data.LibraryRow) ([]history.Merge, error) {
	cfg := n.config
	cfg.Library = config.Library{Path: n.dir, Night: n.done.Night}
	workers := max(runtime.GOMAXPROCS(0)-1, 1) // leave one for look-ups
	night := corpus.NewNight(cfg, workers, rows)
	known := night.NewMatches(l.Manifest())
	splits, err := l.Splits(night.Before(), 1<<20)
	if err != nil {
		return nil, err
	}
	if err := night.Join(ctx, l, splits, workers, known, func(int64) {}); err != nil {
		return nil, err
	}
	components := newComponents(night.Views.Len())
	kept := make([]bool, night.Views.Len()) // by unit: a document of it is kept
	err = night.Pairs(ctx, func(unit uint32, same []corpus.Same) {
		_, goes := known.Kept(unit)
		for _, s := range same {
			components.join(unit, s.Unit)
			goes = goes || s.Proven && kept[s.Unit]
		}
		kept[unit] = !goes
	})
	if err != nil {
		return nil, err
	}
	members, first := make([]int, night.Views.Len()), make([]int, night.Views.Len()) // by component
	for row, unit := range slices.Backward(night.Units) {
		if unit != corpus.NoUnit {
			root := components.root(unit)
			members[root]++
			first[root] = row
		}
	}
	ids, merges, err := n.components(ctx, l, known, components, func(root uint32) ([]byte, bool) { return rows[first[root]].DocID, members[root] > 1 })
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row := &rows[i]
		row.Night, row.FirstSeen = n.done.Night, n.done.Night
		if seen := known.FirstSeen(i); seen != "" {
			row.FirstSeen = seen
		}
		unit := night.Units[i]
		if unit == corpus.NoUnit {
			row.Kept = known.Unchanged(i) == ""
			continue
		}
		row.Cluster = []byte(ids[components.root(unit)])
		row.Kept, kept[unit] = kept[unit], false // the first of equal ones
	}
	return merges, nil
}

// components returns the cluster ids of the components, by root, and the merges of
// earlier clusters. A single document without a similar one has no id. founder
// returns the id of a component's first document, and whether it has further ones.
func (n *nightMaker) components(ctx context.Context, l *library.Library, known *history.Matches, components *components, founder func(root uint32) (id []byte, more bool)) (map[uint32]string, []history.Merge, error) {
	continued := map[uint32][]string{}
	var all []string
	for u := range uint32(known.Units()) { //nolint:gosec // they are counted in 32 bits
		of := known.Clusters(u)
		if len(of) > 0 {
			root := components.root(u)
			continued[root] = append(continued[root], of...)
			all = append(all, of...)
		}
	}
	today, err := l.Current(ctx, n.done.Night, all)
	if err != nil {
		return nil, nil, err
	}
	var roots []uint32
	var descents []history.Descent
	for u := range uint32(known.Units()) { //nolint:gosec // they are counted in 32 bits
		id, more := founder(u)
		if components.root(u) != u || !more && len(continued[u]) == 0 {
			continue
		}
		for i, c := range continued[u] {
			if now, ok := today[c]; ok {
				continued[u][i] = now
			}
		}
		slices.Sort(continued[u])
		roots = append(roots, u)
		descents = append(descents, history.Descent{Founded: history.FoundedCluster(n.done.Night, id), Continues: slices.Compact(continued[u])})
	}
	names, merges := history.Descend(descents)
	ids := make(map[uint32]string, len(roots))
	for i, root := range roots {
		ids[root] = names[i]
	}
	return ids, merges, nil
}

// components is a union-find structure over units. The smallest unit of a component
// is its root.
type components struct{ parent []uint32 }

func newComponents(n int) *components {
	c := &components{make([]uint32, n)}
	for i := range c.parent {
		c.parent[i] = uint32(i) //nolint:gosec // units are counted in 32 bits
	}
	return c
}

func (c *components) root(u uint32) uint32 {
	for c.parent[u] != u {
		c.parent[u] = c.parent[c.parent[u]]
		u = c.parent[u]
	}
	return u
}

func (c *components) join(a, b uint32) {
	a, b = c.root(a), c.root(b)
	c.parent[max(a, b)] = min(a, b)
}

// Night makes nights of all pages added so far, and returns when look-ups find them in
// the library. Meanwhile pages are added to the next file. It waits up to
// AddedOptions.Wait for a library that another process holds.
func (a *Added) Night(ctx context.Context) (made []MadeNight, err error) {
	a.nights.Lock()
	defer a.nights.Unlock()
	rotated := make(chan error, 1)
	select {
	case a.rotates <- rotated:
	case <-a.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := <-rotated; err != nil {
		return nil, err
	}
	return a.settle(ctx)
}

// settle makes a night of each file but the last, to which pages are still added. The
// caller holds nights.
func (a *Added) settle(ctx context.Context) (made []MadeNight, err error) {
	a.mu.RLock()
	files := slices.Clone(a.files[:len(a.files)-1])
	a.mu.RUnlock()
	for _, r := range files {
		n, err := a.settleFile(ctx, r)
		if err != nil {
			return made, err
		}
		if n.Night != "" {
			made = append(made, n)
		}
	}
	return made, nil
}

func (a *Added) settleFile(ctx context.Context, r *recent) (made MadeNight, err error) {
	x := a.index
	if !r.made {
		n := nightMaker{
			dir: x.dir, path: r.path, token: r.token, config: x.config, step: a.o.Step,
			options: library.Options{Version: version.Version, Wait: a.o.Wait},
			named: func(night string) {
				a.mu.Lock()
				defer a.mu.Unlock()
				r.night = night
			},
		}
		if err := n.make(ctx); err != nil {
			return made, err
		}
		if err := a.o.Step("night"); err != nil {
			return made, err
		}
		r.made, made = true, n.done
		a.log.Info("what has been added is a night", "night", made.Night, "documents", made.Documents)
	}
	if err := wal.Remove(r.path); err != nil {
		return made, err
	}
	if err := a.o.Step("removed"); err != nil {
		return made, err
	}
	if _, err := x.Refresh(ctx); err != nil {
		return made, err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files = slices.DeleteFunc(a.files, func(f *recent) bool { return f == r })
	a.changes++
	return made, nil
}

// follow makes nights of files that are full or old, at each interval, until ctx ends.
func (a *Added) follow(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var told string
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		if a.old() {
			_, err = a.Night(ctx)
		} else {
			a.nights.Lock()
			_, err = a.settle(ctx)
			a.nights.Unlock()
		}
		switch {
		case err == nil:
			told = ""
		case ctx.Err() == nil && err.Error() != told:
			told = err.Error()
			a.log.Error("what has been added cannot become a night yet", "error", err)
		}
	}
}

// old reports whether the file that pages are added to has pages and is older than
// AddedOptions.Every.
func (a *Added) old() bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	r := a.last()
	return r.size() > 0 && time.Since(r.began) > a.o.Every
}
