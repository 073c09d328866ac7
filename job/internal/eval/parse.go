package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash"
)

// Parse returns the method of a name: a preset (classic, balanced, thorough, piecewise),
// k=3 and the like for a distance alone, either with settings behind it, as in
// balanced+k=6+limit=0.5 (see Settings), or a baseline with its usual settings
// (see baselines and smallBaselines).
func Parse(name string) (Method, error) {
	for _, m := range named() {
		if m.Name() == name {
			return m, nil
		}
	}
	m, err := parseNeardup(name)
	if err != nil {
		return nil, fmt.Errorf("method %q: %w", name, err)
	}
	return m, nil
}

// named returns the methods that have a name of their own.
func named() []Method {
	var presets []Method
	for _, name := range config.Presets() {
		presets = append(presets, Preset(name))
	}
	return slices.Concat(presets, []Method{piecewise()}, baselines(), smallBaselines())
}

// pieceWords is how many words a document of piecewise has at least: it is meant for
// short texts, and fewer say nothing (a news product's dedup, 2018).
const pieceWords = 3

// piecewise is the preset of that name with a fingerprint for short texts too.
func piecewise() *Neardup {
	m := Preset(config.PresetPiecewise)
	m.Features.MinFeatures = pieceWords
	return m
}

// Names lists what Parse takes, but for distances and settings.
func Names() []string {
	var names []string
	for _, m := range named() {
		names = append(names, m.Name())
	}
	return names
}

func parseNeardup(name string) (*Neardup, error) {
	list := strings.Split(name, "+")
	m := Preset(list[0])
	if list[0] == config.PresetPiecewise {
		m = piecewise()
	}
	if m != nil {
		list = list[1:]
	} else if m = Preset(config.PresetClassic); !strings.HasPrefix(name, "k=") {
		return nil, fmt.Errorf("write %s, or k=0 to k=15; settings stand behind one of ours, as in balanced+k=6", strings.Join(Names(), ", "))
	}
	m.Label = name
	seen := map[string]bool{}
	for _, item := range list {
		key, value, _ := strings.Cut(item, "=")
		if seen[key] {
			return nil, fmt.Errorf("%s comes twice", key)
		}
		seen[key] = true
		if err := m.set(key, value); err != nil {
			return nil, fmt.Errorf("%s: %w", item, err)
		}
	}
	return m, m.config().Check()
}

// Settings describes what may stand behind a preset or a distance.
const Settings = "k=N, limit=J and limit-short=J, border=J, bands=off, short-texts=off, bits=N, weight=W, stop=none, top=N, tags=n/v, exclude=latin/digits, ngram=N, min-features=N, ignore-below=N, lexicon=FOLDER, title-weight=N, strip-boilerplate=off"

// settings are what Settings names, as package config names them.
var settings = map[string]string{
	"k": "match.distance", "limit": "match.limit_long", "limit-short": "match.limit_short", "border": "match.border", "bands": "match.bands",
	"short-texts": "match.short_texts", "bits": "features.bits", "weight": "features.weight", "stop": "features.stop", "top": "features.top",
	"tags": "features.tags", "exclude": "features.exclude", "lexicon": "features.lexicon", "title-weight": "features.title_weight",
	"ngram": "features.n", "min-features": "features.min_features", "ignore-below": "features.ignore_below",
	"strip-boilerplate": "features.strip_boilerplate",
}

// set changes a setting to a value.
func (m *Neardup) set(key, value string) error {
	name, ok := settings[key]
	switch {
	case !ok:
		return fmt.Errorf("%q is no setting: write some of %s", key, Settings)
	case !m.Match.Sketched() && slices.Contains([]string{"limit", "limit-short", "border"}, key):
		return errors.New("only balanced and thorough have one")
	case key == "border": // has the texts consulted, in balanced too
		m.Match.Verify = config.VerifyTexts
	case key == "ngram":
		m.Features.Kind = simhash.KindNGrams
	case key == "tags" || key == "exclude": // commas divide methods
		value = strings.ReplaceAll(value, "/", ",")
	}
	return m.Set(name, value)
}
