package write

import (
	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state/decision"
	"github.com/neardup/neardup/simhash/template"
)

// annotator states, for the documents of a split that stay, how often and since when
// they were seen. It writes the table seen, and leaves each row in its field row for
// the clean dump. A nil annotator does nothing.
type annotator struct {
	w     *writer
	out   *parquet.TableWriter[data.SeenRow]
	dump  bool
	row   data.SeenRow // of the last document
	at    int          // the next decision
	d     decision.Decision
	sites decision.Sites
}

// annotates starts the split's part of the table seen. It returns nil if the settings
// do not ask for annotations.
func (w *writer) annotates() (*annotator, error) {
	if w.job.Config.Output.Annotate == "" {
		return nil, nil //nolint:nilnil // a nil annotator says nothing
	}
	sites, err := decision.ReadSites(w.job.Dir.Path(rundir.StatePart(decision.SitesFolder, w.task)))
	if err != nil {
		return nil, err
	}
	out, err := startPart(w, rundir.Seen, &data.Seen)
	return &annotator{w: w, out: out, dump: w.job.Config.Output.Annotate == config.AnnotateDump, sites: sites}, err
}

// inDump reports whether the documents of the clean dump have the fields, too.
func (a *annotator) inDump() bool { return a != nil && a.dump }

func (a *annotator) commit() error {
	if a == nil {
		return nil
	}
	return a.out.Commit()
}

// document writes the row of a document that stays, or that of what an earlier night
// keeps, with the first of the documents that go for it.
func (a *annotator) document(doc *data.Document, row int64) error {
	if a == nil {
		return nil
	}
	w, number := a.w, a.w.split.First+uint64(row)
	for ; a.at < w.split.Len(); a.at++ {
		if w.split.At(a.at, &a.d); a.d.Doc >= number {
			break
		}
	}
	decided := a.at < w.split.Len() && a.d.Doc == number
	a.row = data.SeenRow{DocID: doc.ID, KeptFrom: fromRun, Copies: 1, Site: template.Site(doc.ID), Nights: 1, Row: w.places.Row(number), Night: w.night(), FirstSeen: w.night(), LastSeen: w.night()}
	if len(a.row.Site) > 0 {
		a.row.Sites = 1
	}
	if known := w.seen[number]; known != nil && known.Nights > 0 {
		a.row.FirstSeen, a.row.Nights = known.First, int32(known.Nights)+1
	}
	if decided && a.d.Listed && a.d.Group == number {
		a.row.Copies, a.row.Sites = int32(a.d.Size), a.sites.Of(number)
	}
	switch {
	case !w.dropped(row):
	case decided && a.d.Removal == decision.InHistory && a.d.Group == number:
		k := w.seen[number].Kept
		a.row.DocID, a.row.KeptFrom, a.row.Site, a.row.Row = []byte(k.ID), k.Night, template.Site([]byte(k.ID)), data.NoRow
	default:
		return nil
	}
	return a.out.Write(&a.row)
}
