package method

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/input"
)

// recorded is the part of a run's settings that the metadata of its fingerprints
// table holds. With it a later run can match the table as this run did, without
// the run directory.
type recorded struct {
	Fingerprints map[string]string `json:"fingerprints"` // settings that the fingerprints depend on; see LibrarySettings
	Match        config.Match      `json:"match"`
	Clusters     config.Clusters   `json:"clusters"`
}

// Recorded returns, as JSON, the settings of a run that the metadata of its
// fingerprints table holds, for MatchConfig.
func Recorded(c config.Config) (string, error) {
	made, err := LibrarySettings(c)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(recorded{made, c.Match, c.Clusters})
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	return string(text), nil
}

// MatchConfig returns c with the match and cluster settings of the run that made
// the fingerprint files inputs. If the files come from several runs, it takes
// the settings of the run with the plainest preset. If a file does not come from
// a run, c keeps its own match and cluster settings. MatchConfig returns an error
// if the fingerprints were made with different settings, since no distance
// between them means anything.
func MatchConfig(inputs []string, c config.Config) (config.Config, error) {
	splits, err := input.ExpandFingerprints(inputs)
	if err != nil {
		return c, err
	}
	var plainest recorded
	path := ""
	for _, s := range splits {
		if s.Format != source.FormatParquet {
			return c, nil
		}
		if s.Start > 0 {
			continue
		}
		info, err := parquet.ReadInfo(s.Path)
		if err != nil || info.Settings == "" {
			return c, err
		}
		var r recorded
		if err := json.Unmarshal([]byte(info.Settings), &r); err != nil {
			return c, fmt.Errorf("%s: the settings in its metadata: %w", s.Path, err)
		}
		if name, ok := differs(plainest.Fingerprints, r.Fingerprints); ok && path != "" {
			return c, fmt.Errorf("%s and %s hold fingerprints that cannot be compared: %s is %s there, %s here: fingerprint both dumps with the same settings",
				path, s.Path, name, plainest.Fingerprints[name], r.Fingerprints[name])
		}
		if path == "" || r.plainer(plainest) {
			plainest, path = r, s.Path
		}
		c.Features.Bits = info.Bits
	}
	plainest.Match.AllPairs, plainest.Match.MaxPairs = c.Match.AllPairs, c.Match.MaxPairs
	if plainest.Clusters.Keep == config.KeepRank {
		c.Input.Rank = "rank" // the table's column
	}
	c.Match, c.Clusters = plainest.Match, plainest.Clusters
	return c, nil
}

// plainer reports whether r needs less of the fingerprints than other: no
// sketches where other has them, or a plainer preset.
func (r recorded) plainer(other recorded) bool {
	without, with := r.Fingerprints[SettingSketches] == noSketches, other.Fingerprints[SettingSketches] != noSketches
	return with && (without || slices.Index(config.Presets(), r.Match.Preset) < slices.Index(config.Presets(), other.Match.Preset))
}

// differs returns the first setting, by name, in which a and b differ. Fingerprints
// with and without sketches do not count as different: their distances compare.
func differs(a, b map[string]string) (name string, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] && (name != SettingSketches || a[name] != noSketches && b[name] != noSketches) {
			return name, true
		}
	}
	return "", false
}
