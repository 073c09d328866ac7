package eval

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/simhash"
)

// Parse returns the method of a name: a preset (classic, balanced, thorough),
// k=3 and the like for a distance alone, either with settings behind it, as in
// balanced+k=6+limit=0.5 (see Settings), or a baseline with its usual settings
// (see Baselines and SmallBaselines).
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
	return slices.Concat(presets(), Baselines(), SmallBaselines())
}

func presets() []Method { return []Method{Classic(), Balanced(), Thorough()} }

// Names lists what Parse takes, but for distances and settings.
func Names() []string {
	var names []string
	for _, m := range named() {
		names = append(names, m.Name())
	}
	return names
}

func parseNeardup(name string) (*Neardup, error) {
	preset, settings, _ := strings.Cut(name, "+")
	var m *Neardup
	for _, p := range presets() {
		if p.Name() == preset {
			m = p.(*Neardup)
		}
	}
	switch value, distance := strings.CutPrefix(preset, "k="); {
	case distance:
		m = Classic()
		if err := m.set("k", value); err != nil {
			return nil, err
		}
	case m == nil:
		return nil, fmt.Errorf("write %s, or k=0 to k=15; settings stand behind one of ours, as in balanced+k=6", strings.Join(Names(), ", "))
	}
	m.Label = name
	seen := map[string]bool{}
	for setting := range strings.SplitSeq(settings, "+") {
		key, value, _ := strings.Cut(setting, "=")
		switch {
		case settings == "" && preset == name:
			continue // none
		case seen[key]:
			return nil, fmt.Errorf("%s comes twice", key)
		}
		seen[key] = true
		if err := m.set(key, value); err != nil {
			return nil, err
		}
	}
	return m, m.check()
}

// Settings describes what may stand behind a preset or a distance.
const Settings = "k=N, limit=J and limit-short=J, border=J, bands=off, short-texts=off, bits=N, weight=W, stop=none, top=N, ngram=N, min-features=N, templates"

// set sets what Settings names.
func (m *Neardup) set(name, value string) (err error) {
	number := func(to *int) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || strconv.Itoa(n) != value {
			return fmt.Errorf("%s=%s: write a number", name, value)
		}
		*to = n
		return nil
	}
	similarity := func(to *float64) error {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("%s=%s: write a similarity from 0 to 1", name, value)
		}
		*to = v
		return nil
	}
	off := func(of *bool) error {
		if value != "off" {
			return fmt.Errorf("%s=%s: write off", name, value)
		}
		*of = false
		return nil
	}
	switch name {
	case "limit", "limit-short", "border":
		if m.Rules == nil {
			return fmt.Errorf("%s: only balanced and thorough have one", name)
		}
	}
	switch name {
	case "k":
		return number(&m.Distance)
	case "limit":
		return similarity(&m.Rules.Long)
	case "limit-short":
		return similarity(&m.Rules.Short)
	case "border":
		return similarity(&m.Rules.Border)
	case "bands":
		return off(&m.Bands)
	case "short-texts":
		return off(&m.Short)
	case "bits":
		return number(&m.Features.Bits)
	case "weight":
		m.Features.Weight = value
	case "stop":
		m.Features.Stop = value
	case "top":
		return number(&m.Features.Top)
	case "ngram":
		m.Features.Kind = simhash.KindNGrams
		return number(&m.Features.N)
	case "min-features":
		return number(&m.Features.MinFeatures)
	case "templates":
		m.Templates = true
		if value != "" {
			err = errors.New("templates takes no value")
		}
	default:
		err = fmt.Errorf("%q is no setting: write some of %s", name, Settings)
	}
	return err
}

// check returns the first setting that cannot be, with what to write instead.
func (m *Neardup) check() error {
	most := 15
	if m.Features.Bits == 128 {
		most = 31
	}
	if m.Distance > most {
		return fmt.Errorf("k=%d: write 0 to %d", m.Distance, most)
	}
	if m.Rules != nil {
		if err := m.Rules.Check(); err != nil {
			return err
		}
	}
	return m.Features.Check()
}
