package engine

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

// SettingSketches says, among a library's settings, whether there are sketches,
// and of which layout: false, or the bits of the minima and of a band, and the most
// letters that are kept.
const SettingSketches = "match.sketches"

const noSketches = "false"

// LibrarySettings says what fingerprints have to have in common to be compared.
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
		if name == "segmenter" || name == "strip_boilerplate" && !learns(c.Features) { // both cut alike; as before there was the setting
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
			if name == "lexicon" { // of which some may be missing
				h.Write([]byte(filepath.Base(path)))
			}
		}
		s["features."+name] = hex.EncodeToString(h.Sum(nil)[:8]) // files count by their content
	}
	return s, nil
}
