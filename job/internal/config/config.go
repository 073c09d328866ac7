// Package config holds the one Config of a run: it is the YAML file a user
// writes, the manifest of the run directory and the payload of a worker. It
// parses and checks; it never reads the input and never starts anything.
package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/charset"
	"github.com/neardup/neardup/job/internal/machine"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/hamming"
	"github.com/neardup/neardup/simhash/jieba"
	"github.com/neardup/neardup/simhash/sketch"
)

// Config is everything that decides a run's result (Input to Output) and how
// it is executed and who is told (Execution and Monitor, which never change a
// byte of the result).
type Config struct {
	Input     Input     `yaml:"input" json:"input"`
	Features  Features  `yaml:"features" json:"features"`
	Match     Match     `yaml:"match" json:"match"`
	Clusters  Clusters  `yaml:"clusters" json:"clusters"`
	Output    Output    `yaml:"output" json:"output"`
	Library   Library   `yaml:"library" json:"library,omitzero"`
	Against   Against   `yaml:"against" json:"against,omitzero"`
	Execution Execution `yaml:"execution" json:"-"`
	Monitor   Monitor   `yaml:"monitor" json:"-"`
}

// Input says how documents are read.
type Input struct {
	Format       string `yaml:"format" json:"format" flag:"format" group:"Input" allow:"warc,wet,jsonl,csv,tsv,parquet,arrow" help:"format"`
	ID           string `yaml:"id_column" json:"id_column" flag:"id-column" group:"Input" help:"column of the id (default: id, doc_id, url …)"`
	Title        string `yaml:"title_column" json:"title_column" help:"column of the title (default: title, headline)"`
	Text         string `yaml:"text_column" json:"text_column" flag:"text-column" group:"Input" help:"column of the text (default: text, content …)"`
	Language     string `yaml:"language_column" json:"language_column,omitzero" help:"column of the language (default: language, lang …)"`
	Date         string `yaml:"date_column" json:"date_column" help:"column of the date (default: date, timestamp …)"`
	Rank         string `yaml:"rank_column" json:"rank_column" help:"column for --keep rank, the highest stays"`
	WARCID       string `yaml:"warc_id" json:"warc_id" allow:"url,record" help:"id of a WARC document"`
	HTTPStatus   string `yaml:"http_status" json:"http_status" allow:"ok,all" help:"HTTP responses to read, ok is 2xx"`
	HTML         string `yaml:"html" json:"html" allow:"main,visible" help:"text to take from a page"`
	NoHeader     bool   `yaml:"no_header" json:"no_header,omitzero" help:"CSV and TSV have no header row: columns are named 1, 2 and so on"`
	Encoding     string `yaml:"encoding" json:"encoding,omitzero" flag:"encoding" group:"Input" help:"encoding of all text (default: detected)"`
	MaxRecord    int64  `yaml:"max_record" json:"max_record" least:"1" help:"skip records of more bytes"`
	MaxBad       string `yaml:"max_bad" json:"max_bad" flag:"max-bad" group:"Input" help:"unusable records tolerated"`
	DuplicateIDs string `yaml:"duplicate_ids" json:"duplicate_ids" allow:"skip,fail" help:"what to do with a repeated id"`
	SplitBytes   int64  `yaml:"split_bytes" json:"split_bytes" least:"1" help:"cut plain JSONL into splits of about this size"`
}

// Segmenters of Chinese; both cut alike, with any lexicon.
const (
	SegmenterBuiltin = "builtin" // ours, jieba's dictionary in the program
	SegmenterGojieba = "gojieba" // the C++ reference, its dictionaries in the module cache
)

// Features says how a text becomes a fingerprint.
type Features struct {
	simhash.Options `yaml:",inline"`

	Segmenter        string   `yaml:"segmenter" json:"segmenter" allow:"builtin,gojieba" help:"segmenter of Chinese; both cut alike"`
	UserWords        []string `yaml:"user_words" json:"user_words" help:"files of extra words: word, frequency, tag"`
	StopList         string   `yaml:"stop_list" json:"stop_list" help:"file of extra stop words, one a line"`
	Lexicon          string   `yaml:"lexicon" json:"lexicon,omitzero" help:"folder of jieba's own files, any of five, in place of the builtin ones"`
	StripBoilerplate bool     `yaml:"strip_boilerplate" json:"strip_boilerplate" help:"leave out of each text what the pages of its site share"`
	Templates        string   `yaml:"templates" json:"templates" flag:"templates" group:"Method" help:"file of neardup templates (default: learned)"`
}

// Presets: ways to tell near-duplicates that were measured, see
// job/docs/internals/verdicts.md.
const (
	PresetClassic  = "classic"  // the fingerprints within distance 3, and nothing else
	PresetBalanced = "balanced" // more candidates, confirmed by their sketches
	PresetThorough = "thorough" // many more, and the texts consulted near the border

	// PresetPiecewise is classic with a limit by length, as the method's sources have
	// it: for who compares with them. It errs more than it gains.
	PresetPiecewise = "piecewise"
)

// Ways to verify the pairs that were found.
const (
	VerifyNone   = "none"      // the distance alone decides
	VerifyLength = "length"    // the distance does, within a limit by the texts' length
	VerifySketch = "sketch"    // the sketches' estimate decides
	VerifySigned = "signature" // where the estimate is near the limit, longer signatures decide
	VerifyTexts  = "texts"     // where the estimate is near the limit, the texts decide
)

// SettingLexicon is the setting that names a folder; what else the features are
// made with are files.
const SettingLexicon = "features.lexicon"

// eachPath yields the files and folders that the features are made with, and the
// setting that names each.
func (f *Features) eachPath(yield func(setting string, path *string) bool) {
	for i := range f.UserWords {
		if !yield("features.user_words", &f.UserWords[i]) {
			return
		}
	}
	_ = (f.StopList == "" || yield("features.stop_list", &f.StopList)) &&
		(f.Templates == "" || yield("features.templates", &f.Templates)) &&
		(f.Lexicon == "" || yield(SettingLexicon, &f.Lexicon))
}

// LexiconFiles lists the files of the lexicon that are there.
func (f Features) LexiconFiles() (files []string) {
	if f.Lexicon == "" {
		return nil
	}
	for _, name := range jieba.LexiconFiles() {
		path := filepath.Join(f.Lexicon, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			files = append(files, path)
		}
	}
	return files
}

// Files lists the files that the features are made with.
func (f Features) Files() (files []string) {
	for setting, path := range f.eachPath {
		if setting == SettingLexicon {
			files = append(files, f.LexiconFiles()...)
		} else {
			files = append(files, *path)
		}
	}
	return files
}

// Absolute is the configuration with absolute paths of those files, and of the
// reference.
func (c Config) Absolute() (_ Config, err error) {
	c.Features.UserWords, c.Against.Paths = slices.Clone(c.Features.UserWords), slices.Clone(c.Against.Paths)
	for i := range c.Against.Paths {
		if c.Against.Paths[i], err = filepath.Abs(c.Against.Paths[i]); err != nil {
			return c, fmt.Errorf("config: %w", err)
		}
	}
	for _, path := range c.Features.eachPath {
		if *path, err = filepath.Abs(*path); err != nil {
			return c, fmt.Errorf("config: %w", err)
		}
	}
	return c, nil
}

// Match says which documents are near-duplicates: which ones are candidates,
// and what confirms them. Preset stands for the fields from Distance to Containment.
type Match struct {
	Preset     string  `yaml:"preset" json:"preset" flag:"preset" group:"Method" allow:"classic,balanced,thorough,piecewise" help:"method"`
	Distance   int     `yaml:"distance" json:"distance" flag:"distance,k" group:"Method" help:"largest Hamming distance of pairs"`
	Verify     string  `yaml:"verify" json:"verify" allow:"none,length,sketch,signature,texts" help:"what confirms a candidate pair"`
	Bands      bool    `yaml:"bands" json:"bands" help:"documents whose sketches share an LSH band are candidates"`
	ShortTexts bool    `yaml:"short_texts" json:"short_texts" help:"compare texts of at most 160 letters by their edits"`
	LongFrom   int     `yaml:"long_from" json:"long_from" help:"texts of this many characters count as long"`
	LimitLong  float64 `yaml:"limit_long" json:"limit_long" help:"least Jaccard similarity of long texts"`
	LimitShort float64 `yaml:"limit_short" json:"limit_short" help:"least Jaccard similarity of other texts"`
	Border     float64 `yaml:"border" json:"border" help:"with verify=signature or texts, these decide this near the limit"`

	Containment float64 `yaml:"containment" json:"containment" help:"find texts of which another one has this share; 0: off"`

	AllPairs bool  `yaml:"all_pairs" json:"all_pairs" flag:"pairs" group:"Output" help:"write every confirmed pair too"`
	MaxPairs int64 `yaml:"max_pairs" json:"max_pairs" help:"fail before writing more pairs"`
}

// Consults reports whether texts decide where sketches are near the limit, or
// where one text may contain the other.
func (m Match) Consults() bool {
	r := m.Rules()
	return r.Border > 0 && !r.Signatures || r.Containment > 0
}

// Signs reports whether signatures decide where sketches are near the limit. If texts
// are read anyway, these do.
func (m Match) Signs() bool { return m.Rules().Border > 0 && !m.Consults() }

// Settles reports whether the sketches leave pairs undecided, for the texts or
// signatures to settle.
func (m Match) Settles() bool { return m.Consults() || m.Signs() }

// Sketches is m for documents of which there are fingerprints alone: with neither texts
// nor signatures, the sketches decide on all pairs.
func (m Match) Sketches() Match {
	if !m.Settles() {
		return m
	}
	if r := m.Rules(); r.Signatures {
		m.LimitLong, m.LimitShort = r.EstimateLimit(m.LongFrom), r.EstimateLimit(m.LongFrom-1)
	}
	m.Verify, m.Containment = VerifySketch, 0
	return m
}

// Verified reports whether pairs are confirmed by more than their distance.
func (m Match) Verified() bool { return m.Verify != VerifyNone }

// Sketched reports whether they are by their sketches, which the fingerprints then
// have to have.
func (m Match) Sketched() bool { return m.Verified() && m.Verify != VerifyLength }

// Rules are those of the verdict on a pair.
func (m Match) Rules() sketch.Rules {
	r := sketch.Rules{LongFrom: m.LongFrom, Long: m.LimitLong, Short: m.LimitShort, Containment: m.Containment}
	if m.Verify == VerifyTexts || m.Verify == VerifySigned {
		r.Border, r.Signatures = m.Border, m.Verify == VerifySigned
	}
	return r
}

// Presets lists the names of the presets to choose from, the plainest first.
func Presets() []string { return []string{PresetClassic, PresetBalanced, PresetThorough} }

// preset sets what the preset stands for.
func (m *Match) preset(name string) error {
	rules := sketch.Balanced()
	m.Distance, m.Verify, m.Bands, m.ShortTexts = 3, VerifySigned, true, true
	switch name {
	case PresetClassic:
		m.Verify, m.Bands, m.ShortTexts = VerifyNone, false, false
	case PresetPiecewise:
		m.Distance, m.Verify, m.Bands, m.ShortTexts = sketch.PieceShort, VerifyLength, false, false
	case PresetBalanced:
	case PresetThorough:
		rules = sketch.Thorough()
		m.Distance, m.Verify = 12, VerifyTexts
	default:
		return &SettingError{SettingPreset, strconv.Quote(name), "write one of " + strings.Join(append(Presets(), PresetPiecewise), ", ")}
	}
	m.Preset, m.LongFrom, m.LimitLong, m.LimitShort, m.Border = name, rules.LongFrom, rules.Long, rules.Short, rules.Border
	m.Containment = rules.Containment
	return nil
}

// Keep rules: which of the copies the clean dump keeps. Ties go to
// the smaller id.
const (
	KeepLongest  = "longest"  // the most characters
	KeepEarliest = "earliest" // the oldest date; without a date comes last
	KeepRank     = "rank"     // the highest value of the rank column; without one comes last
	KeepFirst    = "first"    // the earliest of the input
)

// Clusters says which document of several that are the same stays. With Contained,
// components that contain exactly each other are versions of one another; that
// changes nothing of what stays.
type Clusters struct {
	Keep      string `yaml:"keep" json:"keep" flag:"keep" group:"Method" allow:"longest,earliest,rank,first" help:"which of the copies stays"`
	Contained bool   `yaml:"contained" json:"contained" help:"tell of components that contain each other and no third: column versions_id"`
}

// Output says what is written.
type Output struct {
	Clean     bool   `yaml:"clean" json:"clean" flag:"clean" group:"Output" help:"write the clean dump"`
	Contained string `yaml:"contained" json:"contained" allow:"keep,drop" help:"what the clean dump does with a document that another contains, which stays"`
	History   string `yaml:"history" json:"history" allow:"drop,keep" help:"what the clean dump does with a document that an earlier night of the library has"`
	Annotate  string `yaml:"annotate" json:"annotate,omitzero" flag:"annotate" group:"Output" allow:"table,dump" help:"count copies of what stays"`
}

// What the clean dump does with a document that another one contains, and with
// one that an earlier night has.
const (
	ContainedKeep = "keep"
	ContainedDrop = "drop"
	HistoryKeep   = "keep"
	HistoryDrop   = "drop"
)

// Where a run says how often and since when each document that stays was seen: in a
// table, or in the clean dump's fields too.
const (
	AnnotateTable = "table"
	AnnotateDump  = "dump"
)

// Library says which earlier nights a run is matched against, and what it
// adds to them. Night is YYYY-MM-DD, and more if a date has several nights.
type Library struct {
	Path  string `yaml:"path" json:"path" flag:"library" group:"Method" help:"folder of the library of earlier nights"`
	Night string `yaml:"night" json:"night" flag:"night" group:"Method" help:"name of this night (default: the date in --out)"`
}

// Against says which reference the documents are searched for, instead of being
// matched among themselves, and what is a hit.
type Against struct {
	Paths  []string `yaml:"paths" json:"paths" flag:"against" group:"Method" help:"only look for texts of these files and folders"`
	Text   string   `yaml:"text_column" json:"text_column" flag:"against-text" group:"Input" help:"text column of a reference"`
	ID     string   `yaml:"id_column" json:"id_column" help:"column of the id of a reference (default: id, doc_id …)"`
	Action string   `yaml:"action" json:"action" allow:"drop,cut,keep" help:"what the clean dump does with a document that has a hit"`
	Share  float64  `yaml:"share" json:"share" help:"share of a reference's letters, or of a document's, that makes a hit"`
	Run    int      `yaml:"run" json:"run" help:"common letters in a row that make a hit, Chinese ones count 3; 0: none do"`
	Least  int      `yaml:"least" json:"least" least:"1" help:"do not look for references of fewer letters, Chinese ones count 3"`
}

// What the clean dump does with a document that has a hit.
const (
	AgainstDrop = "drop"
	AgainstCut  = "cut" // it stays without the stretches of its hits, unless it is a copy, or little is left
	AgainstKeep = "keep"
)

// On reports whether there is a reference.
func (a Against) On() bool { return len(a.Paths) > 0 }

// IsZero has the settings of a run without a reference left out of its manifest.
func (a Against) IsZero() bool { return !a.On() }

// Execution says how the run is executed; no field changes the result.
type Execution struct {
	Engine     string `yaml:"engine" flag:"engine" group:"Cluster" allow:"local,gleam" help:"engine"`
	Workers    int    `yaml:"workers" flag:"workers" group:"Machine" help:"cores to use; 0: all"`
	Memory     string `yaml:"memory" flag:"memory" group:"Machine" help:"cap, like 4GiB (default: half of the machine's)"`
	Tmp        string `yaml:"tmp" help:"folder for what exceeds memory (default: --out)"`
	WorkDir    string `yaml:"work_dir" help:"folder of what a run with --out s3://… has not uploaded yet"`
	KeepState  bool   `yaml:"keep_state" help:"keep what only a resume needs when the run has succeeded"`
	CPUProfile string `yaml:"cpu_profile" help:"file for a CPU profile of the run"`

	Wait time.Duration `yaml:"wait" help:"give up waiting for a library that others hold after this long; 0s: never"`

	Master   string        `yaml:"master" flag:"master" group:"Cluster" help:"gleam master"`
	Attempts int           `yaml:"attempts" help:"attempts at each flow"`
	Stall    time.Duration `yaml:"stall" help:"give up an attempt after this long without progress"`
	Deadline time.Duration `yaml:"deadline" help:"give up an attempt that takes longer"`
	Quorum   float64       `yaml:"quorum" help:"go on without agents that hang while this share of the slots is left"`
}

// Monitor says who is told how a run ended, and which figures are an alarm as a
// failure is. A bound of 0 documents or 0s is none.
type Monitor struct {
	Metrics      string `yaml:"metrics" flag:"metrics" group:"Output" help:"write figures to this file for Prometheus"`
	AlarmCommand string `yaml:"alarm_command" flag:"alarm-command" group:"Output" help:"shell command told of a failure (JSON on stdin)"`
	AlarmURL     string `yaml:"alarm_url" help:"address to POST the same JSON to"`

	MinNew          float64       `yaml:"min_new" help:"alarm when less than this share is new to the library"`
	MaxNew          float64       `yaml:"max_new" help:"alarm when more than this share is new to the library"`
	MinDocuments    int64         `yaml:"min_documents" help:"alarm when there are fewer documents"`
	MaxDocuments    int64         `yaml:"max_documents" help:"alarm when there are more documents; 0: never"`
	MaxSiteLoss     float64       `yaml:"max_site_loss" help:"alarm when a site of 20 documents or more loses more than this share of them to others"`
	MaxClusterSites int64         `yaml:"max_cluster_sites" help:"alarm when a cluster has documents of more sites, of at least 10; 0: never"`
	MaxDuration     time.Duration `yaml:"max_duration" help:"alarm when the run takes longer; 0s: never"`
	MaxRestarts     int64         `yaml:"max_restarts" least:"-1" help:"alarm when more flows are tried again; -1: never"`
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
			MaxBad:       "10% or 10", // of a handful of records one is a large share
			DuplicateIDs: "skip",
			SplitBytes:   64 << 20,
		},
		Features: Features{Options: simhash.DefaultOptions(), Segmenter: SegmenterBuiltin, StripBoilerplate: true},
		Match:    Match{MaxPairs: 1_000_000_000},
		Clusters: Clusters{Keep: KeepLongest, Contained: true},
		Output:   Output{Clean: true, Contained: ContainedKeep, History: HistoryDrop},
		Against:  Against{Action: AgainstDrop, Share: 0.7, Run: 300, Least: 48},
		Execution: Execution{
			Engine:   EngineLocal,
			WorkDir:  "neardup-work",
			Master:   "127.0.0.1:45326",
			Attempts: 3,
			Stall:    2 * time.Minute,
			Wait:     12 * time.Hour,
			Deadline: 12 * time.Hour,
			Quorum:   0.66,
		},
		Monitor: Monitor{MaxNew: 1, MaxSiteLoss: 0.5, MaxClusterSites: 50, MaxRestarts: -1},
	}
	_ = c.Match.preset(PresetBalanced) // it exists
	return c
}

// Recorded returns the configuration that a manifest holds. Settings that it
// does not have are as they were before there was such a setting.
func Recorded(manifest json.RawMessage) (Config, error) {
	c := Default()
	c.Features.StripBoilerplate, c.Output.History, c.Clusters.Contained = false, HistoryKeep, false
	err := json.Unmarshal(manifest, &c)
	c.Features.StripBoilerplate = c.Features.StripBoilerplate || c.Features.Templates != ""
	return c, err
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
		if whole := yaml.Error(nil); errors.As(err, &whole) { // which quotes the file, of lines of any length
			err = errors.New(whole.FormatError(false, false))
		}
		return base, fmt.Errorf("config: %s: %w: run neardup config, which shows every setting and where it stands", path, err)
	}
	if reflect.ValueOf(c).IsZero() { // a file without settings is null in YAML
		return base, nil
	}
	return c, nil
}

// Setting returns the setting of that name.
func (c *Config) Setting(name string) (Setting, error) {
	for _, s := range c.Settings() {
		if s.Name == name {
			return s, nil
		}
	}
	return Setting{}, fmt.Errorf("no setting is named %q: neardup config --list names them all", name)
}

// Set sets the setting of that name. A preset sets what it stands for, too.
func (c *Config) Set(name, value string) error {
	if name == SettingPreset {
		return c.Match.preset(value)
	}
	s, err := c.Setting(name)
	if err != nil {
		return err
	}
	return s.Set(value)
}

// YAML returns the configuration as a file that Read takes, with a comment on
// every setting: its Usage, as comment has it.
func (c Config) YAML(comment func(usage string) string) ([]byte, error) {
	var file bytes.Buffer
	out := tabwriter.NewWriter(&file, 0, 0, 2, ' ', 0)
	last := ""
	for _, s := range c.Settings() {
		section, key, _ := strings.Cut(s.Name, ".")
		if section != last {
			fmt.Fprintf(out, "%s:\n", section)
			last = section
		}
		value, err := s.YAML()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "  %s: %s\t# %s\n", key, value, comment(s.Usage()))
	}
	err := out.Flush()
	return file.Bytes(), err
}

// Check returns the first mistake, with what to write instead: a SettingError
// where one setting is wrong.
func (c Config) Check() error {
	usual := Default()
	most := hamming.MaxDistance(c.Features.Bits)
	all := c.Settings()
	for i, s := range usual.Settings() {
		if s.Name == "match.distance" && c.Match.Distance < 0 {
			return all[i].wrong(fmt.Sprintf("write a number from 0 to %d", most))
		}
		if err := all[i].check(s); err != nil {
			return err
		}
	}
	if err := c.Features.Check(); err != nil {
		return fmt.Errorf("features: %w", err)
	}
	_, badEncoding := charset.NewDecoder(c.Input.Encoding)
	_, badLimit := c.Input.BadLimit()
	_, badMemory := ParseBytes(c.Execution.Memory)
	cluster := c.Execution.Engine == EngineGleam
	for _, wrong := range []struct {
		is      bool
		setting string
		remedy  any
	}{
		{c.Match.Distance > most, "match.distance", fmt.Sprintf("beyond what %d bits are matched at: write a number from 0 to %d", c.Features.Bits, most)},
		{!c.Match.Sketched() && c.Match.Bands, "match.bands", "what it finds must be confirmed: write match.verify sketch, signature or texts"},
		{!c.Match.Sketched() && c.Match.ShortTexts, "match.short_texts", "what it finds must be confirmed: write match.verify sketch, signature or texts"},
		{!c.Match.Sketched() && c.Match.Containment > 0, "match.containment", "what it finds must be confirmed: write match.verify sketch, signature or texts"},
		{c.Features.Templates != "" && !c.Features.StripBoilerplate, "features.templates", "it says what is not a page's own text: leave features.strip_boilerplate on"},
		{c.Library.Path == "" && c.Library.Night != "", "library.night", "name the library too, with --library"},
		{c.Against.On() && c.Library.Path != "", "library.path", "a run against a reference does not match earlier nights: leave one of the two out"},
		{c.Output.Annotate != "" && !c.Output.Clean, "output.annotate", "it says what stays in the clean dump: leave out --clean=false"},
		{c.Against.On() && c.Output.Annotate != "", "output.annotate", "a run against a reference counts no copies: run again over its clean dump for those"},
		{c.Against.On() && c.Match.AllPairs, "match.all_pairs", "a run against a reference has no pairs of documents: leave it out; against/ has all hits"},
		{slices.ContainsFunc(c.Against.Paths, func(path string) bool { return strings.Contains(path, "://") }), SettingAgainst, "a reference is read from a file system: copy it to a folder that all machines of the run see"},
		{c.Against.On() && c.Against.Share <= 0, "against.share", "write a share above 0, and 1 at most"},
		{c.Clusters.Keep == KeepRank && c.Input.Rank == "", "clusters.keep", "name the column to rank by: --set input.rank_column=NAME"},
		{badEncoding != nil, "input.encoding", badEncoding},
		{badLimit != nil, "input.max_bad", badLimit},
		{badMemory != nil, "execution.memory", badMemory},
		{cluster && c.Execution.Attempts < 1, "execution.attempts", "write a number from 1"},
		{cluster && c.Execution.Stall <= 0, "execution.stall", "write a time like 90s, 2m or 12h"},
		{cluster && c.Execution.Deadline <= 0, "execution.deadline", "write a time like 90s, 2m or 12h"},
		{cluster && (c.Execution.Quorum <= 0 || c.Execution.Quorum > 1), "execution.quorum", "write a share like 0.66; 1: go on with all agents only"},
		{cluster && !isAddress(c.Execution.Master), "execution.master", "write HOST:PORT, or the cluster's state folder as an absolute path"},
	} {
		if wrong.is {
			s, err := c.Setting(wrong.setting)
			return cmp.Or(err, s.wrong(fmt.Sprint(wrong.remedy)))
		}
	}
	return nil
}

func isAddress(text string) bool {
	if filepath.IsAbs(text) {
		return true
	}
	host, port, ok := strings.Cut(text, ":")
	return ok && host != "" && port != ""
}

// BadLimit returns a function that says what bad unusable records among total
// exceed, "" if they are tolerated: the count, the share, or, where MaxBad has
// both, either. Beside a share the count never covers more than half of the
// records. Of files that cannot be read bad and total are bytes, as nobody knows
// their records, and count is that of the files.
func (in Input) BadLimit() (func(bad, total, count int64) (exceeded string), error) {
	share, count, both := strings.Cut(in.MaxBad, " or ")
	switch {
	case both:
	case strings.HasSuffix(share, "%"):
		count = "0"
	default:
		share, count = "0%", share
	}
	number, isShare := strings.CutSuffix(share, "%")
	p, err := strconv.ParseFloat(number, 64)
	n, cerr := strconv.ParseInt(count, 10, 64)
	if !isShare || err != nil || cerr != nil || !(p >= 0 && p <= 100) || n < 0 {
		return nil, errors.New("write a count like 1000, a share like 10%, or both, of which the larger holds, like 10% or 10")
	}
	return func(bad, total, count int64) string {
		switch {
		case float64(bad) <= p*float64(total)/100:
		case count > n:
			return in.MaxBad
		case both && 2*bad > total:
			return "half of them"
		}
		return ""
	}, nil
}

// Unusable reports whether a record skipped for that reason counts towards
// MaxBad and, like duplicate ids, makes a strict run end with exit code 3:
// damaged records do, records that are no pages by design do not.
func Unusable(reason string) bool {
	switch reason {
	case data.ReasonMalformed, data.ReasonTruncated, data.ReasonTooLarge, data.ReasonUndecodable, data.ReasonUnreadable, data.ReasonDamaged:
		return true
	}
	return false
}

// ReaderOptions says how the input's documents are read: a file that lacks a
// column that others have, without it; one that cannot be read, as a bad record.
func (in Input) ReaderOptions() data.ReaderOptions {
	return data.ReaderOptions{
		Missing:    func(*data.NoColumn) {},
		Unread:     func(*data.Unreadable) {},
		Columns:    data.Columns{ID: in.ID, Title: in.Title, Text: in.Text, Language: in.Language, Date: in.Date, Rank: in.Rank},
		NoHeader:   in.NoHeader,
		Encoding:   in.Encoding,
		MaxRecord:  in.MaxRecord,
		WARCID:     in.WARCID,
		HTTPStatus: in.HTTPStatus,
		HTML:       in.HTML,
	}
}

// The least of each budget that readers take memory from: with a cap of 256 MiB a
// window of 64 MiB is read, and one of 128 MiB told of.
const (
	leastWindows = 64 << 20
	leastPages   = 128 << 20
)

// ReaderOptions are those of the input, with memory for what is large: a quarter
// of the cap for windows, half of it for pages. Readers that share the options
// share it.
func (c Config) ReaderOptions() data.ReaderOptions {
	o := c.Input.ReaderOptions()
	limit := c.Execution.MemoryLimit()
	o.Memory, o.Pages = machine.NewBudget(max(limit/4, leastWindows)), machine.NewBudget(max(limit/2, leastPages))
	return o
}

// ParseBytes reads a size like 512MiB, 4GiB, 4GB or 8000000; "" is 0. A unit
// with an i is a power of 1024, one without of 1000. A number without a unit is
// of bytes; it must be 10,000 at least, for one who writes 4 or 4096 means
// another unit.
func ParseBytes(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	number, unit := s, 1.0
	for i, prefix := range []string{"K", "M", "G", "T"} {
		if n, ok := strings.CutSuffix(s, prefix+"iB"); ok {
			number, unit = n, math.Pow(1024, float64(i+1))
		} else if n, ok := strings.CutSuffix(s, prefix+"B"); ok {
			number, unit = n, math.Pow(1000, float64(i+1))
		}
	}
	const leastBytes = 10_000
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch bytes := v * unit; {
	case err != nil || !(v > 0) || bytes > 1<<60:
		return 0, errors.New("write a size like 512MiB or 4GiB")
	case number == s && bytes < leastBytes:
		return 0, fmt.Errorf("%s without a unit is a number of bytes: write %sMiB or %sGiB", s, s, s)
	default:
		return int64(bytes), nil
	}
}

// MemoryLimit is the memory cap in bytes: Memory, or half of the machine's. Of a
// size that Check refuses it is the latter.
func (e Execution) MemoryLimit() int64 {
	if n, err := ParseBytes(e.Memory); err == nil && n > 0 {
		return n
	}
	return machine.Memory() / 2
}

// Hash identifies what decides the result: two runs with the same hash and
// the same input write the same bytes. Left out are Execution, Monitor, and how
// many unusable records a run bears. Files that the configuration names (stop
// list, user words, those of the lexicon) count by their content, and the library
// by what it holds when the run reads it: how their paths are written decides
// nothing.
func (c Config) Hash() (string, error) {
	c.Input.MaxBad = ""
	if c.Library.Path != "" {
		c.Library.Path = "library"
	}
	contents := sha256.New()
	add := func(setting, path string) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return &SettingError{Name: setting, Value: path, Remedy: fmt.Sprintf("%v: name a file that is there", err)}
		}
		sum := sha256.Sum256(text)
		contents.Write(sum[:])
		return nil
	}
	c.Features.UserWords = slices.Clone(c.Features.UserWords)
	for setting, path := range c.Features.eachPath {
		if setting != SettingLexicon {
			if err := add(setting, *path); err != nil {
				return "", err
			}
			*path = "file"
			continue
		}
		if _, err := os.ReadDir(*path); err != nil {
			return "", &SettingError{Name: setting, Value: *path, Remedy: fmt.Sprintf("%v: name a folder that is there", err)}
		}
		for _, file := range c.Features.LexiconFiles() {
			contents.Write([]byte(filepath.Base(file)))
			if err := add(setting, file); err != nil {
				return "", err
			}
		}
		*path = "folder"
	}
	if err := c.Against.hash(contents); err != nil {
		return "", err
	}
	c.Against.Paths = slices.Clone(c.Against.Paths)
	for i, path := range c.Against.Paths {
		c.Against.Paths[i] = filepath.Base(path) // which the tables name
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	if err := enc.Encode(c); err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	h.Write(contents.Sum(nil))
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
