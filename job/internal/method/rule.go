// Package method makes, from settings, what the method works with: the analyzer
// of texts, the rule for candidates and verdicts, the templates of boilerplate,
// and the form of views. For a run that exists, it adds what the run has counted
// or learned. It also says which settings fingerprints depend on, so that only
// those are compared that can be.
//
// Runs, look-ups, the laboratory and Go programs take them from here, so that
// equal settings mean the same everywhere. It reads no document.
package method

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/state"
	"github.com/neardup/neardup/job/internal/state/views"
	"github.com/neardup/neardup/mapper"
	"github.com/neardup/neardup/simhash/sketch"
)

// Rule returns the rule for candidates and verdicts under settings m.
func Rule(m config.Match) mapper.Rule {
	return mapper.Rule{K: m.Distance, Bands: m.Verified() && m.Bands, ShortTexts: m.Verified() && m.ShortTexts, Verified: m.Verified(), ByLength: m.Verify == config.VerifyLength, Rules: m.Rules()}
}

// RuleOf returns the rule of the run in folder dir under settings m, with the forms
// that the run has counted, if any.
func RuleOf(dir string, m config.Match) (mapper.Rule, error) {
	rule := Rule(m)
	path := filepath.Join(dir, rundir.State, FormsFile)
	body, err := state.Read(path, kindForms)
	if errors.Is(err, fs.ErrNotExist) {
		return rule, nil
	}
	if err != nil {
		return rule, err
	}
	forms := new(sketch.Forms)
	if err := forms.UnmarshalBinary(body); err != nil {
		return rule, fmt.Errorf("%s: %w", path, err)
	}
	rule.Forms = forms
	return rule, nil
}

// FormsFile, in the state folder, holds the forms that enough of a run's short
// texts have.
const (
	FormsFile = "forms"
	kindForms = "neardup forms 1"
)

// KeepForms writes the run's forms. It returns the name of the file within the
// run directory.
func KeepForms(dir *rundir.Dir, found *sketch.Forms) (name string, err error) {
	body, err := found.MarshalBinary()
	if err != nil {
		return "", err
	}
	name = filepath.Join(rundir.State, FormsFile)
	return name, state.Write(dir.Path(name), kindForms, body)
}

// An estimate must exceed the limit by a margin before a document is removed for it:
// provenAbove if it is that of sketches, signedAbove if it is that of signatures. That
// is 1.5 and 1.8 standard errors of the estimate: of pairs exactly at the limit, one in
// fifteen or fewer exceeds it by chance. A pair within the margin is reported, but both its
// documents stay unless the texts decide that they are the same.
const (
	provenAbove = 0.08
	signedAbove = 0.05
)

// Proves reports whether evidence e of a pair is reason enough to remove one of
// its documents for the other.
func Proves(m *config.Match, e data.Evidence) bool {
	rules := m.Rules()
	switch e.Reason {
	case data.BySignatures:
		return mapper.EstimatedJaccard(e) >= rules.Long+signedAbove
	case data.BySketches, data.ByEstimate:
		limit := rules.Long
		if rules.Signatures {
			limit = rules.EstimateLimit(rules.LongFrom)
		}
		return mapper.EstimatedJaccard(e) >= limit+provenAbove
	}
	return e.Reason.Same()
}

// ViewForm returns the form in which a run with settings c keeps views.
func ViewForm(c config.Config) views.Form {
	return views.Form{Wide: c.Features.Bits > 64, Verified: c.Match.Verified(), Keep: c.Clusters.Keep != config.KeepFirst, Sampled: c.Match.Rules().Containment > 0}
}
