package method

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/sketch"
)

// SettingSketches is the key, among a library's settings, that describes its
// sketches. Its value is "false" for none. Else it is three numbers joined by
// "+": the bits of the minima, the bits of a band, and the most letters that are
// kept of a short text.
const SettingSketches = "match.sketches"

const noSketches = "false"

// LibrarySettings returns, by name, the settings on which fingerprints depend.
// Fingerprints can be compared only if these are equal. A setting that names
// files counts by their content: its value is a hash of it.
func LibrarySettings(c config.Config) (map[string]string, error) {
	text, err := json.Marshal(c.Features)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	s := map[string]string{"input.html": c.Input.HTML, "features.normal_form": strconv.Itoa(simhash.NormalFormVersion), SettingSketches: noSketches}
	if c.Match.Sketched() {
		s[SettingSketches] = fmt.Sprintf("%d+%d+%d", sketch.Bits, sketch.BandBits, sketch.ShortMax)
	}
	for name, v := range fields {
		if name == "segmenter" || name == "strip_boilerplate" && !learns(c.Features) { // both segmenters cut alike; strip_boilerplate is left out where it is off, as in libraries older than the setting
			continue
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		s["features."+name] = strings.Trim(string(text), `"`)
	}
	for name, paths := range map[string][]string{"stop_list": {c.Features.StopList}, "user_words": c.Features.UserWords, "templates": {c.Features.Templates}, "lexicon": c.Features.LexiconFiles()} {
		if len(paths) == 0 || paths[0] == "" {
			continue
		}
		h := sha256.New()
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("config: %w", err)
			}
			sum := sha256.Sum256(text)
			h.Write(sum[:])
			if name == "lexicon" { // the name too, as any of its files may be missing
				h.Write([]byte(filepath.Base(path)))
			}
		}
		s["features."+name] = hex.EncodeToString(h.Sum(nil)[:8]) // files count by their content
	}
	return s, nil
}
