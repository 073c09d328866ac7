package job

import (
	"bufio"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/numbered"
	"github.com/neardup/neardup/job/rundir"
	"github.com/neardup/neardup/reducer"
)

// earlierDocuments yields what the library says of tonight's documents, in
// order of id.
type earlierDocuments struct {
	file *os.File
	dec  *gob.Decoder
	next *earlierDocument // nil at the end
}

func (r *run) openEarlier() (*earlierDocuments, error) {
	f, err := os.Open(r.dir.Path(rundir.State, earlierFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stageEarlier, err)
	}
	e := &earlierDocuments{file: f, dec: gob.NewDecoder(bufio.NewReaderSize(f, 1<<20))}
	if err := e.advance(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return e, nil
}

func (e *earlierDocuments) advance() error {
	d := &earlierDocument{}
	err := e.dec.Decode(d)
	if errors.Is(err, io.EOF) {
		d, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", stageEarlier, e.file.Name(), err)
	}
	e.next = d
	return nil
}

// of returns what the library says of the document, nil if nothing; it is
// asked in order of id.
func (e *earlierDocuments) of(id []byte) (*earlierDocument, error) {
	for e.next != nil {
		switch strings.Compare(e.next.ID, string(id)) {
		case 0:
			d := e.next
			return d, e.advance()
		case 1:
			return nil, nil
		}
		if err := e.advance(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (e *earlierDocuments) close() error { return e.file.Close() }

// heritage is what tonight's matched documents have from earlier nights.
type heritage struct {
	byDoc map[uint32]*earlierDocument // documents that match one of an earlier night, by number
	docs  []uint32                    // their numbers, ascending
}

// readHeritage reads it for the numbered documents.
func (r *run) readHeritage(ctx context.Context, documents *numbered.Folder) (_ *heritage, err error) {
	in, err := r.openEarlier()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	h := &heritage{byDoc: map[uint32]*earlierDocument{}}
	ids := documents.IDs()
	var id []byte
	for doc := range uint32(documents.Len()) {
		if doc&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if in.next == nil {
			break
		}
		if id, err = ids.Append(id[:0], doc); err != nil {
			return nil, err
		}
		d, err := in.of(id)
		if err != nil {
			return nil, err
		}
		if d != nil && len(d.Clusters) > 0 {
			h.byDoc[doc] = d
			h.docs = append(h.docs, doc)
		}
	}
	return h, nil
}

// documents are the numbers of documents that match one of an earlier night.
func (h *heritage) documents() []uint32 {
	if h == nil {
		return nil
	}
	return h.docs
}

// match is the document's best match in an earlier night, nil without one.
func (h *heritage) match(doc uint32) *reducer.Earlier {
	if h == nil || h.byDoc[doc] == nil {
		return nil
	}
	return h.byDoc[doc].Match
}

// noDocument stands for a keeper that is in an earlier night.
const noDocument = ^uint32(0)

// writeEarlier writes the match of index i with a document of an earlier night.
func (t *tables) writeEarlier(out *parts[data.MatchRow], ids *numbered.IDs, i uint32, e *reducer.Earlier) error {
	row := data.MatchRow{
		MatchID: []byte(e.ID), MatchFrom: e.Night, FirstSeen: e.FirstSeen,
		Distance: int32(e.Distance), Similarity: 1 - float64(e.Distance)/float64(t.run.config.Features.Bits),
		Estimate: math.NaN(), Jaccard: math.NaN(), Verdict: byDistance,
	}
	if t.verify != nil {
		row.Estimate, row.Verdict = e.Similarity, e.Reason
	}
	var err error
	if row.DocID, err = ids.Append(nil, t.ids[i]); err != nil {
		return err
	}
	return out.write(&row)
}

// descend gives tonight's clusters the ids that they have through all nights.
// Clusters that continue the same earlier one become one: the labels returned
// say so.
func (t *tables) descend(labels []uint32, counts *MatchCounts) ([]uint32, error) {
	if t.heritage == nil {
		return labels, nil
	}
	sizes := make(map[uint32]int)
	earlier := make(map[uint32][]string)
	for i, l := range labels {
		sizes[l]++
		if d := t.heritage.byDoc[t.ids[i]]; d != nil {
			earlier[l] = append(earlier[l], d.Clusters...)
		}
	}
	wide := map[uint32]bool{} // components that were cut
	for i, l := range labels {
		if root := t.components.Root(uint32(i)); root != l {
			wide[root] = true
		}
	}
	var clusters []reducer.Descent
	var of []uint32 // their labels
	names := t.documents.IDs()
	var id []byte
	for l := range uint32(len(labels)) {
		if sizes[l] < 2 && len(earlier[l]) == 0 {
			continue
		}
		var err error
		if id, err = names.Append(id[:0], t.ids[l]); err != nil {
			return nil, err
		}
		slices.Sort(earlier[l])
		clusters = append(clusters, reducer.Descent{
			Founded: reducer.FoundedCluster(t.run.config.Library.Night, id),
			Earlier: slices.Compact(earlier[l]), Alone: wide[t.components.Root(l)],
		})
		of = append(of, l)
	}
	ids, merges := reducer.Descend(clusters)
	counts.Merges = merges
	t.lineage = make(map[uint32]lineage, len(ids))
	first := map[string]uint32{} // label by id
	joined := map[uint32]uint32{}
	for i, id := range ids {
		l, ok := first[id]
		if !ok || clusters[i].Alone {
			l = of[i]
			first[id] = l
		}
		joined[of[i]] = l
		t.lineage[l] = lineage{id: id, continues: id != clusters[i].Founded}
	}
	for _, l := range t.lineage {
		if l.continues {
			counts.Continued++
		}
	}
	out := slices.Clone(labels)
	for i, l := range labels {
		if to, ok := joined[l]; ok {
			out[i] = to
		}
	}
	return out, nil
}

// lineage is what a cluster is through all nights.
type lineage struct {
	id        string
	continues bool // it began in an earlier night
}

// isCluster reports whether a label of so many documents is a cluster.
func (t *tables) isCluster(label, size uint32) bool {
	return size > 1 || t.continues(label) && size > 0
}

func (t *tables) continues(label uint32) bool { return t.lineage[label].continues }

// clusterID appends the id of a cluster.
func (t *tables) clusterID(dst []byte, ids *numbered.IDs, label uint32) ([]byte, error) {
	if l, ok := t.lineage[label]; ok {
		return append(dst, l.id...), nil
	}
	return ids.AppendOther(dst, t.ids[label])
}
