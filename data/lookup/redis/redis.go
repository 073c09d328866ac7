// Package redis is a lookup store in a Redis server: one set for each table and
// value, whose members are fingerprints with a reference to their document. The
// documents of a part are a hash. It finds documents by their keys only, and
// keeps everything in the server's memory: see
// job/docs/benchmarks/lookup-stores.md for how much.
//
// One process at a time may put and drop; any number may look up.
package redis

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
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
	Password string
	Prefix   string // of all keys; "" is neardup
}

// server is what stands in a server under a prefix.
type server struct {
	client rueidis.Client
	prefix string
}

// Open connects to the server. What stands there in another schema is
// removed, and so is what a killed process left.
func Open(ctx context.Context, schema lookup.Schema, o Options) (lookup.Store, error) {
	if err := schema.Check(); err != nil {
		return nil, err
	}
	where := "redis at " + o.Address
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Address}, Password: o.Password,
		DisableCache: true, ForceSingleClient: true,
	})
	if err != nil {
		return nil, fmt.Errorf("lookup: %s: %w", where, err)
	}
	s := &server{client, cmp.Or(o.Prefix, "neardup") + ":"}
	if err := s.keeps(ctx); err != nil {
		client.Close()
		return nil, fmt.Errorf("lookup: %s: %w", where, err)
	}
	return stored.Open(ctx, s, schema, where, "what stands under "+s.prefix+"*")
}

// keeps returns an error for a server that may throw keys away to save memory:
// what it had would then be unknown; and for an index of another program, whose
// keys would be taken for ours.
func (s *server) keeps(ctx context.Context) error {
	if n, err := s.client.Do(ctx, s.client.B().Exists().Key(s.prefix+"parts").Build()).AsInt64(); err != nil || n > 0 {
		return cmp.Or(err, fmt.Errorf("an earlier build made the index there: remove what stands under %s*", s.prefix))
	}
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

func (s *server) Close() { s.client.Close() }

func (s *server) stateKey() string { return s.prefix + "state" }

// bytesOf reads an answer; nil where there is nothing.
func bytesOf(r rueidis.RedisResult) ([]byte, error) {
	text, err := r.AsBytes()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	return text, err
}

func (s *server) State(ctx context.Context) ([]byte, error) {
	return bytesOf(s.client.Do(ctx, s.client.B().Get().Key(s.stateKey()).Build()))
}

// replace is a script: what it reads is there when it writes.
var replace = rueidis.NewLuaScript(`if (redis.call("GET", KEYS[1]) or "") ~= ARGV[1] then return 0 end
redis.call("SET", KEYS[1], ARGV[2])
return 1`)

func (s *server) Replace(ctx context.Context, old, text []byte) error {
	done, err := replace.Exec(ctx, s.client, []string{s.stateKey()}, []string{string(old), string(text)}).AsInt64()
	if err == nil && done == 0 {
		err = stored.ErrChanged
	}
	return err
}

// setKey is the set of a table and value, prefixed as segment keys are.
func (s *server) setKey(k lookup.Key) string {
	return fmt.Sprintf("%sk:%02d:%08x", s.prefix, k.Table, k.Value)
}

// documents is the hash of a version's documents, whose fields are their rows.
func (s *server) documents(version uint64) string {
	return s.prefix + "d:" + strconv.FormatUint(version, 10)
}

func field(row int64) string { return strconv.FormatInt(row, 10) }

// member is what a set holds of a document: the fingerprint, then the version
// and the row. Short ones, for there are many.
func member(s lookup.Schema, r stored.Reference) string {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 32), r.Lo)
	if s.Bits == 128 {
		b = binary.LittleEndian.AppendUint64(b, r.Hi)
	}
	b = binary.AppendUvarint(b, r.Version)
	return string(binary.AppendUvarint(b, uint64(r.Row)))
}

func parseMember(s lookup.Schema, m string) (r stored.Reference, ok bool) {
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
	if r.Lo = take(); s.Bits == 128 {
		r.Hi = take()
	}
	r.Version, r.Row = number(), int64(number())
	return r, ok && len(b) == 0
}

// do sends commands, at once, and returns the first error among the answers.
func (s *server) do(ctx context.Context, commands rueidis.Commands) error {
	for _, r := range s.client.DoMulti(ctx, commands...) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) Put(ctx context.Context, schema lookup.Schema, documents []stored.Document) error {
	var commands rueidis.Commands
	for _, d := range documents {
		commands = append(commands, s.client.B().Hset().Key(s.documents(d.Version)).FieldValue().FieldValue(field(d.Row), string(d.Text)).Build())
		m := member(schema, d.Reference)
		for _, k := range d.Keys {
			commands = append(commands, s.client.B().Sadd().Key(s.setKey(k)).Member(m).Build())
		}
	}
	return s.do(ctx, commands)
}

func (s *server) Remove(ctx context.Context, schema lookup.Schema, documents []stored.Document) error {
	var commands rueidis.Commands
	for _, d := range documents {
		m := member(schema, d.Reference)
		for _, k := range d.Keys {
			commands = append(commands, s.client.B().Srem().Key(s.setKey(k)).Member(m).Build())
		}
		commands = append(commands, s.client.B().Hdel().Key(s.documents(d.Version)).Field(field(d.Row)).Build())
	}
	return s.do(ctx, commands)
}

func (s *server) All(ctx context.Context, version uint64, found func(text []byte) error) error {
	for cursor := uint64(0); ; {
		page, err := s.client.Do(ctx, s.client.B().Hscan().Key(s.documents(version)).Cursor(cursor).Count(500).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		for pair := range slices.Chunk(page.Elements, 2) {
			if err := found([]byte(pair[1])); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (s *server) Find(ctx context.Context, schema lookup.Schema, keys []lookup.Key, found func(key int, r stored.Reference)) error {
	commands := make(rueidis.Commands, len(keys))
	for i, k := range keys {
		commands[i] = s.client.B().Smembers().Key(s.setKey(k)).Build()
	}
	for i, answer := range s.client.DoMulti(ctx, commands...) {
		members, err := answer.ToArray()
		if err != nil {
			return err
		}
		for j := range members {
			m, err := members[j].ToString()
			if err != nil {
				return err
			}
			if r, ok := parseMember(schema, m); ok {
				found(i, r)
			}
		}
	}
	return nil
}

func (s *server) Texts(ctx context.Context, of []stored.Reference) (texts [][]byte, state []byte, err error) {
	commands := make(rueidis.Commands, 0, len(of)+1)
	for _, r := range of {
		commands = append(commands, s.client.B().Hget().Key(s.documents(r.Version)).Field(field(r.Row)).Build())
	}
	answers := s.client.DoMulti(ctx, append(commands, s.client.B().Get().Key(s.stateKey()).Build())...)
	texts = make([][]byte, len(of))
	for i := range of {
		if texts[i], err = bytesOf(answers[i]); err != nil {
			return nil, nil, err
		}
	}
	state, err = bytesOf(answers[len(of)])
	return texts, state, err
}
