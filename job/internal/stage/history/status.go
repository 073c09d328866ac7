package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/simhash"
)

// Status is what a library holds.
type Status struct {
	Path            string            `json:"path"`
	Sequence        int64             `json:"sequence"`
	Bits            int               `json:"bits"`
	Documents       int64             `json:"documents"`
	Deleted         int64             `json:"deleted"`          // rows that deletions hide and the files still hold
	Dead            int64             `json:"dead"`             // rows of nights that are gone, in files of others
	ForeverIDs      int64             `json:"forever_ids"`      // deleted for good, as often as that was said
	ForeverPrefixes []string          `json:"forever_prefixes"` // of ids, deleted for good
	Bytes           int64             `json:"bytes"`
	Files           int               `json:"files"`
	Nights          []nightStatus     `json:"nights"`
	Settings        map[string]string `json:"settings"`
	Older           string            `json:"older,omitempty"` // how far the library was, if library.json is an older one
	Hottest         []hotSegment      `json:"hottest"`         // segments that most documents share, most first
}

// nightStatus is what a library holds of a night.
type nightStatus struct {
	Name          string           `json:"night"`
	Added         time.Time        `json:"added"`
	Documents     int64            `json:"documents"`
	Deleted       int64            `json:"deleted"`
	LengthClasses map[string]int64 `json:"length_classes"`
}

// hotSegment is a segment key with the documents of normal length that have
// it.
type hotSegment struct {
	Key       string `json:"key"`
	Documents int64  `json:"documents"`
}

// hotSegments is how many of the hottest segments the status names, and
// statusDistance the distance that their layout serves.
const (
	hotSegments    = 5
	statusDistance = 3
)

// ReadStatus reads what the library at dir holds; for the hottest
// segments it reads every fingerprint.
func ReadStatus(ctx context.Context, dir string, o library.Options) (_ *Status, err error) {
	l, err := library.Open(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	m := l.Manifest()
	s := &Status{Path: dir, Sequence: m.Sequence, Bits: m.Bits, Documents: m.Rows(), Bytes: m.Bytes(), Files: len(m.Files), Settings: m.Settings}
	if err := l.Behind(); err != nil {
		s.Older = err.Error()
	}
	rows := int64(0)
	for _, n := range m.Nights {
		s.Nights = append(s.Nights, nightStatus{Name: n.Name, Added: n.Added, Documents: n.Live(), Deleted: n.Deleted, LengthClasses: n.LengthClasses})
		s.Deleted += n.Deleted
		rows += n.Rows
	}
	for _, d := range m.Deletions {
		if !d.Once {
			s.ForeverIDs += d.IDs
			s.ForeverPrefixes = append(s.ForeverPrefixes, d.Prefixes...)
		}
	}
	for _, f := range m.Files {
		if m.IsDocuments(f.Name) {
			s.Dead += f.Rows
		}
	}
	s.Dead -= rows
	s.Hottest, err = hottest(ctx, l)
	return s, err
}

func hottest(ctx context.Context, l *library.Library) ([]hotSegment, error) {
	layout, err := simhash.NewLayout(l.Manifest().Bits, statusDistance)
	if err != nil {
		return nil, err
	}
	counts := map[simhash.Key]int64{}
	normal := simhash.LengthNormal
	err = l.Stream(ctx, library.StreamOptions{Columns: []string{"fingerprint", "length_class"}, Workers: 1}, func(_ int, b *library.Batch) error {
		for i := range b.Rows {
			row := &b.Rows[i]
			if row.LengthClass != normal {
				continue
			}
			f := simhash.Fingerprint{Hi: row.Hi, Lo: row.Lo}
			for table := range layout.Tables() {
				key, _ := layout.Key(table, f)
				counts[key]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var top []hotSegment
	most := func(a, b hotSegment) int {
		return cmp.Or(cmp.Compare(b.Documents, a.Documents), strings.Compare(a.Key, b.Key))
	}
	for key, n := range counts {
		if len(top) == hotSegments && n < top[hotSegments-1].Documents {
			continue
		}
		h := hotSegment{key.String(), n}
		at, _ := slices.BinarySearchFunc(top, h, most)
		top = slices.Insert(top, at, h)
		top = top[:min(len(top), hotSegments)]
	}
	return top, nil
}

// lengths are a night's documents by their length.
func lengths(classes map[string]int64, l message.Language) string {
	var b strings.Builder
	for i, class := range show.ByCount(classes) {
		b.WriteString([]string{"  ", l.Text(", ")}[min(i, 1)] + show.Number(classes[class]) + " " + l.Name(class))
	}
	return b.String()
}

// Print writes the status for a person.
func (s *Status) Print(w io.Writer, l message.Language) error {
	var b strings.Builder
	row := func(name, text string) { show.Field(&b, name, "%s", text) }
	row(l.Text("library"), l.Text("%s  %d bits, change %d", s.Path, s.Bits, s.Sequence))
	if s.Older != "" {
		row(l.Text("warning"), l.Error(errors.New(s.Older)))
	}
	row(l.Text("documents"), l.Text("%s in %s", show.Number(s.Documents), l.Count(int64(len(s.Nights)), "night")))
	size := l.Text("%s in %s", show.Bytes(s.Bytes), l.Count(int64(s.Files), "file"))
	if all := s.Documents + s.Deleted + s.Dead; all > 0 {
		size += l.Text(", %s a row", l.Count(s.Bytes/all, "byte"))
	}
	row(l.Text("size"), size)
	if s.Deleted+s.Dead > 0 {
		row(l.Text("to erase"), l.Text("%s of what was deleted: `neardup library compact %s` erases the bytes", l.Count(s.Deleted+s.Dead, "row"), s.Path))
	}
	if s.ForeverIDs > 0 {
		row(l.Text("stays out"), l.Count(s.ForeverIDs, "deleted id"))
	}
	const prefixes = 10
	for _, prefix := range s.ForeverPrefixes[:min(len(s.ForeverPrefixes), prefixes)] {
		row(l.Text("stays out"), prefix+"…")
	}
	if more := len(s.ForeverPrefixes) - prefixes; more > 0 {
		row(l.Text("stays out"), l.Text("and %s more", l.Count(int64(more), "prefix")))
	}
	if n := len(s.Nights); n > 0 {
		row(l.Text("oldest"), s.Nights[0].Name)
		row(l.Text("newest"), l.Text("%s, added %s", s.Nights[n-1].Name, s.Nights[n-1].Added.Format(time.DateTime)))
	}
	for i, h := range s.Hottest {
		row(show.Headed(i, l.Text("hottest")), h.Key+"  "+l.Count(h.Documents, "document"))
	}
	const shown = 31
	nights, name := s.Nights, l.Text("nights")
	if len(nights) > shown {
		nights, name = nights[len(nights)-shown:], l.Text("last nights")
	}
	for i, n := range nights {
		row(show.Headed(i, name), fmt.Sprintf("%-12s %12s%s", n.Name, show.Number(n.Documents), lengths(n.LengthClasses, l)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
