package eval

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash"
)

// Parse returns the method of a name: a preset (classic, balanced, thorough),
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
	return slices.Concat(presets, baselines(), smallBaselines())
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
	if m != nil {
		list = list[1:]
	} else if m = Preset(config.PresetClassic); !strings.HasPrefix(name, "k=") {
		return nil, fmt.Errorf("write %s, or k=0 to k=15; settings stand behind one of ours, as in balanced+k=6", strings.Join(Names(), ", "))
	}
	m.Label = name
	seen := map[string]bool{}
	for _, item := range list {
		key, value, _ := strings.Cut(item, "=")
		set, ok := settings[key]
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is no setting: write some of %s", key, Settings)
		case seen[key]:
			return nil, fmt.Errorf("%s comes twice", key)
		}
		seen[key] = true
		if err := set(m, value); err != nil {
			return nil, fmt.Errorf("%s: %w", item, err)
		}
	}
	return m, m.config().Check()
}

// Settings describes what may stand behind a preset or a distance.
const Settings = "k=N, limit=J and limit-short=J, border=J, bands=off, short-texts=off, bits=N, weight=W, stop=none, top=N, ngram=N, min-features=N, own-text=off, templates"

// setting changes a method to a value.
type setting func(m *Neardup, value string) error

// settings are what Settings names.
var settings = map[string]setting{
	"k":            number(func(m *Neardup) *int { return &m.Match.Distance }),
	"limit":        similarity(func(m *Neardup) *float64 { return &m.Match.LimitLong }),
	"limit-short":  similarity(func(m *Neardup) *float64 { return &m.Match.LimitShort }),
	"border":       border,
	"bands":        off(func(m *Neardup) *bool { return &m.Match.Bands }),
	"short-texts":  off(func(m *Neardup) *bool { return &m.Match.ShortTexts }),
	"bits":         number(func(m *Neardup) *int { return &m.Features.Bits }),
	"weight":       func(m *Neardup, value string) error { m.Features.Weight = value; return nil },
	"stop":         func(m *Neardup, value string) error { m.Features.Stop = value; return nil },
	"top":          number(func(m *Neardup) *int { return &m.Features.Top }),
	"ngram":        ngram,
	"min-features": number(func(m *Neardup) *int { return &m.Features.MinFeatures }),
	"own-text":     off(func(m *Neardup) *bool { return &m.Features.OwnText }),
	"templates":    templates,
}

func number(of func(*Neardup) *int) setting {
	return func(m *Neardup, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || strconv.Itoa(n) != value {
			return errors.New("write a number")
		}
		*of(m) = n
		return nil
	}
}

func similarity(of func(*Neardup) *float64) setting {
	return func(m *Neardup, value string) error {
		if !m.Match.Verified() {
			return errors.New("only balanced and thorough have one")
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return errors.New("write a similarity from 0 to 1")
		}
		*of(m) = v
		return nil
	}
}

// border has the texts consulted, in balanced too.
func border(m *Neardup, value string) error {
	if err := similarity(func(m *Neardup) *float64 { return &m.Match.Border })(m, value); err != nil {
		return err
	}
	m.Match.Verify = config.VerifyTexts
	return nil
}

func off(of func(*Neardup) *bool) setting {
	return func(m *Neardup, value string) error {
		if value != "off" {
			return errors.New("write off")
		}
		*of(m) = false
		return nil
	}
}

func ngram(m *Neardup, value string) error {
	m.Features.Kind = simhash.KindNGrams
	return number(func(m *Neardup) *int { return &m.Features.N })(m, value)
}

func templates(m *Neardup, value string) error {
	m.Templates = true
	if value != "" {
		return errors.New("it takes no value")
	}
	return nil
}
