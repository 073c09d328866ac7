package stored_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

// memory is a Server; another process may change its state between two calls.
type memory struct {
	state          []byte
	texts          map[stored.Reference][]byte
	under          map[lookup.Key][]stored.Reference
	reads, changes func() // the other process: behind State, before Texts
}

func (m *memory) State(context.Context) ([]byte, error) {
	text := m.state
	if m.reads != nil {
		m.reads()
	}
	return text, nil
}

func (m *memory) Replace(_ context.Context, old, text []byte) error {
	if !bytes.Equal(old, m.state) {
		return stored.ErrChanged
	}
	m.state = text
	return nil
}

func (m *memory) Put(_ context.Context, _ lookup.Schema, documents []stored.Document) error {
	for _, d := range documents {
		m.texts[d.Reference] = d.Text
		for _, k := range d.Keys {
			m.under[k] = append(m.under[k], d.Reference)
		}
	}
	return nil
}

func (m *memory) Remove(context.Context, lookup.Schema, []stored.Document) error { return nil }

func (m *memory) All(context.Context, uint64, func([]byte) error) error { return nil }

func (m *memory) Find(_ context.Context, _ lookup.Schema, keys []lookup.Key, found func(int, stored.Reference)) error {
	for i, k := range keys {
		for _, r := range m.under[k] {
			found(i, r)
		}
	}
	return nil
}

func (m *memory) Texts(_ context.Context, of []stored.Reference) (texts [][]byte, state []byte, err error) {
	if m.changes != nil {
		m.changes()
	}
	for _, r := range of {
		texts = append(texts, m.texts[r])
	}
	return texts, m.state, nil
}

func (m *memory) Close() {}

// A server that is emptied has no parts, says so to a query, and takes them
// again.
func TestEmptied(t *testing.T) {
	ctx := t.Context()
	m := &memory{texts: map[stored.Reference][]byte{}, under: map[lookup.Key][]stored.Reference{}}
	s, err := stored.Open(ctx, m, lookup.Schema{Bits: 64, Tables: []lookup.Table{{Width: 8}}}, "memory", "it")
	if err != nil {
		t.Fatal(err)
	}
	key := lookup.Key{Value: 3}
	put := func() {
		t.Helper()
		err := s.Put(ctx, "p", func(yield func(*lookup.Entry) error) error {
			return yield(&lookup.Entry{ID: []byte("a"), Keys: []lookup.Key{key}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	query := &lookup.Query{Keys: []lookup.Key{key}, Parts: []string{"p"}}
	for _, forgets := range []func(){
		func() {
			m.state, m.texts, m.under = nil, map[stored.Reference][]byte{}, map[lookup.Key][]stored.Reference{}
		},
		func() { m.state = nil }, // and leaves documents behind
	} {
		put()
		if hits, err := s.Near(ctx, query); err != nil || len(hits) != 1 {
			t.Fatalf("%v, %v", hits, err)
		}
		forgets()
		if _, err := s.Near(ctx, query); !errors.Is(err, lookup.ErrParts) {
			t.Errorf("emptied: %v", err)
		}
		if parts, err := s.Parts(ctx); err != nil || len(parts) > 0 {
			t.Errorf("emptied: %v, %v", parts, err)
		}
		put()
		if hits, err := s.Near(ctx, query); err != nil || len(hits) != 1 {
			t.Errorf("put again: %v, %v", hits, err)
		}
	}
}

// While parts change again and again, those count that stay.
func TestChanging(t *testing.T) {
	ctx := context.Background()
	m := &memory{texts: map[stored.Reference][]byte{}, under: map[lookup.Key][]stored.Reference{}}
	s, err := stored.Open(ctx, m, lookup.Schema{Bits: 64, Tables: []lookup.Table{{Width: 8}}}, "memory", "it")
	if err != nil {
		t.Fatal(err)
	}
	key := lookup.Key{Value: 7}
	for _, part := range []string{"stays", "goes"} {
		err := s.Put(ctx, part, func(yield func(*lookup.Entry) error) error {
			return yield(&lookup.Entry{Row: 1, ID: []byte(part), Keys: []lookup.Key{key}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	near := func(parts ...string) (ids []string, err error) {
		hits, err := s.Near(ctx, &lookup.Query{Keys: []lookup.Key{key}, Parts: parts})
		for _, h := range hits {
			ids = append(ids, string(h.ID))
		}
		return ids, err
	}
	if ids, err := near("goes"); err != nil || len(ids) != 2 {
		t.Fatalf("%q, %v", ids, err)
	}
	version := 2.0
	m.changes = func() { // the other part has another version each time
		var state map[string]any
		if err := json.Unmarshal(m.state, &state); err != nil {
			t.Fatal(err)
		}
		version = 5 - version
		state["parts"].(map[string]any)["goes"] = version
		if m.state, err = json.Marshal(state); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := near(); err != nil || len(ids) != 1 || ids[0] != "stays" {
		t.Errorf("%q, %v", ids, err)
	}
	if ids, err := near("goes"); !errors.Is(err, lookup.ErrParts) {
		t.Errorf("%q, %v", ids, err)
	}
	m.reads = func() { m.state = append(bytes.Clone(m.state), ' ') }
	if err := s.Drop(ctx, "stays"); !errors.Is(err, stored.ErrChanged) {
		t.Errorf("another process changes it too: %v", err)
	}
}
