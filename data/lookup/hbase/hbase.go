// Package hbase is a lookup store in a table of HBase, by way of its REST
// gateway: one row for each document and key, named by the key's table, its
// value, the fingerprint and the document, so that one scan of a prefix gives
// all documents that share a key; and one row for the document itself. It
// finds documents by their keys only.
//
// One process at a time may put and drop; any number may look up.
package hbase

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

// Options of Open.
type Options struct {
	Address string // HOST:PORT of the REST gateway
	Table   string // made if it is not there, but not divided into regions
}

const (
	batched  = 500    // documents that are sent at once
	page     = 10_000 // rows of a scan that are asked for at once
	gathered = 100    // documents that are asked for at once: their keys are in a URL
	again    = 5      // times that a query is repeated because parts change meanwhile

	stateKey       = "meta"
	documentPrefix = "ff" // of documents' rows; tables are numbered from 00
	documentGroups = 16   // of a part's documents, which spread them over regions
)

// state is what the table holds, in one row, so that it changes as a whole.
type state struct {
	Schema  lookup.Schema     `json:"schema"`
	Last    uint32            `json:"last"` // version that was given
	Parts   map[string]uint32 `json:"parts"`
	Pending []uint32          `json:"pending"` // versions to be erased
}

// snapshot is a state with its text.
type snapshot struct {
	state
	text []byte
}

// byVersion names the parts.
func (s *snapshot) byVersion() map[uint64]string {
	names := make(map[uint64]string, len(s.Parts))
	for part, version := range s.Parts {
		names[uint64(version)] = part
	}
	return names
}

type store struct {
	gateway  *gateway
	schema   lookup.Schema
	where    string
	changing sync.Mutex
	seen     atomic.Pointer[snapshot] // by the last query
}

// Open connects to the table. What stands there in another schema is removed,
// and so is what a killed process left.
func Open(ctx context.Context, schema lookup.Schema, o Options) (lookup.Store, error) {
	if err := schema.Check(); err != nil {
		return nil, err
	}
	s := &store{gateway: newGateway(o.Address, o.Table), schema: schema, where: fmt.Sprintf("hbase at %s, table %s", o.Address, o.Table)}
	if err := s.adopt(ctx); err != nil {
		s.gateway.close()
		return nil, s.failed(err)
	}
	return s, nil
}

// failed says where an error is from.
func (s *store) failed(err error) error { return fmt.Errorf("lookup: %s: %w", s.where, err) }

// adopt makes what is there fit the schema.
func (s *store) adopt(ctx context.Context) error {
	there, err := s.gateway.exists(ctx)
	if err == nil && !there {
		err = s.gateway.create(ctx)
	}
	if err != nil {
		return err
	}
	now, err := s.load(ctx)
	if errors.Is(err, errNoState) {
		text, err := json.Marshal(state{Schema: s.schema})
		if err != nil {
			return err
		}
		var set rowSet
		set.add(stateKey, text)
		return s.gateway.put(ctx, set)
	}
	if err != nil {
		return err
	}
	other := !slices.Equal(now.Schema.Tables, s.schema.Tables) || now.Schema.Bits != s.schema.Bits
	if other {
		err := s.change(ctx, func(now *state) {
			now.Pending = slices.AppendSeq(now.Pending, maps.Values(now.Parts))
			now.Parts = nil
		})
		if err != nil {
			return err
		}
		if now, err = s.load(ctx); err != nil {
			return err
		}
	}
	old := &store{gateway: s.gateway, schema: now.Schema}
	for _, version := range now.Pending {
		if err := old.erase(ctx, version); err != nil {
			return err
		}
	}
	if other {
		return s.change(ctx, func(now *state) { now.Schema = s.schema })
	}
	return nil
}

// errNoState is returned for a table that holds no index.
var errNoState = errors.New("the table holds no index: it was removed while this process has it")

// load reads the state.
func (s *store) load(ctx context.Context) (*snapshot, error) {
	rows, err := s.gateway.get(ctx, []string{stateKey})
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, errNoState
	}
	now := &snapshot{text: rows[0].value}
	if err := json.Unmarshal(now.text, &now.state); err != nil {
		return nil, fmt.Errorf("row %s: %w: remove the table", stateKey, err)
	}
	if err := now.Schema.Check(); err != nil {
		return nil, fmt.Errorf("row %s: %w: remove the table", stateKey, err)
	}
	return now, nil
}

// change reads the state, changes it, and writes it unless another process
// has.
func (s *store) change(ctx context.Context, by func(now *state)) error {
	now, err := s.load(ctx)
	if err != nil {
		return err
	}
	by(&now.state)
	text, err := json.Marshal(now.state)
	if err != nil {
		return err
	}
	return s.gateway.replace(ctx, stateKey, now.text, text)
}

// Close closes the connections.
func (s *store) Close() error {
	s.gateway.close()
	return nil
}

// Parts names the parts.
func (s *store) Parts(ctx context.Context) ([]string, error) {
	now, err := s.load(ctx)
	if err != nil {
		return nil, s.failed(err)
	}
	return slices.Sorted(maps.Keys(now.Parts)), nil
}

// keyPrefix is what the rows of a key start with: table and value, in
// hexadecimal digits.
func (s *store) keyPrefix(k lookup.Key) string {
	return fmt.Sprintf("%02x%0*x", k.Table, (s.schema.Tables[k.Table].Width+3)/4, k.Value)
}

// suffix is what follows it: fingerprint, version and row.
func (s *store) suffix(r stored.Reference) string {
	if s.schema.Bits == 128 {
		return fmt.Sprintf("%016x%016x%08x%x", r.Hi, r.Lo, r.Version, r.Row)
	}
	return fmt.Sprintf("%016x%08x%x", r.Lo, r.Version, r.Row)
}

func (s *store) parseSuffix(text string) (r stored.Reference, err error) {
	number := func(digits int) (v uint64) {
		if digits = min(digits, len(text)); err == nil {
			v, err = strconv.ParseUint(text[:digits], 16, 64)
			text = text[digits:]
		}
		return v
	}
	if s.schema.Bits == 128 {
		r.Hi = number(16)
	}
	r.Lo, r.Version, r.Row = number(16), number(8), int64(number(16))
	if err != nil || text != "" || r.Row < 0 {
		return r, errors.New("a row's key that is none")
	}
	return r, nil
}

// documentKey names the row of a document. The last digit of its number comes
// first, so that documents that are put together are spread.
func documentKey(version uint64, row int64) string {
	return fmt.Sprintf("%s%x%08x%x", documentPrefix, row%documentGroups, version, row)
}

// Put sends the documents under a version of their own, and then makes it the
// part's.
func (s *store) Put(ctx context.Context, part string, each func(yield func(*lookup.Entry) error) error) (err error) {
	if part == "" {
		return errors.New("lookup: a part needs a name")
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	var version uint32
	err = s.change(ctx, func(now *state) {
		now.Last++
		version = now.Last
		now.Pending = append(now.Pending, version)
	})
	if err != nil {
		return s.failed(err)
	}
	if err := s.send(ctx, part, version, each); err != nil {
		return errors.Join(err, s.drop(context.WithoutCancel(ctx), version))
	}
	var old []uint32
	err = s.change(ctx, func(now *state) {
		now.Pending = slices.DeleteFunc(now.Pending, func(v uint32) bool { return v == version })
		if was, ok := now.Parts[part]; ok {
			old = append(old, was)
			now.Pending = append(now.Pending, was)
		}
		if now.Parts == nil {
			now.Parts = map[string]uint32{}
		}
		now.Parts[part] = version
	})
	if err != nil {
		return s.failed(err)
	}
	for _, v := range old {
		if err := s.drop(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// send puts documents, some batches at once. Those of a batch are put before
// their keys, so that erase finds the keys of all that was put.
func (s *store) send(ctx context.Context, part string, version uint32, each func(yield func(*lookup.Entry) error) error) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	var documents, keys rowSet
	flush := func() {
		d, k := documents, keys
		documents, keys = nil, nil
		tasks.Go(func() error {
			err := s.gateway.put(ctx, d)
			if err == nil {
				err = s.gateway.put(ctx, k)
			}
			if err != nil {
				return s.failed(err)
			}
			return nil
		})
	}
	last, n := int64(-1), 0
	err := each(func(e *lookup.Entry) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := stored.CheckEntry(e, s.schema, last); err != nil {
			return fmt.Errorf("part %s: %w", part, err)
		}
		last = e.Row
		documents.add(documentKey(uint64(version), e.Row), stored.AppendKeys(stored.AppendEntry(nil, e), e.Keys))
		suffix := s.suffix(stored.Reference{Version: uint64(version), Row: e.Row, Hi: e.Hi, Lo: e.Lo})
		for _, k := range e.Keys {
			keys.add(s.keyPrefix(k)+suffix, nil)
		}
		if n++; n%batched == 0 {
			flush()
		}
		return nil
	})
	if err == nil {
		flush()
	}
	return cmp.Or(tasks.Wait(), err)
}

// Drop removes a part.
func (s *store) Drop(ctx context.Context, part string) error {
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
	err = s.change(ctx, func(now *state) {
		delete(now.Parts, part)
		now.Pending = append(now.Pending, version)
	})
	if err != nil {
		return s.failed(err)
	}
	return s.drop(ctx, version)
}

// drop erases a version that no part has.
func (s *store) drop(ctx context.Context, version uint32) error {
	if err := s.erase(ctx, version); err != nil {
		return s.failed(err)
	}
	return nil
}

// erase removes the documents of a pending version and their keys: the keys
// first, which only the documents name.
func (s *store) erase(ctx context.Context, version uint32) error {
	tasks, within := errgroup.WithContext(ctx)
	tasks.SetLimit(4 * inFlight)
	for group := range documentGroups {
		err := s.gateway.scan(within, fmt.Sprintf("%s%x%08x", documentPrefix, group, version), page, func(r row) error {
			tasks.Go(func() error {
				var e lookup.Entry
				rest, err := stored.ParseEntry(r.value, &e)
				if err != nil {
					return fmt.Errorf("row %.60q: %w", r.key, err)
				}
				suffix := s.suffix(stored.Reference{Version: uint64(version), Row: e.Row, Hi: e.Hi, Lo: e.Lo})
				for _, k := range stored.ParseKeys(rest) {
					if err := s.schema.CheckKey(k); err != nil {
						return fmt.Errorf("row %.60q: %w", r.key, err)
					}
					if err := s.gateway.remove(within, s.keyPrefix(k)+suffix); err != nil {
						return err
					}
				}
				return s.gateway.remove(within, r.key)
			})
			return within.Err()
		})
		if err != nil {
			return cmp.Or(tasks.Wait(), err)
		}
	}
	if err := tasks.Wait(); err != nil {
		return err
	}
	return s.change(ctx, func(now *state) {
		now.Pending = slices.DeleteFunc(now.Pending, func(v uint32) bool { return v == version })
	})
}

// Near scans the rows of the query's keys, and then reads the documents that
// it wants of them. It begins with what the last query saw of the parts, and
// again if that has changed.
func (s *store) Near(ctx context.Context, q *lookup.Query) ([]lookup.Hit, error) {
	if err := stored.CheckQuery(q, s.schema); err != nil {
		return nil, fmt.Errorf("lookup: hbase: %w", err)
	}
	before, last := s.seen.Load(), error(nil)
	if before == nil {
		var err error
		if before, err = s.load(ctx); err != nil {
			return nil, s.failed(err)
		}
	}
	for range again {
		hits, after, err := s.between(ctx, q, before)
		switch {
		case err == nil:
			s.seen.Store(after)
			return hits, nil
		case after == nil:
			return nil, s.failed(err)
		}
		before, last = after, err
	}
	return nil, s.failed(last)
}

// between answers from the parts that are there before and after. What is there
// after comes with an error if the query may be repeated, as when it differs.
func (s *store) between(ctx context.Context, q *lookup.Query, before *snapshot) (hits []lookup.Hit, after *snapshot, err error) {
	names := before.byVersion()
	wanted, err := s.references(ctx, q, names)
	if err != nil {
		return nil, nil, err
	}
	tasks, within := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	tasks.Go(func() (err error) {
		after, err = s.load(within)
		return err
	})
	documents := map[string][]byte{}
	var mu sync.Mutex
	for some := range slices.Chunk(wanted, gathered) {
		tasks.Go(func() error {
			keys := make([]string, len(some))
			for i, r := range some {
				keys[i] = documentKey(r.Version, r.Row)
			}
			rows, err := s.gateway.get(within, keys)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range rows {
				documents[r.key] = r.value
			}
			return err
		})
	}
	if err := tasks.Wait(); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(before.text, after.text) {
		return nil, after, errors.New("parts of the index change again and again: ask again")
	}
	for _, part := range q.Parts {
		if _, ok := after.Parts[part]; !ok {
			return nil, nil, fmt.Errorf("part %s: %w", part, lookup.ErrParts)
		}
	}
	for _, r := range wanted {
		h := lookup.Hit{Part: names[r.Version]}
		text, ok := documents[documentKey(r.Version, r.Row)]
		if !ok { // the part may have gone after the state was read
			return nil, after, fmt.Errorf("part %s has lost documents: remove the table", h.Part)
		}
		if _, err := stored.ParseEntry(text, &h.Entry); err != nil {
			return nil, nil, err
		}
		h.Distance = q.Apart(h.Hi, h.Lo)
		hits = append(hits, h)
	}
	return hits, after, nil
}

// references are the documents that a query wants, each once, in order.
func (s *store) references(ctx context.Context, q *lookup.Query, names map[uint64]string) ([]stored.Reference, error) {
	wanted := stored.NewWanted(q, names)
	var mu sync.Mutex
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	for i, k := range q.Keys {
		prints := s.schema.Tables[k.Table].Prints
		for value := range stored.Around(k.Value, s.schema.Tables[k.Table].Width, q.ReachOf(i)) {
			prefix := s.keyPrefix(lookup.Key{Table: k.Table, Value: value})
			tasks.Go(func() error {
				var here []stored.Reference
				err := s.gateway.scan(ctx, prefix, page, func(r row) error {
					ref, err := s.parseSuffix(r.key[len(prefix):])
					if err != nil {
						return fmt.Errorf("row %.60q: %w", r.key, err)
					}
					if !wanted.May(ref, prints) {
						return nil
					}
					if here = append(here, ref); len(here) >= 2*lookup.Limit+page { // of a hot key
						here = wanted.Nearest(here)
					}
					return nil
				})
				mu.Lock()
				defer mu.Unlock()
				wanted.Add(here, prints)
				return err
			})
		}
	}
	if err := tasks.Wait(); err != nil {
		return nil, err
	}
	return wanted.All(), nil
}
