// Package hbase is a lookup store in a table of HBase, by way of its REST
// gateway: one row for each document and key, named by the key's table, its
// value, the fingerprint and the document, so that one scan of a prefix gives
// all documents that share a key; and one row for the document itself. It
// finds documents by their keys only.
//
// One process at a time may put and drop; any number may look up.
package hbase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

const (
	page     = 10_000 // rows of a scan that are asked for at once
	gathered = 100    // documents that are asked for at once: their keys are in a URL

	stateKey       = "meta"
	documentPrefix = "ff" // of documents' rows; tables are numbered from 00
	documentGroups = 16   // of a part's documents, which spread them over regions
)

type server struct{ *gateway }

// Open connects to the table, by the REST gateway at HOST:PORT; it is made if it
// is not there, but not divided into regions. What stands there in another schema
// is removed, and so is what a killed process left.
func Open(ctx context.Context, schema lookup.Schema, address, table string) (lookup.Store, error) {
	if err := schema.Check(); err != nil {
		return nil, err
	}
	s := server{newGateway(address, table)}
	where := fmt.Sprintf("hbase at %s, table %s", address, table)
	there, err := s.exists(ctx)
	if err == nil && !there {
		err = s.create(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("lookup: %s: %w", where, err)
	}
	return stored.Open(ctx, s, schema, where, "the table")
}

func (s server) Close() { s.close() }

func (s server) State(ctx context.Context) ([]byte, error) {
	rows, err := s.get(ctx, []string{stateKey})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].value, nil
}

func (s server) Replace(ctx context.Context, old, text []byte) error {
	if old == nil {
		var set rowSet
		set.add(stateKey, text)
		return s.put(ctx, set)
	}
	return s.replace(ctx, stateKey, old, text)
}

// keyPrefix is what the rows of a key start with: table and value, in
// hexadecimal digits.
func keyPrefix(s lookup.Schema, k lookup.Key) string {
	return fmt.Sprintf("%02x%0*x", k.Table, (s.Tables[k.Table].Width+3)/4, k.Value)
}

// suffix is what follows it: fingerprint, version and row.
func suffix(s lookup.Schema, r stored.Reference) string {
	if s.Bits == 128 {
		return fmt.Sprintf("%016x%016x%08x%x", r.Hi, r.Lo, r.Version, r.Row)
	}
	return fmt.Sprintf("%016x%08x%x", r.Lo, r.Version, r.Row)
}

func parseSuffix(s lookup.Schema, text string) (r stored.Reference, err error) {
	number := func(digits int) (v uint64) {
		if digits = min(digits, len(text)); err == nil {
			v, err = strconv.ParseUint(text[:digits], 16, 64)
			text = text[digits:]
		}
		return v
	}
	if s.Bits == 128 {
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
func documentKey(r stored.Reference) string {
	return fmt.Sprintf("%s%x%08x%x", documentPrefix, r.Row%documentGroups, r.Version, r.Row)
}

func (s server) Put(ctx context.Context, schema lookup.Schema, documents []stored.Document) error {
	var texts, keys rowSet
	for _, d := range documents {
		texts.add(documentKey(d.Reference), d.Text)
		behind := suffix(schema, d.Reference)
		for _, k := range d.Keys {
			keys.add(keyPrefix(schema, k)+behind, nil)
		}
	}
	if err := s.put(ctx, texts); err != nil {
		return err
	}
	return s.put(ctx, keys)
}

func (s server) Remove(ctx context.Context, schema lookup.Schema, documents []stored.Document) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(4 * inFlight)
	for _, d := range documents {
		tasks.Go(func() error {
			behind := suffix(schema, d.Reference)
			for _, k := range d.Keys {
				if err := s.remove(ctx, keyPrefix(schema, k)+behind); err != nil {
					return err
				}
			}
			return s.remove(ctx, documentKey(d.Reference))
		})
	}
	return tasks.Wait()
}

func (s server) All(ctx context.Context, version uint64, found func(text []byte) error) error {
	for group := range documentGroups {
		err := s.scan(ctx, fmt.Sprintf("%s%x%08x", documentPrefix, group, version), page, func(r row) error {
			if err := found(r.value); err != nil {
				return fmt.Errorf("row %.60q: %w", r.key, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s server) Find(ctx context.Context, schema lookup.Schema, keys []lookup.Key, found func(key int, r stored.Reference)) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	for i, k := range keys {
		prefix := keyPrefix(schema, k)
		tasks.Go(func() error {
			return s.scan(ctx, prefix, page, func(r row) error {
				ref, err := parseSuffix(schema, r.key[len(prefix):])
				if err != nil {
					return fmt.Errorf("row %.60q: %w", r.key, err)
				}
				found(i, ref)
				return nil
			})
		})
	}
	return tasks.Wait()
}

// Texts asks for the state at once: an answer takes two turns.
func (s server) Texts(ctx context.Context, of []stored.Reference) (texts [][]byte, state []byte, err error) {
	texts = make([][]byte, len(of))
	keys, at := make([]string, len(of)), make(map[string]int, len(of))
	for i, r := range of {
		keys[i] = documentKey(r)
		at[keys[i]] = i
	}
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(inFlight)
	tasks.Go(func() (err error) {
		state, err = s.State(ctx)
		return err
	})
	for some := range slices.Chunk(keys, gathered) {
		tasks.Go(func() error {
			rows, err := s.get(ctx, some)
			for _, r := range rows {
				if i, ok := at[r.key]; ok {
					texts[i] = r.value
				}
			}
			return err
		})
	}
	return texts, state, tasks.Wait()
}
