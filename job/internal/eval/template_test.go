package eval

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/learn"
	"github.com/neardup/neardup/job/internal/message"
)

// shell is what stands around the articles of a site: menu, teasers, notices.
type shell struct{ head, foot []string }

// newShell makes a site's shell of about that many characters of sentences
// taken from documents.
func newShell(r *rand.Rand, c *Corpus, length int) shell {
	lines := func(n int) (all []string) {
		for n > 0 {
			line := strings.Join(strings.Fields((&editor{Rand: r, corpus: c}).passage(8+r.IntN(25))), " ")
			all = append(all, line)
			n -= len([]rune(line)) + 1
		}
		return all
	}
	return shell{lines(length / 2), lines(length - length/2)}
}

// around puts an article into the site's page, with a counter.
func (s shell) around(r *rand.Rand, text string) []byte {
	return []byte(strings.Join(s.head, "\n") + fmt.Sprintf("\n阅读 %d 次\n", r.IntN(100000)) + text + "\n" + strings.Join(s.foot, "\n") + "\n")
}

// onSites puts documents, cut to a length, on sites of 50 pages, and some of
// them twice: with light edits on their own site, or on another.
func onSites(t testing.TB, from *Corpus, pages, most, shellLength int) *Corpus {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 12))
	n := pages / 50
	shells := make([]shell, n)
	for i := range shells {
		shells[i] = newShell(rand.New(rand.NewPCG(13, uint64(i))), from, shellLength)
	}
	c := &Corpus{}
	var pairs []labels.Pair
	for i, at := range r.Perm(len(from.Documents))[:pages] {
		site := i % n
		text := cut(string(from.Documents[at].Text), most/2+r.IntN(most/2))
		id := fmt.Sprintf("http://site%d.example/%d", site, i)
		c.Documents = append(c.Documents, Document{ID: id, Text: shells[site].around(r, text)})
		edited := text
		switch i % 10 {
		case 0: // on another site
			site = (site + 1 + r.IntN(n-1)) % n
		case 1: // again on this one, edited
			edited = (&editor{Rand: r, corpus: from}).apply(Planned{"drop", 0.1}, text)
		default:
			continue
		}
		other := fmt.Sprintf("http://site%d.example/%d-again", site, i)
		c.Documents = append(c.Documents, Document{ID: other, Text: shells[site].around(r, edited)})
		pairs = append(pairs, labels.Pair{A: id, B: other, Answer: labels.Yes})
	}
	if err := c.Label(pairs); err != nil {
		t.Fatal(err)
	}
	return c
}

// learned is the file of what the pages of each site share, learned from all of
// the laboratory's documents and not from those that a run samples.
func learned(t *testing.T, l *Lab) string {
	t.Helper()
	input, err := l.input()
	if err != nil {
		t.Fatal(err)
	}
	model, err := learn.Dump{Config: Preset(config.PresetClassic).config(), Inputs: []string{input}, Workers: 2}.Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	blob, err := model.MarshalBinary()
	path := filepath.Join(t.TempDir(), "templates")
	if err := errors.Join(err, os.WriteFile(path, blob, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pages of sites with a shell around each article: of the same article they
// are found, of different ones they are not, once the shells are left out.
func TestTemplates(t *testing.T) {
	if testing.Short() {
		t.Skip("measures hundreds of pages of sites three times")
	}
	r := rand.New(rand.NewPCG(7, 8))
	from := &Corpus{}
	for i := range 600 {
		from.Documents = append(from.Documents, Document{ID: fmt.Sprint(i), Text: []byte(prose(r, 12))})
	}
	c := onSites(t, from, 200, 400, 800)
	l := newLab(t, c, Options{Alike: 1, Half: AllPairs, Examples: 1})
	with, whole := Preset(config.PresetBalanced), Preset(config.PresetBalanced)
	with.Features.Templates, whole.Features.StripBoilerplate = learned(t, l), false
	for _, m := range []*Neardup{Preset(config.PresetBalanced), with, whole} {
		r, err := l.Measure(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		if m.Features.StripBoilerplate && (r.Precision.Value < 0.99 || r.Recall.Value < 0.95) {
			t.Errorf("templates left out: precision %v, recall %v", r.Precision.Value, r.Recall.Value)
		}
		if !m.Features.StripBoilerplate && r.Precision.Value > 0.5 {
			t.Errorf("templates left in: precision %v: the pages show nothing", r.Precision.Value)
		}
	}
}

// What leaving templates out gains on real articles, by the length of the
// shells.
func TestTemplatesMeasured(t *testing.T) {
	laboratory(t)
	from := &Corpus{}
	shared(t, "zh/blogs.jsonl.gz", func(field func(string) string) {
		if !strings.Contains(field("text"), errorPage) {
			from.add(field("id"), field("text"))
		}
	})
	for _, shellLength := range []int{0, 200, 800, 2400} {
		c := onSites(t, from, 5000, 1200, shellLength)
		l := newLab(t, c, Options{Alike: 1, Half: AllPairs})
		all := learned(t, l)
		report := l.Report(fmt.Sprintf("100 sites, shells of %d characters around articles of 600 to 1,200", shellLength))
		for _, m := range []*Neardup{Preset(config.PresetClassic), Preset(config.PresetBalanced), Preset(config.PresetThorough)} {
			for _, templates := range []bool{false, true} {
				m.Features.StripBoilerplate = templates
				if templates {
					m.Label, m.Features.Templates = m.Label+", templates", all
				}
				r, err := l.Measure(t.Context(), m)
				if err != nil {
					t.Fatal(err)
				}
				report.Results = append(report.Results, r)
			}
		}
		if err := report.WriteText(t.Output(), message.English); err != nil {
			t.Fatal(err)
		}
	}
}
