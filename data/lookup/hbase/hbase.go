// Package hbase is a lookup store in a table of HBase, by way of its REST
// gateway: a row for each document and key, so that one scan of a prefix gives all
// documents that share a key, and a row for the document itself. It finds
// documents by their keys only.
//
// A row's key begins with 4 bytes of value, which are the table's bits from the
// most significant on, 1 byte of flag, which is the table, from 1 on, and the 8
// bytes of the fingerprint (16 of one of 128 bits). The version of the part and
// the row in it stand behind, each as a varint. All numbers are big endian, so
// that the leading bytes, and with them the regions, share the values of all
// tables evenly. A document's key has a flag of 0.
//
// One process at a time may put and drop; any number may look up.
package hbase

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

const (
	page     = 10_000 // rows of a scan that are asked for at once
	gathered = 100    // documents that are asked for at once: their keys are in a URL

	stateKey       = "state" // shorter than any other
	documentGroups = 16      // of a part's documents, which spread them over regions
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
	if err == nil && there {
		err = s.readable(ctx)
	} else if err == nil {
		err = s.create(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("lookup: %s: %w", where, err)
	}
	return stored.Open(ctx, s, schema, where, "the table")
}

// readable returns an error for an index of an earlier build, which has other
// keys.
func (s server) readable(ctx context.Context) error {
	rows, err := s.get(ctx, []string{"meta"})
	if err == nil && len(rows) > 0 {
		err = errors.New("an earlier build made the index there: name another table, and drop this one")
	}
	return err
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
		if err := s.put(ctx, set); err != nil {
			return err
		}
		if there, err := s.State(ctx); err != nil || there != nil {
			return err
		}
		return errors.New("the gateway does not find what was put there: it takes keys in base64 from HBase 2.5.7 and 2.6.0 on")
	}
	return s.replace(ctx, stateKey, old, text)
}

// keyPrefix is what the rows of a key start with: value and flag.
func keyPrefix(s lookup.Schema, k lookup.Key) string {
	b := binary.BigEndian.AppendUint32(nil, k.Value<<(32-s.Tables[k.Table].Width))
	return string(append(b, byte(k.Table+1)))
}

// suffix is what follows it: fingerprint, version and row.
func suffix(s lookup.Schema, r stored.Reference) string {
	var b []byte
	if s.Bits == 128 {
		b = binary.BigEndian.AppendUint64(b, r.Hi)
	}
	b = binary.BigEndian.AppendUint64(b, r.Lo)
	b = binary.AppendUvarint(b, r.Version)
	return string(binary.AppendUvarint(b, uint64(r.Row)))
}

func parseSuffix(s lookup.Schema, text string) (r stored.Reference, err error) {
	b, ok := []byte(text), true
	fingerprint := func() (v uint64) {
		if ok = ok && len(b) >= 8; ok {
			v, b = binary.BigEndian.Uint64(b), b[8:]
		}
		return v
	}
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if ok = ok && n > 0; ok {
			b = b[n:]
		}
		return v
	}
	if s.Bits == 128 {
		r.Hi = fingerprint()
	}
	r.Lo = fingerprint()
	r.Version, r.Row = number(), int64(number())
	if !ok || len(b) > 0 || r.Row < 0 || r.Version > math.MaxUint32 {
		return r, errors.New("a row's key that is none")
	}
	return r, nil
}

// documentPrefix is what the rows of a version's documents start with, of a group
// in place of a value.
func documentPrefix(group int64, version uint64) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(group)<<28)
	return string(binary.BigEndian.AppendUint32(append(b, 0), uint32(version)))
}

// documentKey names the row of a document. The last digit of its number comes
// first, so that documents that are put together are spread.
func documentKey(r stored.Reference) string {
	return string(binary.AppendUvarint([]byte(documentPrefix(r.Row%documentGroups, r.Version)), uint64(r.Row)))
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
	for group := range int64(documentGroups) {
		err := s.scan(ctx, documentPrefix(group, version), page, func(r row) error {
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
