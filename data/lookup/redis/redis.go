// Package redis is a lookup store in a Redis server: one set for each table and
// value, whose members are fingerprints with a reference to their document. The
// documents of a part are a hash. It finds documents by their keys only, and
// keeps everything in the server's memory: see
// job/docs/benchmarks/2026-11-21/library.md for how much.
//
// One process at a time may put and drop; any number may look up.
package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/neardup/neardup/data/lookup"
	"github.com/neardup/neardup/data/lookup/internal/stored"
)

// Options of Open.
type Options struct {
	Address  string // HOST:PORT
	Username string
	Password string
	Prefix   string // of all keys; "" is neardup
}

// store is what stands in the server under a prefix.
type store struct {
	client rueidis.Client
	prefix string
	schema lookup.Schema
}

// pipelined is how many documents are sent at once.
const pipelined = 500

// Open connects to the server. What stands there in another schema is
// removed, and so is what a killed process left.
func Open(ctx context.Context, schema lookup.Schema, o Options) (lookup.Store, error) {
	if err := schema.Check(); err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Address}, Username: o.Username, Password: o.Password,
		DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		return nil, fmt.Errorf("lookup: redis at %s: %w", o.Address, err)
	}
	s := &store{client: client, prefix: cmp.Or(o.Prefix, "neardup") + ":", schema: schema}
	if err := s.adopt(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("lookup: redis at %s: %w", o.Address, err)
	}
	return s, nil
}

// keeps returns an error for a server that may throw keys away to save memory:
// what it had would then be unknown.
func (s *store) keeps(ctx context.Context) error {
	info, err := s.client.Do(ctx, s.client.B().Info().Section("memory").Build()).ToString()
	if _, told := rueidis.IsRedisErr(err); told { // it does not say
		return nil
	}
	if err != nil {
		return err
	}
	bounded, policy := false, ""
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "maxmemory":
			bounded = value != "0"
		case "maxmemory_policy":
			policy = value
		}
	}
	if bounded && policy != "noeviction" {
		return fmt.Errorf("it throws keys away when its memory is full (maxmemory-policy %s): set noeviction", policy)
	}
	return nil
}

// adopt makes what is there fit the schema.
func (s *store) adopt(ctx context.Context) error {
	if err := s.keeps(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(s.schema)
	if err != nil {
		return err
	}
	have, err := s.client.Do(ctx, s.client.B().Get().Key(s.key("schema")).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return err
	}
	versions, err := s.client.Do(ctx, s.client.B().Smembers().Key(s.key("pending")).Build()).AsStrSlice()
	if err != nil {
		return err
	}
	if have != "" && have != string(text) {
		parts, err := s.parts(ctx)
		if err != nil {
			return err
		}
		if err := s.client.Do(ctx, s.client.B().Del().Key(s.key("parts")).Build()).Error(); err != nil {
			return err
		}
		versions = append(versions, slices.Collect(maps.Values(parts))...)
	}
	for _, v := range versions {
		if err := s.erase(ctx, v); err != nil {
			return err
		}
	}
	return s.client.Do(ctx, s.client.B().Set().Key(s.key("schema")).Value(string(text)).Build()).Error()
}

// Close closes the connection.
func (s *store) Close() error {
	s.client.Close()
	return nil
}

func (s *store) key(name string) string { return s.prefix + name }

// setKey is the set of a table and value, prefixed as segment keys are.
func (s *store) setKey(k lookup.Key) string {
	return fmt.Sprintf("%sk:%02d:%08x", s.prefix, k.Table, k.Value)
}

func (s *store) documents(version string) string { return s.prefix + "d:" + version }

// parts gives the version of each part.
func (s *store) parts(ctx context.Context) (map[string]string, error) {
	return s.client.Do(ctx, s.client.B().Hgetall().Key(s.key("parts")).Build()).AsStrMap()
}

// Parts names the parts.
func (s *store) Parts(ctx context.Context) ([]string, error) {
	parts, err := s.parts(ctx)
	if err != nil {
		return nil, fmt.Errorf("lookup: redis: %w", err)
	}
	return slices.Sorted(maps.Keys(parts)), nil
}

// member is what a set holds of a document: the fingerprint, then the version
// and the row. Short ones, for there are many.
func (s *store) member(version uint64, row int64, hi, lo uint64) string {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 32), lo)
	if s.schema.Bits == 128 {
		b = binary.LittleEndian.AppendUint64(b, hi)
	}
	b = binary.AppendUvarint(b, version)
	return string(binary.AppendUvarint(b, uint64(row)))
}

func (s *store) parseMember(m string) (r stored.Reference, ok bool) {
	b := []byte(m)
	take := func() (v uint64) {
		if ok = ok && len(b) >= 8; ok {
			v, b = binary.LittleEndian.Uint64(b), b[8:]
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
	ok = true
	if r.Lo = take(); s.schema.Bits == 128 {
		r.Hi = take()
	}
	r.Version, r.Row = number(), int64(number())
	return r, ok && len(b) == 0
}

// do sends commands, at once, and returns the first error among the answers.
func (s *store) do(ctx context.Context, commands ...rueidis.Completed) error {
	for _, r := range s.client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return fmt.Errorf("lookup: redis: %w", err)
		}
	}
	return nil
}

// Put sends the documents under a version of their own, and then makes it the
// part's.
func (s *store) Put(ctx context.Context, part string, each func(yield func(*lookup.Entry) error) error) (err error) {
	if part == "" {
		return errors.New("lookup: a part needs a name")
	}
	version, err := s.client.Do(ctx, s.client.B().Incr().Key(s.key("version")).Build()).AsUint64()
	if err != nil {
		return fmt.Errorf("lookup: redis: %w", err)
	}
	name := strconv.FormatUint(version, 10)
	if err := s.do(ctx, s.client.B().Sadd().Key(s.key("pending")).Member(name).Build()); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.erase(context.WithoutCancel(ctx), name))
		}
	}()
	var batch rueidis.Commands
	flush := func() error {
		defer func() { batch = nil }()
		return s.do(ctx, batch...)
	}
	last, n := int64(-1), 0
	err = each(func(e *lookup.Entry) error {
		if err := stored.CheckEntry(e, s.schema, last); err != nil {
			return fmt.Errorf("part %s: %w", part, err)
		}
		last = e.Row
		text := stored.AppendKeys(stored.AppendEntry(nil, e), e.Keys)
		batch = append(batch, s.client.B().Hset().Key(s.documents(name)).FieldValue().FieldValue(strconv.FormatInt(e.Row, 10), string(text)).Build())
		m := s.member(version, e.Row, e.Hi, e.Lo)
		for _, k := range e.Keys {
			batch = append(batch, s.client.B().Sadd().Key(s.setKey(k)).Member(m).Build())
		}
		if n++; n%pipelined == 0 {
			return flush()
		}
		return nil
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	old, err := s.client.Do(ctx, s.client.B().Hget().Key(s.key("parts")).Field(part).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("lookup: redis: %w", err)
	}
	// One transaction: the new version is there and nobody's to remove, the
	// old one is.
	publish := rueidis.Commands{
		s.client.B().Multi().Build(),
		s.client.B().Hset().Key(s.key("parts")).FieldValue().FieldValue(part, name).Build(),
		s.client.B().Srem().Key(s.key("pending")).Member(name).Build(),
	}
	if old != "" {
		publish = append(publish, s.client.B().Sadd().Key(s.key("pending")).Member(old).Build())
	}
	if err := s.do(ctx, append(publish, s.client.B().Exec().Build())...); err != nil || old == "" {
		return err
	}
	return s.erase(ctx, old)
}

// Drop removes a part.
func (s *store) Drop(ctx context.Context, part string) error {
	version, err := s.client.Do(ctx, s.client.B().Hget().Key(s.key("parts")).Field(part).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lookup: redis: %w", err)
	}
	err = s.do(ctx,
		s.client.B().Multi().Build(),
		s.client.B().Hdel().Key(s.key("parts")).Field(part).Build(),
		s.client.B().Sadd().Key(s.key("pending")).Member(version).Build(),
		s.client.B().Exec().Build())
	if err != nil {
		return err
	}
	return s.erase(ctx, version)
}

// erase removes the documents of a version that no part has, and their
// members.
func (s *store) erase(ctx context.Context, version string) error {
	number, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return fmt.Errorf("lookup: redis: version %q: %w", version, err)
	}
	cursor := uint64(0)
	for {
		page, err := s.client.Do(ctx, s.client.B().Hscan().Key(s.documents(version)).Cursor(cursor).Count(pipelined).Build()).AsScanEntry()
		if err != nil {
			return fmt.Errorf("lookup: redis: %w", err)
		}
		var batch rueidis.Commands
		for i := 1; i < len(page.Elements); i += 2 {
			var e lookup.Entry
			keys, err := stored.ParseEntry([]byte(page.Elements[i]), &e)
			if err != nil {
				return fmt.Errorf("redis: %w", err)
			}
			m := s.member(number, e.Row, e.Hi, e.Lo)
			for _, k := range stored.ParseKeys(keys) {
				batch = append(batch, s.client.B().Srem().Key(s.setKey(k)).Member(m).Build())
			}
		}
		if err := s.do(ctx, batch...); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == 0 {
			break
		}
	}
	return s.do(ctx,
		s.client.B().Del().Key(s.documents(version)).Build(),
		s.client.B().Srem().Key(s.key("pending")).Member(version).Build())
}

// Near reads the sets of the query's keys, and then the documents that it
// wants of them. Only parts that are there before and after count.
func (s *store) Near(ctx context.Context, q *lookup.Query) ([]lookup.Hit, error) {
	if err := stored.CheckQuery(q, s.schema); err != nil {
		return nil, fmt.Errorf("lookup: redis: %w", err)
	}
	names, wanted, err := s.members(ctx, q)
	if err != nil {
		return nil, err
	}
	fields := map[uint64][]string{} // rows by version
	for _, r := range wanted {
		fields[r.Version] = append(fields[r.Version], strconv.FormatInt(r.Row, 10))
	}
	versions := slices.Sorted(maps.Keys(fields))
	documents := make(rueidis.Commands, 0, len(versions)+1)
	for _, v := range versions {
		documents = append(documents, s.client.B().Hmget().Key(s.documents(strconv.FormatUint(v, 10))).Field(fields[v]...).Build())
	}
	answers := s.client.DoMulti(ctx, append(documents, s.allParts())...)
	after, err := partsOf(answers[len(versions)])
	if err != nil {
		return nil, err
	}
	if len(q.Parts) > 0 {
		there := map[string]bool{} // all the while
		for version, part := range names {
			there[part] = after[version] == part
		}
		for _, part := range q.Parts {
			if !there[part] {
				return nil, fmt.Errorf("lookup: redis: part %s: %w", part, lookup.ErrParts)
			}
		}
	}
	var hits []lookup.Hit
	for i, version := range versions {
		texts, err := answers[i].ToArray()
		if err != nil {
			return nil, fmt.Errorf("lookup: redis: %w", err)
		}
		if after[version] != names[version] { // dropped or replaced meanwhile
			continue
		}
		for _, text := range texts {
			h := lookup.Hit{Part: names[version]}
			b, err := text.AsBytes()
			if rueidis.IsRedisNil(err) {
				return nil, fmt.Errorf("lookup: redis: part %s has lost documents: remove what stands under %s*", h.Part, s.prefix)
			}
			if err == nil {
				_, err = stored.ParseEntry(b, &h.Entry)
			}
			if err != nil {
				return nil, fmt.Errorf("lookup: redis: %w", err)
			}
			h.Distance = q.Apart(h.Hi, h.Lo)
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, stored.Compare)
	return hits, nil
}

// allParts asks for the version of each part.
func (s *store) allParts() rueidis.Completed {
	return s.client.B().Hgetall().Key(s.key("parts")).Build()
}

// partsOf reads the answer to allParts: parts by version.
func partsOf(r rueidis.RedisResult) (map[uint64]string, error) {
	parts, err := r.AsStrMap()
	if err != nil {
		return nil, fmt.Errorf("lookup: redis: %w", err)
	}
	names := make(map[uint64]string, len(parts))
	for part, version := range parts {
		number, err := strconv.ParseUint(version, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("lookup: redis: version %q: %w", version, err)
		}
		names[number] = part
	}
	return names, nil
}

// members are the documents of the query's sets that are wanted, each once, and
// the names of all parts, by version, before the sets were read.
func (s *store) members(ctx context.Context, q *lookup.Query) (names map[uint64]string, references []stored.Reference, err error) {
	commands := rueidis.Commands{s.allParts()}
	var tables []int
	for i, k := range q.Keys {
		for value := range stored.Around(k.Value, s.schema.Tables[k.Table].Width, q.ReachOf(i)) {
			commands = append(commands, s.client.B().Smembers().Key(s.setKey(lookup.Key{Table: k.Table, Value: value})).Build())
			tables = append(tables, k.Table)
		}
	}
	answers := s.client.DoMulti(ctx, commands...)
	if names, err = partsOf(answers[0]); err != nil {
		return nil, nil, err
	}
	wanted := stored.NewWanted(q, names)
	for i, r := range answers[1:] {
		members, err := r.ToArray()
		if err != nil {
			return nil, nil, fmt.Errorf("lookup: redis: %w", err)
		}
		prints := s.schema.Tables[tables[i]].Prints
		var here []stored.Reference
		for j := range members {
			m, err := members[j].ToString()
			if err != nil {
				return nil, nil, fmt.Errorf("lookup: redis: %w", err)
			}
			if ref, ok := s.parseMember(m); ok && wanted.May(ref, prints) {
				here = append(here, ref)
			}
		}
		wanted.Add(here, prints)
	}
	return names, wanted.All(), nil
}
