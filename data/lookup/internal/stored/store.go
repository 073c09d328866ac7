package stored

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/lookup"
)

// Reference names a document by the version of its part and its row, with its
// fingerprint.
type Reference struct {
	Version uint64
	Row     int64
	Hi, Lo  uint64
}

// Document is a document as a server keeps it. The server finds its text by the
// reference, and the reference by each of the keys.
type Document struct {
	Reference
	Keys []lookup.Key
	Text []byte // the entry and its keys
}

// Server is what a Store keeps its documents in: a client of a key-value server. All
// methods are safe for concurrent use. The schema determines how keys and references
// are encoded.
type Server interface {
	// State returns the store's state, a text that Replace has written; nil before
	// the first Replace.
	State(ctx context.Context) ([]byte, error)
	// Replace atomically replaces the state old by text; ErrChanged if the state is
	// not old.
	Replace(ctx context.Context, old, text []byte) error
	// Put adds documents. It writes each document before its keys, so that no key is
	// found before its document.
	Put(ctx context.Context, s lookup.Schema, documents []Document) error
	// Remove removes documents. It removes the keys of each before the document.
	Remove(ctx context.Context, s lookup.Schema, documents []Document) error
	// All calls found with the texts of all documents of a version.
	All(ctx context.Context, version uint64, found func(text []byte) error) error
	// Find calls found with each reference that a key leads to, and the key's index
	// in keys. Calls for different keys may come from several goroutines at once, those
	// for one key do not.
	Find(ctx context.Context, s lookup.Schema, keys []lookup.Key, found func(key int, r Reference)) error
	// Texts returns the documents' texts, nil for a document that does not exist, and
	// the state at that moment or later.
	Texts(ctx context.Context, of []Reference) (texts [][]byte, state []byte, err error)
	Close()
}

const (
	batched  = 500    // documents that are sent at once
	inFlight = 8      // batches that are under way
	tries    = 5      // of a query while parts change
	hot      = 10_000 // documents of a key, beyond those that count, that are held

	// maxValues is how many values a query may ask a server for.
	maxValues = 4096
)

// ErrChanged is returned when another process has changed the state.
var ErrChanged = errors.New("another process changes the index too: let one do it at a time")

// Store is a lookup.Store in a server. Put first writes a part's documents under a new
// version, which no look-up uses, and then makes that version the part's by replacing
// the state atomically. Documents are found by their keys only: a query that would need
// a scan is lookup.ErrScan. One process at a time may put and drop; any number may
// look up.
type Store struct {
	server        Server
	schema        lookup.Schema
	where, remedy string
	changing      sync.Mutex
	seen          atomic.Pointer[state] // by the last query
}

// state is what a server has.
type state struct {
	Schema  lookup.Schema     `json:"schema"`
	Last    uint32            `json:"last"` // version that was given
	Parts   map[string]uint32 `json:"parts"`
	Pending []uint32          `json:"pending"` // versions to be erased

	text []byte // as it was read
}

// byVersion names the parts.
func (s *state) byVersion() map[uint64]string {
	names := make(map[uint64]string, len(s.Parts))
	for part, version := range s.Parts {
		names[uint64(version)] = part
	}
	return names
}

// done drops a version from those to be erased.
func (s *state) done(version uint32) {
	s.Pending = slices.DeleteFunc(s.Pending, func(v uint32) bool { return v == version })
}

// Open opens the store in a server. What stands there in a schema that it may not
// keep is removed, and so is what a killed process left. Errors say where the server is,
// and the remedy for an index that is damaged.
func Open(ctx context.Context, server Server, schema lookup.Schema, where, remedy string) (lookup.Store, error) {
	s := &Store{server: server, schema: schema, where: where, remedy: remedy}
	if err := s.adopt(ctx); err != nil {
		server.Close()
		return nil, s.failed(err)
	}
	return s, nil
}

// failed says where an error is from, if it is one.
func (s *Store) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lookup: %s: %w", s.where, err)
}

// adopt makes what is there fit the schema.
func (s *Store) adopt(ctx context.Context) error {
	now, err := s.load(ctx)
	if errors.Is(err, errNoState) {
		s.schema.Or = nil
		return s.create(ctx, 0)
	}
	if err != nil {
		return err
	}
	was := now.Schema
	s.schema = s.schema.Adopt(was)
	other := !was.Equal(s.schema)
	if other {
		now, err = s.change(ctx, func(now *state) {
			now.Pending = slices.AppendSeq(now.Pending, maps.Values(now.Parts))
			now.Parts = nil
		})
		if err != nil {
			return err
		}
	}
	for _, version := range slices.Clone(now.Pending) {
		if err := s.erase(ctx, was, version); err != nil {
			return err
		}
	}
	if other {
		_, err = s.change(ctx, func(now *state) { now.Schema = s.schema })
	}
	return err
}

// create makes an index without parts, whose versions are greater than that.
func (s *Store) create(ctx context.Context, last uint32) error {
	text, err := json.Marshal(state{Schema: s.schema, Last: last})
	if err != nil {
		return err
	}
	return s.server.Replace(ctx, nil, text)
}

// errNoState is returned for a server that holds no index.
var errNoState = errors.New("there is no index: it was removed while this process has it")

func (s *Store) load(ctx context.Context) (*state, error) {
	text, err := s.server.State(ctx)
	if err != nil {
		return nil, err
	}
	return s.parse(text)
}

func (s *Store) parse(text []byte) (*state, error) {
	if text == nil {
		return nil, errNoState
	}
	now := &state{text: text}
	err := json.Unmarshal(text, now)
	if err == nil {
		err = now.Schema.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("what says which parts there are: %w: remove %s", err, s.remedy)
	}
	return now, nil
}

// change reads the state, changes it, and writes it unless another process
// has.
func (s *Store) change(ctx context.Context, by func(now *state)) (*state, error) {
	now, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	by(now)
	text, err := json.Marshal(now)
	if err != nil {
		return nil, err
	}
	return now, s.server.Replace(ctx, now.text, text)
}

// Close closes the connections.
func (s *Store) Close() error {
	s.server.Close()
	return nil
}

// Schema is the one that was asked for, or found.
func (s *Store) Schema() lookup.Schema { return s.schema }

// Parts names the parts. Where the server has lost what it had, as one that is
// emptied or keeps nothing on a disk, there are none, and the index begins anew.
func (s *Store) Parts(ctx context.Context) ([]string, error) {
	now, err := s.load(ctx)
	if errors.Is(err, errNoState) {
		s.changing.Lock()
		defer s.changing.Unlock()
		// Documents may be there that nothing tells of: none of them has a version
		// that is given now.
		const most = 1 << 31
		err = s.create(ctx, most/2+rand.Uint32N(most/2))  //nolint:gosec // not for secrets
		if now = new(state); errors.Is(err, ErrChanged) { // another process was faster
			now, err = s.load(ctx)
		}
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return slices.Sorted(maps.Keys(now.Parts)), nil
}

// Put sends the documents under a version of their own, and then makes it the
// part's.
func (s *Store) Put(ctx context.Context, part string, each func(yield func(*lookup.Entry) error) error) error {
	if part == "" {
		return errors.New("lookup: a part needs a name")
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	now, err := s.change(ctx, func(now *state) {
		now.Last++
		now.Pending = append(now.Pending, now.Last)
	})
	if err != nil {
		return s.failed(err)
	}
	version := now.Last
	if err := s.send(ctx, part, version, each); err != nil {
		return errors.Join(err, s.failed(s.erase(context.WithoutCancel(ctx), s.schema, version)))
	}
	var old uint32
	_, err = s.change(ctx, func(now *state) {
		now.done(version)
		if old = now.Parts[part]; old > 0 {
			now.Pending = append(now.Pending, old)
		}
		if now.Parts == nil {
			now.Parts = map[string]uint32{}
		}
		now.Parts[part] = version
	})
	if err != nil || old == 0 {
		return s.failed(err)
	}
	return s.failed(s.erase(ctx, s.schema, old))
}

// send puts documents, some batches at once.
func (s *Store) send(ctx context.Context, part string, version uint32, each func(yield func(*lookup.Entry) error) error) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	var batch []Document
	flush := func() {
		documents := batch
		batch = nil
		tasks.Go(func() error { return s.failed(s.server.Put(ctx, s.schema, documents)) })
	}
	last := int64(-1)
	err := each(func(e *lookup.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := CheckEntry(e, s.schema, last); err != nil {
			return fmt.Errorf("part %s: %w", part, err)
		}
		last = e.Row
		batch = append(batch, Document{Reference{uint64(version), e.Row, e.Hi, e.Lo}, slices.Clone(e.Keys), appendKeys(AppendEntry(nil, e), e.Keys)})
		if len(batch) == batched {
			flush()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		flush()
	}
	return cmp.Or(tasks.Wait(), err)
}

// Drop removes a part.
func (s *Store) Drop(ctx context.Context, part string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	now, err := s.load(ctx)
	if err != nil {
		return s.failed(err)
	}
	version, ok := now.Parts[part]
	if !ok {
		return nil
	}
	_, err = s.change(ctx, func(now *state) {
		delete(now.Parts, part)
		now.Pending = append(now.Pending, version)
	})
	if err != nil {
		return s.failed(err)
	}
	return s.failed(s.erase(ctx, s.schema, version))
}

// erase removes the documents of a pending version, and their keys.
func (s *Store) erase(ctx context.Context, schema lookup.Schema, version uint32) error {
	var batch []Document
	flush := func() error {
		defer func() { batch = batch[:0] }()
		return s.server.Remove(ctx, schema, batch)
	}
	err := s.server.All(ctx, uint64(version), func(text []byte) error {
		var e lookup.Entry
		keys, err := ParseEntry(text, &e)
		if err != nil {
			return err
		}
		d := Document{Reference{uint64(version), e.Row, e.Hi, e.Lo}, parseKeys(keys), nil}
		for _, k := range d.Keys {
			if err := schema.CheckKey(k); err != nil {
				return err
			}
		}
		if batch = append(batch, d); len(batch) == batched {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		_, err = s.change(ctx, func(now *state) { now.done(version) })
	}
	return err
}

// Near finds what the query's keys lead to, and then reads the documents that it
// wants of that. It begins with what the last query saw of the parts, and again
// if these have changed; if they change again and again, only parts count that
// are there before and after.
func (s *Store) Near(ctx context.Context, q *lookup.Query) ([]lookup.Hit, error) {
	keys, err := s.keys(q)
	if err != nil {
		return nil, s.failed(err)
	}
	before := s.seen.Load()
	if before == nil {
		if before, err = s.load(ctx); err != nil {
			return nil, s.failed(lost(err))
		}
	}
	for try := 1; ; try++ {
		hits, after, err := s.between(ctx, q, keys, before)
		if after == nil {
			return nil, s.failed(err)
		}
		same := bytes.Equal(before.text, after.text)
		switch {
		case err == nil && (same || try == tries):
			s.seen.Store(after)
			return hits, nil
		case try == tries, same && errors.Is(err, lookup.ErrParts):
			return nil, s.failed(err)
		}
		before = after
	}
}

// lost is the error of a query where the server has lost what it had.
func lost(err error) error {
	if errors.Is(err, errNoState) {
		return fmt.Errorf("%w: %w", lookup.ErrParts, err)
	}
	return err
}

// keys are those of the query, with all within their reach.
func (s *Store) keys(q *lookup.Query) (keys []lookup.Key, err error) {
	if err := q.Check(s.schema); err != nil {
		return nil, err
	}
	values := 0
	for i, k := range q.Keys {
		values += Values(s.schema.Tables[k.Table].Width, q.ReachOf(i))
	}
	if q.All && q.Reach == nil || values > maxValues {
		return nil, fmt.Errorf("distance %d: %w, and at most %d of them at once", q.Distance, lookup.ErrScan, maxValues)
	}
	for i, k := range q.Keys {
		for value := range Around(k.Value, s.schema.Tables[k.Table].Width, q.ReachOf(i)) {
			keys = append(keys, lookup.Key{Table: k.Table, Value: value})
		}
	}
	return keys, nil
}

// between answers from the parts that are there before and after. What is there
// after comes with an error if the query may be repeated.
func (s *Store) between(ctx context.Context, q *lookup.Query, keys []lookup.Key, before *state) (hits []lookup.Hit, after *state, err error) {
	names := before.byVersion()
	wanted, err := s.wanted(ctx, q, keys, names)
	if err != nil {
		return nil, nil, err
	}
	texts, text, err := s.server.Texts(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	if after, err = s.parse(text); err != nil {
		return nil, nil, lost(err)
	}
	for _, part := range q.Parts {
		if version := before.Parts[part]; version == 0 || after.Parts[part] != version {
			return nil, after, fmt.Errorf("part %s: %w", part, lookup.ErrParts)
		}
	}
	for i, r := range wanted {
		h := lookup.Hit{Part: names[r.Version]}
		if after.Parts[h.Part] != uint32(r.Version) { // dropped or replaced meanwhile
			continue
		}
		if texts[i] == nil { // the part may have gone after the state was read
			return nil, after, fmt.Errorf("part %s has lost documents: remove %s", h.Part, s.remedy)
		}
		if _, err := ParseEntry(texts[i], &h.Entry); err != nil {
			return nil, nil, err
		}
		h.Distance = q.Apart(h.Hi, h.Lo)
		hits = append(hits, h)
	}
	return hits, after, nil
}

// wanted are the documents of the keys that the query wants, of the parts with
// these versions: each once, in order of distance, part and row.
func (s *Store) wanted(ctx context.Context, q *lookup.Query, keys []lookup.Key, names map[uint64]string) ([]Reference, error) {
	sorted := func(r []Reference) []Reference {
		slices.SortFunc(r, func(a, b Reference) int {
			return cmp.Or(cmp.Compare(q.Apart(a.Hi, a.Lo), q.Apart(b.Hi, b.Lo)), strings.Compare(names[a.Version], names[b.Version]), cmp.Compare(a.Row, b.Row))
		})
		return slices.Compact(r)
	}
	nearest := func(r []Reference) []Reference {
		r = sorted(r)
		return r[:min(len(r), lookup.Limit)]
	}
	prints := func(key int) bool { return s.schema.Tables[keys[key].Table].Prints }
	found, seen := make([][]Reference, len(keys)), make([]int, len(keys))
	err := s.server.Find(ctx, s.schema, keys, func(key int, r Reference) {
		if _, there := names[r.Version]; !there {
			return
		}
		if seen[key]++; prints(key) && q.Apart(r.Hi, r.Lo) > q.Distance {
			return
		}
		if found[key] = append(found[key], r); len(found[key]) >= 2*lookup.Limit+hot {
			found[key] = nearest(found[key])
		}
	})
	if err != nil {
		return nil, err
	}
	var near, others []Reference
	var work lookup.Work
	for key, r := range found {
		if prints(key) {
			work.Values++
			work.Candidates += seen[key]
			near = append(near, r...)
		} else {
			others = append(others, nearest(r)...)
		}
	}
	if q.Work != nil {
		*q.Work = work
	}
	return sorted(append(nearest(near), others...)), nil
}
