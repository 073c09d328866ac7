package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
)

// A library's changes are numbered and chained: a manifest has the number of
// the change that made it, and the checksum of the manifest before. The folder
// changes/ has a copy of the newest manifests, each under its number and its
// checksum, so that a manifest that is older than the library is known as such,
// and can be replaced by the one that was:
//
//	changes/00000006-b2…json ◄─ changes/00000007-9f…json = library.json
//
// The order in which a change writes makes each stop tell:
//
//  1. changes/.begun, with the number of the change and the manifest it starts from;
//  2. its files, whose names begin with its number;
//  3. library.json: now the change is made;
//  4. its copy in changes/;
//  5. then files that only earlier manifests name are removed, and changes/.begun.
//
// A file of a larger number than the manifest's that no begun change explains is
// thus of a manifest that is not here: nothing of it is removed.
const (
	changes   = "changes"
	begunFile = changes + "/.begun"
	// keptChanges is how many copies of manifests stay.
	keptChanges = 32
)

// errOlder is returned when the library was further than its manifest is, or
// another.
var errOlder = errors.New("an older library.json, or another library's, was put in the place of this one's")

// change is a manifest in the folder of changes, as its name tells it.
type change struct {
	number   int64
	checksum string
}

func (c change) name() string { return fmt.Sprintf("%s/%08d-%s.json", changes, c.number, c.checksum) }

var changeName = regexp.MustCompile(`^(\d{8,18})-([0-9a-f]{16})\.json$`)

// readChanges lists the copies of manifests in the folder, the oldest first.
func readChanges(dir string) (all []change, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, changes))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("library: %w", err)
	}
	for _, e := range entries {
		if m := changeName.FindStringSubmatch(e.Name()); m != nil {
			number, _ := strconv.ParseInt(m[1], 10, 64) // of 18 digits at most
			all = append(all, change{number, m[2]})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return int(a.number - b.number) })
	return all, nil
}

// manifest reads the copy.
func (c change) manifest(dir string) (*Manifest, error) {
	m, err := parseManifest(filepath.Join(dir, filepath.FromSlash(c.name())))
	if err == nil && m.change() != c {
		err = fmt.Errorf("%w: %s is not the manifest that its name says", errDamaged, c.name())
	}
	return m, err
}

// change is the manifest's own.
func (m *Manifest) change() change { return change{m.Sequence, m.Checksum} }

// after returns a manifest of the next change, which may be changed.
func (m *Manifest) after() *Manifest {
	next := m.copy()
	next.Sequence++
	next.Previous, next.Checksum = m.Checksum, ""
	return next
}

// begun is what a change writes before its first file.
type begun struct {
	Number int64  `json:"number"`
	From   string `json:"from"` // checksum of the manifest that it starts from
}

// begin notes that a change writes files from now on. The same change may begin
// again.
func (l *Library) begin() error {
	if l.began {
		return nil
	}
	text, err := json.Marshal(begun{l.manifest.Sequence + 1, l.manifest.change().checksum})
	if err == nil {
		err = l.writeFile(begunFile, text)
	}
	if err != nil {
		return fmt.Errorf("library: %w", err)
	}
	l.began = true
	return nil
}

// writeFile writes a file of the library, whose folder is made.
func (l *Library) writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(l.Path(name)), 0o777); err != nil {
		return err
	}
	return data.WriteFileAtomicIn(l.fs, l.Path(name), text)
}

// put writes a file of the change that is made next.
func (l *Library) put(name string, text []byte) error {
	if err := l.begin(); err != nil {
		return err
	}
	return l.writeFile(name, text)
}

// readBegun is the change that a process began and did not end, if there is
// one.
func (l *Library) readBegun() (b begun, ok bool) {
	text, err := os.ReadFile(l.Path(begunFile))
	return b, err == nil && json.Unmarshal(text, &b) == nil
}

// record puts a copy of the manifest into the folder of changes, if it is not
// there.
func (l *Library) record() error {
	name := l.manifest.change().name()
	if _, err := os.Stat(l.Path(name)); err == nil {
		return nil
	}
	text, err := l.manifest.text()
	if err == nil {
		err = l.writeFile(name, text)
	}
	if err != nil {
		return fmt.Errorf("library: %w", err)
	}
	all, err := readChanges(l.dir)
	for len(all) > keptChanges {
		_ = l.fs.Remove(l.Path(all[0].name())) // else the next change does
		all = all[1:]
	}
	return err
}

// numberOf is the number of the change that wrote the file of that name, 0 if
// the name tells none.
func numberOf(name string) int64 {
	number, err := strconv.ParseInt(path.Base(name)[:min(len(path.Base(name)), 8)], 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// stray are the complete files that the manifest does not name, in order.
func (l *Library) stray() (names []string) {
	named := l.manifest.named()
	for _, sub := range []string{documents, merges, deletions, templates, samples} {
		names = append(names, l.strayIn(sub, named)...)
	}
	return names
}

func (l *Library) strayIn(folder string, named map[string]bool) (names []string) {
	entries, err := os.ReadDir(l.Path(folder))
	if err != nil {
		return nil // mostly it is not there
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		switch {
		case e.IsDir() && strings.HasPrefix(e.Name(), partition):
			names = append(names, l.strayIn(name, named)...)
		case !e.IsDir() && !data.IsTemporary(name) && !named[name]:
			names = append(names, name)
		}
	}
	return names
}

// named are the files that the manifest names.
func (m *Manifest) named() map[string]bool {
	named := map[string]bool{}
	for _, f := range m.Files {
		named[f.Name] = true
	}
	for _, d := range m.Deletions {
		named[d.File] = true
	}
	delete(named, "")
	if t := m.Templates; t != nil {
		named[t.Name] = true
	}
	return named
}

// Behind is an error that says how far the library was, if it was further than
// its manifest is: then an older one was put in its place.
func (l *Library) Behind() error {
	if err := l.behindChanges(); err != nil {
		return err
	}
	own := l.manifest.change()
	b, killed := l.readBegun()
	killed = killed && b.Number == own.number+1 && b.From == own.checksum
	for _, name := range l.stray() {
		if n := numberOf(name); n > own.number && (!killed || n != b.Number) {
			return l.older("change %d wrote %s", n, name)
		}
	}
	return nil
}

func (l *Library) older(format string, args ...any) error {
	return fmt.Errorf("library: %w: %s is of change %d, but %s: `neardup library repair %s` takes back what it lacks; nothing is removed before",
		errOlder, l.Path(ManifestFile), l.manifest.Sequence, fmt.Sprintf(format, args...), l.dir)
}

// behindChanges is Behind as far as the folder of changes tells.
func (l *Library) behindChanges() error {
	own := l.manifest.change()
	all, err := readChanges(l.dir)
	if err != nil {
		return err
	}
	for i, c := range all {
		switch {
		case c.number > own.number:
			return l.older("%s is of change %d", c.name(), c.number)
		case c.number == own.number && c != own, i > 0 && c.number == all[i-1].number, c.number == own.number-1 && c.checksum != l.manifest.Previous:
			return l.older("%s is a change that it does not follow", c.name())
		case i == len(all)-1 && c.number < own.number-1:
			return l.older("%s has nothing behind change %d", l.Path(changes), c.number)
		}
	}
	return nil
}

// removable returns what says of a file that the manifest does not name whether
// it may go: a killed process left it, or an earlier change named it.
func (l *Library) removable() func(name string) bool {
	own := l.manifest.change()
	b, left := l.readBegun()
	left = left && (b.Number == own.number+1 && b.From == own.checksum || b.Number == own.number && b.From == l.manifest.Previous)
	var named map[string]bool
	return func(name string) bool {
		if left && numberOf(name) == b.Number {
			return true
		}
		if named == nil { // mostly there is no such file
			named = l.namedBefore()
		}
		return named[name]
	}
}

// namedBefore are the files that earlier manifests of the library name, as far
// as they are kept.
func (l *Library) namedBefore() map[string]bool {
	named := map[string]bool{}
	all, _ := readChanges(l.dir) // without it nothing is removed
	for at, previous := l.manifest.Sequence-1, l.manifest.Previous; previous != ""; at-- {
		c := change{at, previous}
		if !slices.Contains(all, c) {
			break
		}
		m, err := c.manifest(l.dir)
		if err != nil {
			break
		}
		for name := range m.named() {
			named[name] = true
		}
		previous = m.Previous
	}
	return named
}

// Recovered is what Recover did.
type Recovered struct {
	Was   int64    `json:"was"`             // number of the change that library.json was of; -1: there was none that could be read
	Now   int64    `json:"now"`             // that it is of now
	Found []string `json:"found,omitempty"` // nights that came back, in order
	Left  []string `json:"left,omitempty"`  // what could not be taken back, and why, a line each
}

// Recover makes the manifest of the library at dir the newest that there is,
// if it is an older one, damaged or lost: the newest copy in changes/ whose files
// are all there. From changes that this one does not follow, as after another
// library of the same beginning was copied over it, come the nights that it never
// had, and all deletions. It waits for other processes as Lock does. What it does
// not take stays where it is.
func Recover(ctx context.Context, dir string, o Options) (done Recovered, err error) {
	l, err := hold(ctx, dir, o, true)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	own, wrong := parseManifest(l.Path(ManifestFile))
	if done.Was = -1; wrong == nil {
		l.manifest, done.Was, done.Now = own, own.Sequence, own.Sequence
		if wrong = l.Behind(); wrong == nil {
			return done, l.record()
		}
	}
	found, err := l.manifests(own)
	if err != nil {
		return done, err
	}
	if len(found) == 0 {
		return done, fmt.Errorf("%w: put a backup of the library in its place: %s has no manifest that can be read", wrong, l.Path(changes))
	}
	head := found[0]
	for _, m := range found {
		if missing := l.lacks(m, nil); missing == "" {
			head = m
			break
		} else if m == found[len(found)-1] {
			missing = l.lacks(head, nil)
			done.Left = append(done.Left, fmt.Sprintf("%s is missing or another: `neardup library repair` with the run directories of its night makes it again", missing))
		}
	}
	if own == nil {
		own = &Manifest{}
	}
	if l.manifest = head; l.settled(found) {
		if err := head.write(l.fs, dir); err != nil {
			return done, err
		}
	} else if err := l.join(ctx, found, &done); err != nil {
		return done, err
	}
	for _, n := range l.manifest.Nights {
		if was, ok := own.Night(n.Name); !ok || was.Run != n.Run || !was.Added.Equal(n.Added) {
			done.Found = append(done.Found, n.Name)
		}
	}
	for _, m := range found {
		for _, n := range m.Nights {
			line := fmt.Sprintf("night %s of change %d: its files are not all there: run it again, or `neardup library delete --night` it", n.Name, m.Sequence)
			if _, ok := l.manifest.Night(n.Name); !ok && m.Sequence > head.Sequence && !slices.Contains(done.Left, line) {
				done.Left = append(done.Left, line)
			}
		}
	}
	done.Now = l.manifest.Sequence
	return done, l.record()
}

// manifests are those that there are, the newest first, the library's own before
// others of its number; nil stands for none.
func (l *Library) manifests(own *Manifest) (found []*Manifest, err error) {
	if own != nil {
		found = append(found, own)
	}
	all, err := readChanges(l.dir)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(all) {
		if m, err := c.manifest(l.dir); err == nil && (own == nil || own.change() != c) {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *Manifest) int { return cmp.Compare(b.Sequence, a.Sequence) })
	return found, nil
}

// lacks is the first file that the manifest names, of those asked for, that is
// not there or plainly another; "" if there is none. nil asks for all.
func (l *Library) lacks(m *Manifest, names map[string]bool) string {
	for _, f := range m.Files {
		if names != nil && !names[f.Name] {
			continue
		}
		stat, err := os.Stat(l.Path(f.Name))
		if err != nil || stat.Size() != f.Bytes {
			return f.Name
		}
		info, err := parquet.ReadInfo(l.Path(f.Name))
		if err != nil || f.is(f.Name, info) != nil {
			return f.Name
		}
	}
	if names != nil {
		return ""
	}
	for _, d := range m.Deletions {
		if l.readDeleted(d) != nil {
			return d.File
		}
	}
	if t := m.Templates; t != nil {
		if blob, err := os.ReadFile(l.Path(t.Name)); err != nil || digest(blob) != t.SHA256 {
			return t.Name
		}
	}
	return ""
}

// readDeleted is an error unless the ids of the deletion are what they were.
func (l *Library) readDeleted(d deletion) error {
	if d.IDs == 0 {
		return nil
	}
	text, err := os.ReadFile(l.Path(d.File))
	if err == nil && d.SHA256 != "" && digest(text) != d.SHA256 {
		err = fmt.Errorf("%w: %s", errDamaged, d.File)
	}
	return err
}

// follows are the manifests that the library's was made from, as far as they are
// among those found, itself among them.
func (l *Library) follows(found []*Manifest) (line []*Manifest) {
	line = []*Manifest{l.manifest}
	for at := l.manifest; at != nil; {
		i := slices.IndexFunc(found, func(m *Manifest) bool { return m.change() == change{at.Sequence - 1, at.Previous} })
		if at = nil; i >= 0 {
			at = found[i]
			line = append(line, at)
		}
	}
	return line
}

// settled reports whether the library's manifest tells all that there is: each
// other is one that it follows, and there is no file of a later change.
func (l *Library) settled(found []*Manifest) bool {
	line := l.follows(found)
	return !slices.ContainsFunc(found, func(m *Manifest) bool { return !slices.Contains(line, m) }) && l.Behind() == nil
}

// join makes a change, numbered behind all that is there, that adds to the
// library's manifest the nights that it and those that it follows never had, and
// the deletions of all.
func (l *Library) join(ctx context.Context, found []*Manifest, done *Recovered) error {
	line := l.follows(found)
	next := l.manifest.after()
	next.Sequence = max(next.Sequence, found[0].Sequence+1)
	all, err := readChanges(l.dir)
	if err != nil {
		return err
	}
	if n := len(all); n > 0 {
		next.Sequence = max(next.Sequence, all[n-1].number+1)
	}
	for _, name := range l.stray() {
		next.Sequence = max(next.Sequence, numberOf(name)+1)
	}
	had := func(name string) bool {
		return slices.ContainsFunc(line, func(m *Manifest) bool { _, ok := m.Night(name); return ok })
	}
	for _, m := range found {
		if slices.Contains(line, m) {
			continue
		}
		if next.Settings == nil && l.manifest.Settings == nil {
			next.Bits, next.Settings, next.Config, next.Templates = m.Bits, m.Settings, m.Config, m.Templates
		}
		same := m.Bits == next.Bits && CompareSettings(next.Settings, m.Settings) == nil
		for _, n := range m.Nights {
			i, there := next.night(n.Name)
			switch {
			case there || had(n.Name):
			case !same:
				done.Left = append(done.Left, fmt.Sprintf("night %s of change %d has other settings", n.Name, m.Sequence))
			case l.lacks(m, n.files()) == "":
				for name := range n.files() {
					if f, ok := m.File(name); ok && !slices.ContainsFunc(next.Files, func(g File) bool { return g.Name == name }) {
						next.Files = append(next.Files, f)
					}
				}
				next.Nights = slices.Insert(next.Nights, i, n)
			}
		}
		for _, d := range m.Deletions {
			same := func(o deletion) bool {
				return o.At.Equal(d.At) && o.SHA256 == d.SHA256 && slices.Equal(o.Prefixes, d.Prefixes)
			}
			if slices.ContainsFunc(next.Deletions, same) || d.Once && slices.ContainsFunc(line, func(m *Manifest) bool { return slices.ContainsFunc(m.Deletions, same) }) {
				continue
			}
			if l.readDeleted(d) != nil {
				done.Left = append(done.Left, fmt.Sprintf("%s is lost: delete its %d ids again", d.File, d.IDs))
				d.File, d.IDs = "", 0
				if len(d.Prefixes) == 0 {
					continue
				}
			}
			if !d.Once {
				d.Sequence = next.Sequence // for all files that there are
			}
			next.Deletions = append(next.Deletions, d)
		}
	}
	next.prune()
	hidden, err := readHidden(l.dir, next)
	if err != nil {
		return err
	}
	whole := *l
	whole.manifest = next
	counts, err := whole.countHidden(ctx, hidden, func([]byte, int64) {})
	if err != nil {
		return err
	}
	for i := range next.Nights {
		next.Nights[i].Deleted = counts[next.Nights[i].Name]
	}
	if err := next.check(); err != nil {
		return fmt.Errorf("library: a manifest that contradicts itself was not written: %w", err)
	}
	if err := next.write(l.fs, l.dir); err != nil {
		return err
	}
	l.manifest = next
	for _, m := range found { // what is in next is no reason to refuse it
		if name := m.change().name(); !slices.Contains(line, m) {
			if err := l.fs.Rename(l.Path(name), l.Path(name+".joined")); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("library: %w", err)
			}
		}
	}
	return nil
}

// files are the night's.
func (n Night) files() map[string]bool {
	files := map[string]bool{}
	for _, e := range n.Extents {
		files[e.File] = true
	}
	for _, name := range []string{n.Merges, n.Samples} {
		if name != "" {
			files[name] = true
		}
	}
	return files
}
