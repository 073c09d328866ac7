package nightstest

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/simhash/template"
)

// seenWant is what the table seen has to say of a document.
type seenWant struct {
	copies int32
	sites  map[string]bool
	place  int // among all documents: the kept one, or the first of those that go for one of an earlier night
}

// checkSeen compares the table seen of a run, whose documents begin at a place, with
// the table removed and with the comparison of all documents, and the fields of the
// clean dump with the table.
func (x *expected) checkSeen(t testing.TB, night, out string, from int) {
	t.Helper()
	want := map[string]*seenWant{}
	take := func(key, id string, place int) {
		w := want[key]
		if w == nil {
			w = &seenWant{sites: map[string]bool{}, place: place}
			want[key] = w
		}
		w.copies++
		w.place = min(w.place, place)
		if site := string(template.Site([]byte(id))); site != "" {
			w.sites[site] = true
		}
	}
	places := map[string]int{}
	for i := from; i < len(x.all); i++ {
		places[x.all[i].id] = i
	}
	stays := maps.Clone(places)
	each(t, out, rundir.Removed, &data.Removed, func(r *data.RemovedRow) {
		id := string(r.DocID)
		delete(stays, id)
		take(r.KeptFrom+" "+string(r.KeptID), id, places[id])
	})
	for id, place := range stays {
		take("run "+id, id, place)
		want["run "+id].place = place
	}

	dump := map[string]data.SeenRow{}
	each(t, out, rundir.Seen, &data.Seen, func(r *data.SeenRow) {
		key := r.KeptFrom + " " + string(r.DocID)
		w, ok := want[key]
		if !ok {
			t.Fatalf("night %s: %s is in seen, and does not stay or stands there twice", night, key)
		}
		delete(want, key)
		if r.Copies != w.copies || int(r.Sites) != len(w.sites) || r.LastSeen != night || r.Night != night {
			t.Fatalf("night %s: %+v, want %d copies of %d sites", night, *r, w.copies, len(w.sites))
		}
		if r.Copies > 1 {
			x.copied++
		}
		if r.KeptFrom == "run" {
			dump[string(r.DocID)] = *r
		}
		view := &x.all[w.place].view
		if !view.Normal { // what is not compared is known by its id
			return
		}
		nights := map[string]bool{night: true}
		for j := range from {
			if x.same(view, &x.all[j].view) {
				nights[x.all[j].night] = true
			}
		}
		if first := slices.Min(slices.Collect(maps.Keys(nights))); int(r.Nights) != len(nights) || r.FirstSeen != first {
			t.Fatalf("night %s: %+v, want %d nights since %s", night, *r, len(nights), first)
		}
		if r.Nights > 1 {
			x.again++
		}
	})
	for key := range want {
		t.Fatalf("night %s: %s stays, and seen has no row of it", night, key)
	}
	checkDump(t, night, out, dump)
}

// checkDump compares the fields of a clean dump in JSON lines with the rows of the table.
func checkDump(t testing.TB, night, out string, rows map[string]data.SeenRow) {
	t.Helper()
	parts, err := rundir.Parts(out, rundir.Clean)
	if err != nil {
		t.Fatal(err)
	}
	documents := 0
	for _, path := range parts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var d struct {
				ID        string `json:"id"`
				Copies    int32  `json:"neardup_copies"`
				Sites     int32  `json:"neardup_sites"`
				FirstSeen string `json:"neardup_first_seen"`
				LastSeen  string `json:"neardup_last_seen"`
				Nights    int32  `json:"neardup_nights"`
			}
			if err := json.Unmarshal([]byte(line), &d); err != nil {
				t.Fatal(err)
			}
			documents++
			if r := rows[d.ID]; r.Copies != d.Copies || r.Sites != d.Sites || r.FirstSeen != d.FirstSeen || r.LastSeen != d.LastSeen || r.Nights != d.Nights {
				t.Fatalf("night %s: the dump says %+v, the table %+v", night, d, r)
			}
		}
	}
	if documents != len(rows) {
		t.Fatalf("night %s: %d documents in the dump, %d in the table", night, documents, len(rows))
	}
}

// each calls yield with the rows of all parts of a table.
func each[R any](t testing.TB, out, folder string, table *data.Table[R], yield func(*R)) {
	t.Helper()
	paths, err := rundir.Parts(out, folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if err := parquet.ReadTable(context.Background(), path, table, func(row *R) error { yield(row); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
