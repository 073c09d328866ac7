// Package config holds the one Config of a run: it is the YAML file a user
// writes, the manifest of the run directory and the payload of a worker. It
// parses and checks; it never reads the input and never starts anything.
package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/sketch"
)

// Config is everything that decides a run's result (Input to Output) and how
// it is executed (Execution, which never changes a byte of the result).
type Config struct {
	Input     Input     `yaml:"input" json:"input"`
	Features  Features  `yaml:"features" json:"features"`
	Match     Match     `yaml:"match" json:"match"`
	Clusters  Clusters  `yaml:"clusters" json:"clusters"`
	Output    Output    `yaml:"output" json:"output"`
	Library   Library   `yaml:"library" json:"library,omitzero"`
	Execution Execution `yaml:"execution" json:"-"`
}

// Input says how documents are read.
type Input struct {
	Format       string `yaml:"format" json:"format"`                            // "" (by name and content), warc, wet, jsonl, csv, tsv, parquet
	ID           string `yaml:"id_column" json:"id_column"`                      // column names; "" tries the usual ones
	Title        string `yaml:"title_column" json:"title_column"`                //
	Text         string `yaml:"text_column" json:"text_column"`                  //
	Language     string `yaml:"language_column" json:"language_column,omitzero"` //
	Date         string `yaml:"date_column" json:"date_column"`                  //
	Rank         string `yaml:"rank_column" json:"rank_column"`                  //
	WARCID       string `yaml:"warc_id" json:"warc_id"`                          // url or record
	HTTPStatus   string `yaml:"http_status" json:"http_status"`                  // ok (2xx only) or all
	HTML         string `yaml:"html" json:"html"`                                // main text of a page, or all visible text
	Encoding     string `yaml:"encoding" json:"encoding,omitzero"`               // of all text; "": told from each file or page
	MaxRecord    int64  `yaml:"max_record" json:"max_record"`                    // bytes; a longer record is skipped
	MaxBad       string `yaml:"max_bad" json:"max_bad"`                          // a count ("1000") or a share ("10%") of unusable records
	DuplicateIDs string `yaml:"duplicate_ids" json:"duplicate_ids"`              // skip or fail
	SplitBytes   int64  `yaml:"split_bytes" json:"split_bytes"`                  // plain JSONL is cut at about this many bytes
}

// Segmenters of Chinese; both cut alike.
const (
	SegmenterBuiltin = "builtin" // ours, its dictionary in the program
	SegmenterGojieba = "gojieba" // the C++ reference, its dictionaries in the module cache
)

// Features says how a text becomes a fingerprint.
type Features struct {
	simhash.Options `yaml:",inline"`

	Segmenter string   `yaml:"segmenter" json:"segmenter"`   // builtin or gojieba
	UserWords []string `yaml:"user_words" json:"user_words"` // files of words for the segmenter: word, frequency, tag
	StopList  string   `yaml:"stop_list" json:"stop_list"`   // file of further stop words, one a line
	Templates string   `yaml:"templates" json:"templates"`   // file of the templates of sites, which are left out of their pages' texts
}

// Presets: ways to tell near-duplicates that were measured, see
// job/docs/accuracy.md.
const (
	PresetClassic  = "classic"  // the fingerprints within distance 3, and nothing else
	PresetBalanced = "balanced" // more candidates, confirmed by their sketches
	PresetThorough = "thorough" // many more, and the texts consulted near the border
)

// Ways to verify the pairs that were found.
const (
	VerifyNone   = "none"   // the distance alone decides
	VerifySketch = "sketch" // the sketches' estimate decides
	VerifyTexts  = "texts"  // where the estimate is near the limit, the texts decide
)

// Files lists the files that the features are made with.
func (f Features) Files() []string {
	files := slices.Clone(f.UserWords)
	for _, path := range []string{f.StopList, f.Templates} {
		if path != "" {
			files = append(files, path)
		}
	}
	return files
}

// Match says which documents are near-duplicates: which ones meet, and what
// they are confirmed by. Preset stands for the fields from Distance to Border;
// those that are given too win over it.
type Match struct {
	Preset     string  `yaml:"preset" json:"preset"`
	Distance   int     `yaml:"distance" json:"distance"`       // k: the largest Hamming distance at which documents of the normal lane meet
	Verify     string  `yaml:"verify" json:"verify"`           // none, sketch or texts
	Bands      bool    `yaml:"bands" json:"bands"`             // documents whose sketches share a band meet too
	ShortTexts bool    `yaml:"short_texts" json:"short_texts"` // texts of at most 40 letters are judged by their edits
	LongFrom   int     `yaml:"long_from" json:"long_from"`     // characters of the shorter text from which on it is long
	LimitLong  float64 `yaml:"limit_long" json:"limit_long"`   // least Jaccard similarity of long texts
	LimitShort float64 `yaml:"limit_short" json:"limit_short"` // the same of other texts
	Border     float64 `yaml:"border" json:"border"`           // how near the limit the texts are consulted
	AllPairs   bool    `yaml:"all_pairs" json:"all_pairs"`     // write all pairs
	MaxPairs   int64   `yaml:"max_pairs" json:"max_pairs"`     // all_pairs fails beyond this many rows, before it writes any
}

// Verified reports whether pairs are confirmed by more than their distance.
func (m Match) Verified() bool { return m.Verify != VerifyNone }

// Rules are those of the verdict on a pair.
func (m Match) Rules() sketch.Rules {
	r := sketch.Rules{LongFrom: m.LongFrom, Long: m.LimitLong, Short: m.LimitShort}
	if m.Verify == VerifyTexts {
		r.Border = m.Border
	}
	return r
}

// preset sets what the preset stands for.
func (m *Match) preset(name string) error {
	rules := sketch.Balanced()
	m.Distance, m.Verify, m.Bands, m.ShortTexts = 3, VerifySketch, true, true
	switch name {
	case PresetClassic:
		m.Verify, m.Bands, m.ShortTexts = VerifyNone, false, false
	case PresetBalanced:
	case PresetThorough:
		rules = sketch.Thorough()
		m.Distance, m.Verify = 12, VerifyTexts
	default:
		return fmt.Errorf("preset %q: write one of %s, %s, %s", name, PresetClassic, PresetBalanced, PresetThorough)
	}
	m.Preset, m.LongFrom, m.LimitLong, m.LimitShort, m.Border = name, rules.LongFrom, rules.Long, rules.Short, rules.Border
	return nil
}

// Keep rules: which document of a cluster the clean dump keeps. Ties go to
// the smaller id.
const (
	KeepLongest  = "longest"  // the most characters
	KeepEarliest = "earliest" // the oldest date; without a date comes last
	KeepRank     = "rank"     // the highest value of the rank column; without one comes last
	KeepSmallest = "id"       // the smallest id
)

// Clusters says how matches become clusters.
type Clusters struct {
	Keep string `yaml:"keep" json:"keep"`
	// MaxSpread bounds a chain: a connected component with more distinct
	// fingerprints than this is cut into clusters around centres, in which
	// every document is within the match distance of the centre. 0: no bound.
	MaxSpread int `yaml:"max_spread" json:"max_spread"`
}

// Output says what is written.
type Output struct {
	Clean bool `yaml:"clean" json:"clean"` // the documents that stay, in the input's own form
}

// Library says which earlier nights a run is matched against, and what it adds
// to them.
type Library struct {
	Path  string `yaml:"path" json:"path"`   // folder of the library; "" none
	Night string `yaml:"night" json:"night"` // name of the night: YYYY-MM-DD, and more if a date has several
}

// Matchers of the local engine.
const (
	MatcherKernel  = "kernel"  // the join in memory, without a shuffle
	MatcherShuffle = "shuffle" // the stages a cluster runs, on this machine's cores
)

// Execution says how the run is executed; no field changes the result.
type Execution struct {
	Engine  string `yaml:"engine"`  // local or gleam
	Workers int    `yaml:"workers"` // 0: one per core
	Memory  string `yaml:"memory"`  // cap for the match phase, like 4GiB; "" half of the machine's
	Tmp     string `yaml:"tmp"`     // where spilled data goes; "" the run directory
	Matcher string `yaml:"matcher"` // kernel or shuffle
	Plan    string `yaml:"plan"`    // of the kernel, bits/errors/agree by region; "" chosen by its cost model
	Shards  int    `yaml:"shards"`  // of the shuffle
	Salts   int    `yaml:"salts"`   // of the shuffle's first reduce

	Master   string `yaml:"master"`   // HOST:PORT of the gleam master
	Attempts int    `yaml:"attempts"` // at each flow on the cluster
	Stall    string `yaml:"stall"`    // an attempt without progress for that long, like 2m, is ended
	Deadline string `yaml:"deadline"` // an attempt that runs longer, like 12h, is ended
}

// Engines.
const (
	EngineLocal = "local" // this process
	EngineGleam = "gleam" // a gleam cluster
)

// Default returns the configuration of a run without flags.
func Default() Config {
	c := Config{
		Input: Input{
			WARCID:       data.WARCIDURL,
			HTTPStatus:   data.HTTPStatusOK,
			HTML:         data.HTMLMain,
			MaxRecord:    32 << 20,
			MaxBad:       "10%",
			DuplicateIDs: "skip",
			SplitBytes:   64 << 20,
		},
		Features: Features{Options: simhash.DefaultOptions(), Segmenter: SegmenterBuiltin},
		Match:    Match{MaxPairs: 1_000_000_000},
		Clusters: Clusters{Keep: KeepLongest, MaxSpread: 1000},
		Output:   Output{Clean: true},
		Execution: Execution{
			Engine:   EngineLocal,
			Matcher:  MatcherKernel,
			Shards:   8,
			Salts:    4,
			Master:   "127.0.0.1:45326",
			Attempts: 3,
			Stall:    "2m",
			Deadline: "12h",
		},
	}
	_ = c.Match.preset(PresetBalanced) // it exists
	return c
}

// WithPreset returns c with what the preset of that name stands for.
func (c Config) WithPreset(name string) (Config, error) {
	err := c.Match.preset(name)
	return c, err
}

// Read overlays the YAML file at path on base, first the preset that it names.
// A field it does not know is an error that names file and line.
func Read(path string, base Config) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return base, fmt.Errorf("config: %w", err)
	}
	var first struct {
		Match struct {
			Preset string `yaml:"preset"`
		} `yaml:"match"`
	}
	c := base
	if err := yaml.Unmarshal(text, &first); err == nil && first.Match.Preset != "" {
		if c, err = base.WithPreset(first.Match.Preset); err != nil {
			return base, fmt.Errorf("config: %s: %w", path, err)
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text), yaml.DisallowUnknownField())
	if err := dec.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return base, fmt.Errorf("config: %s: %w\nneardup run --print-config shows every setting and where it stands", path, err)
	}
	if reflect.ValueOf(c).IsZero() { // a file without settings is null in YAML
		return base, nil
	}
	return c, nil
}

// YAML returns the configuration as a file that Read takes.
func (c Config) YAML() ([]byte, error) { return yaml.Marshal(c) }

// Check returns the first mistake, with what to write instead.
func (c Config) Check() error {
	if err := c.Features.Check(); err != nil {
		return err
	}
	if c.Match.Distance < 0 || c.Match.Distance >= c.Features.Bits {
		return fmt.Errorf("distance %d: write a number from 0 to %d", c.Match.Distance, c.Features.Bits-1)
	}
	if limit := hamming.MaxDistance(c.Features.Bits); c.Match.Distance > limit {
		return fmt.Errorf("distance %d is beyond what %d bits are matched at: write a number from 0 to %d", c.Match.Distance, c.Features.Bits, limit)
	}
	for _, f := range []struct {
		name, value string
		allowed     []string
	}{
		{"segmenter", c.Features.Segmenter, []string{SegmenterBuiltin, SegmenterGojieba}},
		{"format", c.Input.Format, []string{"", "warc", "wet", "jsonl", "csv", "tsv", "parquet"}},
		{"warc_id", c.Input.WARCID, []string{data.WARCIDURL, data.WARCIDRecord}},
		{"http_status", c.Input.HTTPStatus, []string{data.HTTPStatusOK, data.HTTPStatusAll}},
		{"html", c.Input.HTML, []string{data.HTMLMain, data.HTMLVisible}},
		{"duplicate_ids", c.Input.DuplicateIDs, []string{"skip", "fail"}},
		{"keep", c.Clusters.Keep, []string{KeepLongest, KeepEarliest, KeepRank, KeepSmallest}},
		{"preset", c.Match.Preset, []string{PresetClassic, PresetBalanced, PresetThorough}},
		{"verify", c.Match.Verify, []string{VerifyNone, VerifySketch, VerifyTexts}},
		{"engine", c.Execution.Engine, []string{EngineLocal, EngineGleam}},
		{"matcher", c.Execution.Matcher, []string{MatcherKernel, MatcherShuffle}},
	} {
		if !slices.Contains(f.allowed, f.value) {
			return fmt.Errorf("%s %q: write one of %s", f.name, f.value, strings.Join(slices.DeleteFunc(slices.Clone(f.allowed), func(s string) bool { return s == "" }), ", "))
		}
	}
	if (c.Match.Bands || c.Match.ShortTexts) && !c.Match.Verified() {
		return errors.New("bands and short_texts find candidates that must be confirmed: write verify sketch or texts, or bands false and short_texts false")
	}
	if err := c.Match.Rules().Check(); err != nil {
		return err
	}
	if (c.Library.Path == "") != (c.Library.Night == "") {
		return fmt.Errorf("library %q, night %q: write both, or neither", c.Library.Path, c.Library.Night)
	}
	if c.Clusters.Keep == KeepRank && c.Input.Rank == "" {
		return errors.New("keep rank needs the column to rank by: name it with --rank-column")
	}
	if _, err := charset.NewDecoder(c.Input.Encoding); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	if c.Input.MaxRecord <= 0 {
		return fmt.Errorf("max_record %d: write a number of bytes, like 33554432", c.Input.MaxRecord)
	}
	if c.Input.SplitBytes <= 0 {
		return fmt.Errorf("split_bytes %d: write a number of bytes, like 67108864", c.Input.SplitBytes)
	}
	if c.Clusters.MaxSpread < 0 {
		return fmt.Errorf("max_spread %d: write 0 for no bound, or a number of distinct fingerprints, like 1000", c.Clusters.MaxSpread)
	}
	if c.Execution.Workers < 0 || c.Execution.Shards < 1 || c.Execution.Salts < 1 {
		return fmt.Errorf("workers %d, shards %d, salts %d: write workers from 0 (one per core), shards and salts from 1",
			c.Execution.Workers, c.Execution.Shards, c.Execution.Salts)
	}
	if _, err := c.Input.BadLimit(); err != nil {
		return err
	}
	if c.Execution.Engine == EngineGleam {
		if err := c.Execution.checkCluster(); err != nil {
			return err
		}
	}
	if _, err := c.Plan(); err != nil {
		return fmt.Errorf("plan %q: %w: write regions like 32/1/2+32/1/2, whose errors each plus one sum to more than the distance", c.Execution.Plan, err)
	}
	_, err := ParseBytes(c.Execution.Memory)
	return err
}

// checkCluster checks what only a cluster looks at.
func (e Execution) checkCluster() error {
	for _, f := range []struct{ name, value string }{{"stall", e.Stall}, {"deadline", e.Deadline}} {
		if d, err := time.ParseDuration(f.value); err != nil || d <= 0 {
			return fmt.Errorf("%s %q: write a time like 90s, 2m or 12h", f.name, f.value)
		}
	}
	if e.Attempts < 1 {
		return fmt.Errorf("attempts %d: write a number from 1", e.Attempts)
	}
	if host, port, ok := strings.Cut(e.Master, ":"); !ok || host == "" || port == "" {
		return fmt.Errorf("master %q: write HOST:PORT", e.Master)
	}
	return nil
}

// Plan returns the kernel's plan, nil when its cost model is to choose.
func (c Config) Plan() (*hamming.Plan, error) {
	if c.Execution.Plan == "" {
		return nil, nil
	}
	return hamming.ParsePlan(c.Features.Bits, c.Match.Distance, c.Execution.Plan)
}

// minBad is the number of unusable records that a share always allows: of a
// handful of records one is a large share.
const minBad = 10

// BadLimit returns a function that says whether bad unusable records among
// total are too many: more than the count; or more than the share and than
// ten; or, with a share, all.
func (in Input) BadLimit() (func(bad, total int64) bool, error) {
	if share, ok := strings.CutSuffix(in.MaxBad, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || p < 0 || p > 100 {
			return nil, fmt.Errorf("max_bad %q: write a count like 1000 or a share like 10%%", in.MaxBad)
		}
		return func(bad, total int64) bool {
			return bad > 0 && bad == total || float64(bad) > max(p*float64(total)/100, minBad)
		}, nil
	}
	n, err := strconv.ParseInt(in.MaxBad, 10, 64)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("max_bad %q: write a count like 1000 or a share like 10%%", in.MaxBad)
	}
	return func(bad, _ int64) bool { return bad > n }, nil
}

// Unusable reports whether a record skipped for that reason counts towards
// MaxBad and, with duplicate ids, makes a strict run end with exit code 3:
// damaged records do, records that are no pages by design do not.
func Unusable(reason string) bool {
	switch reason {
	case data.ReasonMalformed, data.ReasonTruncated, data.ReasonTooLarge, data.ReasonUndecodable:
		return true
	}
	return false
}

// ReaderOptions says how the input's documents are read.
func (in Input) ReaderOptions() data.ReaderOptions {
	return data.ReaderOptions{
		Columns:    data.Columns{ID: in.ID, Title: in.Title, Text: in.Text, Language: in.Language, Date: in.Date, Rank: in.Rank},
		Encoding:   in.Encoding,
		MaxRecord:  in.MaxRecord,
		WARCID:     in.WARCID,
		HTTPStatus: in.HTTPStatus,
		HTML:       in.HTML,
	}
}

// ParseBytes reads a size like 512MiB, 4GiB or 8000000; "" is 0.
func ParseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	number, shift := s, 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			number, shift = n, 10*(i+1)
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v <= 0 || v*float64(int64(1)<<shift) > 1<<60 {
		return 0, fmt.Errorf("size %q: write it like 512MiB or 4GiB", s)
	}
	return int64(v * float64(int64(1)<<shift)), nil
}

// MemoryLimit is the memory cap in bytes: Memory, or half of the machine's.
func (e Execution) MemoryLimit() (int64, error) {
	n, err := ParseBytes(e.Memory)
	if err != nil || n > 0 {
		return n, err
	}
	return machineMemory() / 2, nil
}

// machineMemory is the machine's memory as Linux tells it, 8 GiB elsewhere.
func machineMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				if kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err == nil {
					return kib << 10
				}
			}
		}
	}
	return 8 << 30
}

// Hash identifies what decides the result: two runs with the same hash and
// the same input write the same bytes. Execution is left out. Files that the
// configuration names (stop list, user words) count by their content.
func (c Config) Hash() (string, error) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	for _, path := range c.Features.Files() {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("config: %w", err)
		}
		sum := sha256.Sum256(text)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
