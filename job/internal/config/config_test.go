package config

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/simhash"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Check(); err != nil {
		t.Fatal(err)
	}
}

// The file holds every setting, and every setting says what it is for; a flag
// has a group, and two flags have two names.
func TestSettings(t *testing.T) {
	c := Default()
	text, err := c.YAML(strings.TrimSpace)
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{}
	for _, s := range c.Settings() {
		_, key, _ := strings.Cut(s.Name, ".")
		if !regexp.MustCompile(`(?m)^  ` + key + `: .*# ` + regexp.QuoteMeta(s.Usage()) + `$`).Match(text) {
			t.Errorf("the file says nothing of %s", s.Name)
		}
		if s.Usage() == "" || (s.Flag == "") != (s.Group == "") || s.Flag != "" && flags[s.Flag] {
			t.Errorf("%s: usage %q, group %q, flag %q", s.Name, s.Usage(), s.Group, s.Flag)
		}
		flags[s.Flag] = true
	}
	if n := len(c.Settings()); n < 50 {
		t.Errorf("only %d settings", n)
	}
}

// Every value that the code knows is one that the setting may have.
func TestAllowed(t *testing.T) {
	for name, values := range map[string][]string{
		"input.warc_id":      {data.WARCIDURL, data.WARCIDRecord},
		"input.http_status":  {data.HTTPStatusOK, data.HTTPStatusAll},
		"input.html":         {data.HTMLMain, data.HTMLVisible},
		"input.format":       append(source.Formats(), ""),
		"features.kind":      {simhash.KindWords, simhash.KindNGrams},
		"features.weight":    {simhash.WeightTF, simhash.WeightTFIDF, simhash.WeightSqrtTFIDF, simhash.WeightUnit, simhash.WeightLevels, simhash.WeightPosition},
		"features.stop":      {simhash.StopNone, simhash.StopBuiltin},
		"features.segmenter": {SegmenterBuiltin, SegmenterGojieba},
		"match.preset":       append(Presets(), PresetPiecewise),
		"match.verify":       {VerifyNone, VerifyLength, VerifySketch, VerifySigned, VerifyTexts},
		"clusters.keep":      {KeepLongest, KeepEarliest, KeepRank, KeepFirst},
		"execution.engine":   {EngineLocal, EngineGleam},
	} {
		for _, value := range values {
			c := Default()
			c.Input.Rank = "rank"
			c.Match.Bands, c.Match.ShortTexts = false, false
			if err := c.Set(name, value); err != nil {
				t.Error(err)
			}
			if name == "features.kind" {
				c.Features.Weight = simhash.WeightTF
			}
			if err := c.Check(); err != nil {
				t.Error(err)
			}
		}
		s, err := new(Config).Setting(name)
		if err != nil || len(s.allow) != len(slices.DeleteFunc(values, func(v string) bool { return v == "" })) {
			t.Errorf("%s may be %v, want %v", name, s.allow, values)
		}
	}
}

// Every setting takes the text of its own value, and refuses what is no value.
func TestSet(t *testing.T) {
	c, d := Config{}, Default()
	d.Features.UserWords, d.Features.Tags, d.Features.Exclude = []string{"a", "b"}, []string{"n"}, []string{"latin"}
	d.Against.Paths = []string{"evals", "blocked.jsonl"}
	for _, s := range d.Settings() {
		if err := c.Set(s.Name, s.String()); err != nil {
			t.Errorf("%s=%s: %v", s.Name, s, err)
		}
	}
	if !reflect.DeepEqual(c, d) {
		t.Errorf("got %+v, want %+v", c, d)
	}
	for _, wrong := range []struct{ name, value, want string }{
		{"match.bands", "maybe", `match.bands "maybe": write true or false`},
		{"match.distance", "3.5", `match.distance "3.5": write a whole number`},
		{"match.max_pairs", "", `match.max_pairs "": write a whole number`},
		{"execution.stall", "soon", `execution.stall "soon": write a time like 90s, 2m or 12h`},
		{"match.border", "near", `match.border "near": write a number`},
		{"match.preset", "best", `match.preset "best": write one of classic, balanced, thorough, piecewise`},
		{"distance", "3", `no setting is named "distance": neardup config --list`},
		{"execution.matcher", "shuffle", "no setting is named"},
	} {
		if err := c.Set(wrong.name, wrong.value); err == nil || !strings.Contains(err.Error(), wrong.want) {
			t.Errorf("%s=%s: got %v, want %s", wrong.name, wrong.value, err, wrong.want)
		}
	}
	if err := c.Set("match.preset", PresetThorough); err != nil || c.Match.Distance != 12 || c.Match.Verify != VerifyTexts {
		t.Errorf("preset thorough: %+v, %v", c.Match, err)
	}
}

func TestCheckSaysWhatToWrite(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"distance -1: write":                func(c *Config) { c.Match.Distance = -1 },
		"match.distance 16: beyond":         func(c *Config) { c.Match.Distance = 16 },
		`clusters.keep "newest": write one`: func(c *Config) { c.Clusters.Keep = "newest" },
		`clusters.keep "rank": name the c`:  func(c *Config) { c.Clusters.Keep = KeepRank },
		`engine "spark": write`:             func(c *Config) { c.Execution.Engine = "spark" },
		`max_bad "many": write a count`:     func(c *Config) { c.Input.MaxBad = "many" },
		`memory "4": 4 without a unit`:      func(c *Config) { c.Execution.Memory = "4" },
		`memory "4 gigs": write a size`:     func(c *Config) { c.Execution.Memory = "4 gigs" },
		"execution.workers -1: write a nu":  func(c *Config) { c.Execution.Workers = -1 },
		`segmenter "python": write one`:     func(c *Config) { c.Features.Segmenter = "python" },
		"stall 0s: write a time":            func(c *Config) { c.Execution.Engine, c.Execution.Stall = EngineGleam, 0 },
		"attempts 0: write a number":        func(c *Config) { c.Execution.Engine, c.Execution.Attempts = EngineGleam, 0 },
		`master "here": write HOST:PORT`:    func(c *Config) { c.Execution.Engine, c.Execution.Master = EngineGleam, "here" },
		`warc_id "uri": write one of url`:   func(c *Config) { c.Input.WARCID = "uri" },
	} {
		c := Default()
		change(&c)
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}

func TestYAMLRoundTrip(t *testing.T) {
	c := Default()
	c.Match.Distance, c.Features.Weight, c.Features.UserWords = 5, "tfidf", []string{"a", "b"}
	text, err := c.YAML(strings.TrimSpace)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "night.yaml")
	write(t, path, string(text))
	got, err := Read(path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	got.Features.Tags, got.Features.Exclude, got.Against.Paths = nil, nil, nil // an empty list is written, nil is meant
	if !reflect.DeepEqual(got, c) {
		t.Fatalf("got %+v, want %+v", got, c)
	}
}

func TestReadRefusesUnknownFields(t *testing.T) {
	path := filepath.Join(t.TempDir(), "night.yaml")
	write(t, path, "match:\n  distanz: 4\n")
	if _, err := Read(path, Default()); err == nil || !strings.Contains(err.Error(), "distanz") || !strings.Contains(err.Error(), "neardup config") {
		t.Fatalf("got %v, want an error that names the field", err)
	}
	write(t, path, "match:\n  distance: 4\n")
	c, err := Read(path, Default())
	if err != nil || c.Match.Distance != 4 || c.Clusters.Keep != KeepLongest {
		t.Fatalf("got %+v, %v; want the defaults with distance 4", c, err)
	}
	for _, nothing := range []string{"", "# nothing yet\n", "\n\n"} {
		write(t, path, nothing)
		if c, err := Read(path, Default()); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Fatalf("a file without settings gave %+v, %v", c, err)
		}
	}
}

func TestHash(t *testing.T) {
	hash := func(change func(*Config)) string {
		c := Default()
		change(&c)
		h, err := c.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	base := hash(func(*Config) {})
	if h := hash(func(c *Config) { c.Execution = Execution{Workers: 7, Memory: "1GiB"} }); h != base {
		t.Error("execution changed the hash")
	}
	if h := hash(func(c *Config) { c.Match.Distance = 4 }); h == base {
		t.Error("the distance did not change the hash")
	}
	if h := hash(func(c *Config) { c.Features.Bits = 128 }); h == base {
		t.Error("the bits did not change the hash")
	}
	path := filepath.Join(t.TempDir(), "stop")
	write(t, path, "a\n")
	one := hash(func(c *Config) { c.Features.StopList = path })
	write(t, path, "b\n")
	if two := hash(func(c *Config) { c.Features.StopList = path }); one == two {
		t.Error("the stop list's content did not change the hash")
	}
	other := filepath.Join(t.TempDir(), "other")
	write(t, other, "a\n")
	if h := hash(func(c *Config) { c.Features.StopList = other }); h != one {
		t.Error("the stop list's path changed the hash")
	}
	lib := func(path string) string {
		return hash(func(c *Config) { c.Library = Library{Path: path, Night: "2026-11-20"} })
	}
	if lib("lib") != lib("/srv/lib/") || lib("lib") == lib("") {
		t.Error("not whether there is a library, but its path is in the hash")
	}
}

// What a run directory was made with is told by the JSON of its settings. A
// setting that came later does not stand in it where it is zero, so that
// directories from before still are of the same settings. These always do.
var always = strings.Fields(`
	input.format input.id_column input.title_column input.text_column input.date_column input.rank_column input.warc_id
	input.http_status input.html input.max_record input.max_bad input.duplicate_ids input.split_bytes
	features.bits features.hmm features.kind features.min_features features.n features.strip_boilerplate features.segmenter
	features.simplify features.stop features.stop_list features.tags features.templates features.title_weight
	features.top features.user_words features.weight
	match.preset match.distance match.verify match.bands match.short_texts match.long_from match.limit_long
	match.limit_short match.border match.containment match.all_pairs match.max_pairs
	clusters.keep clusters.max_spread clusters.contained output.clean output.contained output.history`)

func TestLaterSettingsAreOmitted(t *testing.T) {
	text, err := json.Marshal(Config{})
	if err != nil {
		t.Fatal(err)
	}
	var sections map[string]map[string]any
	if err := json.Unmarshal(text, &sections); err != nil {
		t.Fatal(err)
	}
	for section, settings := range sections {
		for key := range settings {
			if name := section + "." + key; !slices.Contains(always, name) {
				t.Errorf("job/internal/config: %s has no omitzero in its json tag: run directories from before it would be of other settings", name)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBadLimit(t *testing.T) {
	for _, c := range []struct {
		limit      string
		bad, total int64
		tooMany    bool
	}{
		{"10% or 10", 2, 3, true}, {"10% or 10", 1, 2, false}, {"10% or 10", 1, 5, false}, {"10% or 10", 5, 10, false}, {"10% or 10", 6, 10, true}, {"70% or 10", 2, 3, false}, {"2", 2, 3, false},
		{"10%", 20, 200, false}, {"10%", 21, 200, true}, {"10%", 9, 20, true}, {"10%", 2, 20, false}, {"0%", 1, 1000, true}, {"0%", 0, 0, false},
		{"10% or 10", 9, 20, false}, {"10% or 10", 10, 10, true}, {"10% or 10", 11, 109, true}, {"10% or 10", 11, 110, false}, {"0% or 2", 3, 1000, true}, {"100%", 1, 1, false}, {"100%", 20, 20, false}, {"5", 5, 5, false}, {"5", 6, 1000, true}, {"0", 1, 10, true}, {"100%", 9, 10, false}, {"10%", 0, 0, false},
	} {
		exceeded, err := Input{MaxBad: c.limit}.BadLimit()
		if err != nil {
			t.Fatal(err)
		}
		if got := exceeded(c.bad, c.total, c.bad); (got != "") != c.tooMany {
			t.Errorf("%d of %d with limit %s: exceeds %q, want %t", c.bad, c.total, c.limit, got, c.tooMany)
		}
	}
	for _, limit := range []string{"", "%", "-1", "-1%", "101%", "NaN%", "ten", "10 or 10%", "10% or 5%", "10% or", "1 or 2"} {
		if _, err := (Input{MaxBad: limit}).BadLimit(); err == nil {
			t.Errorf("%q was taken", limit)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"", "4GiB", "1.5MiB", "-1", "GiB", "1e300TiB", "8000000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseBytes(s)
		if err == nil && (n < 0 || n > 1<<60 || n == 0 && s != "" && !strings.HasPrefix(s, "0") && !strings.Contains(s, ".") && !strings.ContainsAny(s, "eEpPxX")) {
			t.Fatalf("%q gave %d", s, n)
		}
	})
}

func ExampleParseBytes() {
	fmt.Println(ParseBytes("1.5MiB"))
	fmt.Println(ParseBytes("4GB"))
	// Output:
	// 1572864 <nil>
	// 4000000000 <nil>
}

func ExampleConfig_Check() {
	c := Default()
	c.Clusters.Keep = "newest"
	fmt.Println(c.Check())
	// Output: clusters.keep "newest": write one of longest, earliest, rank, first
}

// The files of a lexicon count by name and content; what else is in its folder
// does not.
func TestLexiconIsPartOfTheHash(t *testing.T) {
	c, dir := Default(), t.TempDir()
	plain, err := c.Hash()
	if err != nil {
		t.Fatal(err)
	}
	c.Features.Lexicon = dir
	seen := map[string]string{plain: "no lexicon"}
	hash := func(of string) string {
		t.Helper()
		h, err := c.Hash()
		if err != nil {
			t.Fatal(err)
		}
		if other := seen[h]; other != "" {
			t.Errorf("%s has the hash of %s", of, other)
		}
		seen[h] = of
		return h
	}
	hash("an empty folder")
	write(t, filepath.Join(dir, "idf.utf8"), "a 1\n")
	one := hash("idf")
	write(t, filepath.Join(dir, "README.md"), "more")
	if h, err := c.Hash(); h != one || err != nil {
		t.Errorf("another file changes the hash: %v", err)
	}
	write(t, filepath.Join(dir, "idf.utf8"), "a 2\n")
	hash("another idf")
	if err := os.Rename(filepath.Join(dir, "idf.utf8"), filepath.Join(dir, "user.dict.utf8")); err != nil {
		t.Fatal(err)
	}
	hash("the same content under another name")
	if files := c.Features.Files(); len(files) != 1 || files[0] != filepath.Join(dir, "user.dict.utf8") {
		t.Errorf("files %v", files)
	}
	t.Chdir(filepath.Dir(dir))
	c.Features.Lexicon = filepath.Base(dir)
	if abs, err := c.Absolute(); err != nil || !filepath.IsAbs(abs.Features.Lexicon) || !filepath.IsAbs(abs.Features.Files()[0]) {
		t.Errorf("absolute %s: %v", abs.Features.Lexicon, err)
	}
	c.Features.Lexicon = filepath.Join(dir, "gone")
	if _, err := c.Hash(); err == nil || !strings.Contains(err.Error(), "name a folder that is there") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// What the reference holds and is called decides the result, where it stands does
// not; without a reference there is nothing of it in the hash.
func TestHashOfReference(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one", "evals"), filepath.Join(dir, "two", "evals")
	for _, folder := range []string{one, two} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "a.jsonl"), "{}\n")
	}
	c := Default()
	hash := func() string {
		t.Helper()
		h, err := c.Hash()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	without := hash()
	if c.Against.Share = 0.5; hash() != without {
		t.Error("the hash has settings of no reference")
	}
	c.Against.Paths = []string{one}
	with := hash()
	if c.Against.Paths = []string{two}; hash() != with || with == without {
		t.Error("the same reference elsewhere is another")
	}
	if abs, err := c.Absolute(); err != nil || abs.Against.Paths[0] != two {
		t.Errorf("%v, %v", abs.Against, err)
	}
	write(t, filepath.Join(two, "a.jsonl"), "{ }\n")
	if hash() == with {
		t.Error("another content is the same")
	}
	c.Against.Paths = []string{filepath.Join(dir, "gone")}
	if _, err := c.Hash(); err == nil || !strings.Contains(err.Error(), "name files and folders that are there") {
		t.Errorf("a reference that is not there: %v", err)
	}
}

// Without texts and signatures the sketches decide: with the presets' limits of the
// estimate, and alike for who wrote them out.
func TestSketches(t *testing.T) {
	for preset, want := range map[string]Match{
		PresetBalanced: {Verify: VerifySketch, LimitLong: 0.46, LimitShort: 0.60},
		PresetThorough: {Verify: VerifySketch, LimitLong: 0.50, LimitShort: 0.50},
		PresetClassic:  {Verify: VerifyNone, LimitLong: 0.47, LimitShort: 0.55},
	} {
		c, err := Default().WithPreset(preset)
		if err != nil {
			t.Fatal(err)
		}
		m := c.Match.Sketches()
		if m.Verify != want.Verify || math.Abs(m.LimitLong-want.LimitLong) > 1e-9 || math.Abs(m.LimitShort-want.LimitShort) > 1e-9 || m.Containment != 0 || m.Settles() {
			t.Errorf("%s: %+v", preset, m)
		}
		if signs, texts := c.Match.Signs(), c.Match.Consults(); signs != (preset == PresetBalanced) || texts != (preset == PresetThorough) {
			t.Errorf("%s: signatures %t, texts %t", preset, signs, texts)
		}
		if c.Match.Containment = 0.8; c.Match.Signs() {
			t.Errorf("%s: signatures where texts are read", preset)
		}
	}
}
