package plan

import (
	"context"
	"runtime"
	"time"
	"unicode/utf8"

	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/job/internal/stage/against"
)

// reference is what a run against a reference would take and find.
type reference struct {
	Sets   []against.ReferenceSet `json:"sets"`
	Load   float64                `json:"load_seconds"`   // reading and indexing the reference
	Search float64                `json:"search_seconds"` // reading the documents included
	Clean  float64                `json:"clean_seconds"`  // packing the clean dump
	Total  float64                `json:"total_seconds"`
	CPU    float64                `json:"cpu_seconds"` // of all cores together
	Memory int64                  `json:"memory_bytes"`
	Disk   int64                  `json:"disk_bytes"` // of the run directory
	Hits   eval.Share             `json:"hits"`       // documents of the sample that have one
	Left   eval.Share             `json:"left_out"`   // documents of the sample that the clean dump leaves out
}

// What a run against a reference holds in memory, in bytes (job/docs/benchmarks/plan.md).
// It loads no dictionary. A batch has the records besides their texts if there is a
// clean dump.
const (
	searchStart  = 32 << 20 // without a reference
	loading      = 2.5      // of a reference, while it is indexed, in indexes
	searchReader = 2 << 20
	unpacker     = 30 << 20 // of lines, more
	packer       = 30 << 20
	batchTexts   = 1.15
	batchRecords = 0.7
)

// searchedParquet is what a reader of Parquet holds.
const searchedParquet = 18 << 20

// checkShare is what it takes to unpack lines once more, which a run does before it
// believes them, of what packing them takes.
const checkShare = 0.5

// hitDisk is what a hit takes in the table, in bytes, beside the document's id: with it
// 22 to 55 were seen.
const hitDisk = 30

// searchTime is how long the sample is searched at least, if need be over and over.
const searchTime = 500 * time.Millisecond

// against searches the sample for the texts of the reference, and estimates a run that
// does so with all documents.
func (s *sampler) against(ctx context.Context, o Options) error {
	held, began := heap(), spent()
	ref, err := against.Load(s.cfg)
	if err != nil {
		return err
	}
	r := &reference{Sets: ref.Sets, Load: spent() - began}
	s.plan.Against = r
	indexed := float64(max(heap()-held, 0))
	if err := s.weigh(); err != nil {
		return err
	}
	hits, found, left, characters := 0, 0, 0, 0
	for i := range s.docs {
		characters += utf8.RuneCount(s.docs[i].Text)
	}
	s.plan.Characters = float64(characters) / float64(len(s.docs))
	advance := o.Pass.Begin(int64(len(s.docs)), "documents")
	search := ref.Searcher(s.cfg.Against)
	searched, took := 0, 0.0
	for began, first := time.Now(), spent(); searched == 0 || time.Since(began) < searchTime; took = spent() - first {
		for i := range s.docs {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows, drop := search(&s.docs[i])
			if searched > 0 {
				continue // they are counted
			}
			if hits += len(rows); len(rows) > 0 {
				found++
			}
			if drop {
				left++
			}
			advance(1)
		}
		searched += len(s.docs)
	}
	r.Hits, r.Left = eval.NewShare(found, len(s.docs)), eval.NewShare(left, len(s.docs))

	n := float64(s.plan.Documents)
	searching := took/float64(searched) + rowSeconds

	cores, splits, readers := s.atOnce(o.Workers)
	reading := s.reading
	if s.packs && !source.Bounded(s.first) {
		reading += checkShare * s.packing
	}
	tasks := float64(s.splits) * splitSeconds / 2
	r.Search = max(reading*n/readers, (reading+searching)*n/cores)
	r.CPU = s.listing + r.Load + tasks + n*(reading+searching)
	r.Disk = int64(n / float64(len(s.docs)) * float64(hits) * (hitDisk + s.ids/4))
	if s.cfg.Output.Clean { // in the same pass
		kept := n * (1 - r.Left.Value)
		r.Clean = max(reading*n/readers, (reading+searching)*n/cores+s.packing*kept/cores) - r.Search
		r.CPU += kept * s.packing
		r.Disk += int64(kept * s.packed)
	}
	r.Total = s.listing + r.Load + r.Search + r.Clean + tasks/cores
	r.Memory = max(s.memory(s.holdsSearching(indexed), n, splits, cores), machine.OwnPages+searchStart+int64(loading*indexed))
	s.plan.Memory = memorySetting(r.Memory)
	return nil
}

// holdsSearching is what a run holds whose index takes so many bytes.
func (s *sampler) holdsSearching(index float64) holds {
	h := holds{start: searchStart + index, kept: index, split: searchReader, texts: batchTexts}
	switch {
	case s.format == source.FormatWARC:
		h.split = readerMemory[source.FormatWARC]
	case s.format == source.FormatParquet:
		h.split = searchedParquet
	case s.packs:
		h.split += unpacker
	}
	if s.cfg.Output.Clean {
		h.texts += batchRecords
		if s.packs {
			h.core = packer
		}
	}
	return h
}

// heap is what the process holds, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
