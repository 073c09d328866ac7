package review

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
)

// Change is another value that the verdicts ask for.
type Change struct {
	Setting      string  `json:"setting"`
	Was          string  `json:"was"`
	Is           string  `json:"is"`
	Read         int     `json:"read"` // verdicts that it rests on
	PrecisionWas float64 `json:"precision_was"`
	Precision    float64 `json:"precision"`
	RecallWas    float64 `json:"recall_was"`
	Recall       float64 `json:"recall"`
	f1Was, f1    float64
	set          bool
}

// Suggestion is the limits that the verdicts ask for.
type Suggestion struct {
	Changes []Change `json:"changes"`
	TooFew  []string `json:"too_few,omitempty"` // settings of which too few pairs were read
	config  config.Config
	run     string
	read    int
}

// A limit is suggested only when so many pairs that it decides on were read,
// and so many of them are and are not near-duplicates; and when F1 rises by so
// much.
const (
	leastRead   = 20
	leastEither = 4
	leastGain   = 0.001
)

// point is a pair that a limit decides on.
type point struct {
	at     float64 // similarity; or the distance, negative
	weight float64 // pairs that it stands for
	right  bool
}

// Suggest returns the limits at which F1 is highest, by the verdicts: each pair
// stands for as many as its stratum has for each one that was read. Only pairs
// that the limit itself decides on count.
func (d *Draw) Suggest(rows []labels.Row, cfg config.Config) *Suggestion {
	var f Figures
	answers := d.answers(rows, &f)
	judged := map[string]float64{}
	for i, p := range d.Pairs {
		if answers[i] == labels.Yes || answers[i] == labels.No {
			judged[p.Stratum]++
		}
	}
	weight := map[string]float64{}
	for _, s := range d.Strata {
		weight[s.Name] = float64(s.Pairs) / max(1, judged[s.Name])
	}
	m := cfg.Match
	lists := map[string][]point{}
	for i := range d.Pairs {
		p := &d.Pairs[i]
		if answers[i] != labels.Yes && answers[i] != labels.No || p.Stratum == StratumHistory || p.Stratum == StratumChain {
			continue
		}
		setting, at := "match.distance", -float64(p.Distance)
		if m.Sketched() {
			if at = p.figure(); math.IsNaN(at) || !slices.Contains([]string{"sketches alike", "signatures alike", "texts alike"}, p.Verdict) {
				continue
			}
			if setting = "match.limit_short"; int(p.Length) >= m.LongFrom {
				setting = "match.limit_long"
			}
		}
		lists[setting] = append(lists[setting], point{at, weight[p.Stratum], answers[i] == labels.Yes})
	}
	s := &Suggestion{config: cfg, run: d.Run, read: f.Read}
	settings := []string{"match.limit_long", "match.limit_short"}
	if !m.Sketched() {
		settings = []string{"match.distance"}
	}
	for _, name := range settings {
		change, enough := best(name, lists[name], m)
		switch {
		case !enough:
			s.TooFew = append(s.TooFew, name)
		case change.set:
			s.Changes = append(s.Changes, change)
		}
	}
	return s
}

// best tries every limit within what was read.
func best(name string, points []point, m config.Match) (c Change, enough bool) {
	now, step, format := m.LimitLong, 0.01, "%.2f"
	switch name {
	case "match.limit_short":
		now = m.LimitShort
	case "match.distance":
		now, step, format = -float64(m.Distance), 1, "%.0f"
	}
	right, least, most := 0, math.Inf(1), math.Inf(-1)
	for _, p := range points {
		least, most = min(least, p.at), max(most, p.at)
		if p.right {
			right++
		}
	}
	if len(points) < leastRead || right < leastEither || len(points)-right < leastEither {
		return c, false
	}
	precision, recall := at(points, now)
	c = Change{Setting: name, Was: fmt.Sprintf(format, math.Abs(now)), Read: len(points), PrecisionWas: precision, RecallWas: recall, f1Was: eval.F1(precision, recall)}
	c.f1 = c.f1Was + leastGain
	apart := math.Inf(1)
	for k := 0; ; k++ {
		limit := math.Ceil(least/step-1e-9)*step + float64(k)*step
		if limit > most+1e-9 {
			break
		}
		precision, recall := at(points, limit)
		f1, far := eval.F1(precision, recall), math.Abs(limit-now)
		if f1 > c.f1+1e-12 || c.set && f1 >= c.f1-1e-12 && far < apart { // of equally good ones the nearest
			c.f1, c.Precision, c.Recall, c.Is, c.set, apart = f1, precision, recall, fmt.Sprintf(format, math.Abs(limit)), true, far
		}
	}
	c.set = c.set && c.Is != c.Was
	return c, true
}

// at is precision and recall of the points at a limit.
func at(points []point, limit float64) (precision, recall float64) {
	var taken, right, all float64
	for _, p := range points {
		if p.right {
			all += p.weight
		}
		if p.at < limit-1e-9 {
			continue
		}
		taken += p.weight
		if p.right {
			right += p.weight
		}
	}
	return right / max(taken, 1e-300), right / max(all, 1e-300)
}

// WriteText says what the suggestion changes, and on what it rests.
func (s *Suggestion) WriteText(w io.Writer, t message.Language) error {
	var b strings.Builder
	for _, c := range s.Changes {
		b.WriteString(t.Text("%s: %s → %s. Of the %d read pairs that it decides on: precision %.3f → %.3f, recall %.3f → %.3f\n", c.Setting, c.Was, c.Is, c.Read, c.PrecisionWas, c.Precision, c.RecallWas, c.Recall))
	}
	for _, name := range s.TooFew {
		b.WriteString(t.Text("%s: unchanged; a suggestion needs %d judged pairs that it decides, at least %d near-duplicates and %d others\n", name, leastRead, leastEither, leastEither))
	}
	if len(s.Changes) == 0 && len(s.TooFew) == 0 {
		b.WriteString(t.Text("The verdicts suggest no other limit.\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// YAML is the suggestion as a settings file for --config: the method of the
// run, with the limits that changed.
func (s *Suggestion) YAML() ([]byte, error) {
	cfg := s.config
	was := map[string]Change{}
	for _, c := range s.Changes {
		if err := cfg.Set(c.Setting, c.Is); err != nil {
			return nil, err
		}
		was[c.Setting] = c
	}
	usual, err := config.Default().WithPreset(cfg.Match.Preset)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The settings of the run %q, with the limits that %d verdicts ask for.\n# neardup run … --config THIS_FILE\n", s.run, s.read)
	section, all := "", usual.Settings()
	for i, setting := range cfg.Settings() {
		of, key, _ := strings.Cut(setting.Name, ".")
		change, changed := was[setting.Name]
		switch {
		case of != "features" && of != "match" && of != "clusters":
			continue
		case !changed && setting.Name != config.SettingPreset && setting.String() == all[i].String():
			continue
		}
		if of != section {
			fmt.Fprintf(&b, "%s:\n", of)
			section = of
		}
		value, err := setting.YAML()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "  %s: %s", key, value)
		if changed {
			fmt.Fprintf(&b, " # was %s", change.Was)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String()), nil
}
