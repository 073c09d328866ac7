package lookup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/neardup/neardup/job/internal/method"

	"pgregory.net/rapid"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/simhash"
)

// Pages that were taken back leave nothing: what is there, and what is found, is as
// if they had never come.
func TestTakenBackLeavesNothing(t *testing.T) {
	for _, preset := range []string{config.PresetClassic, config.PresetBalanced} {
		t.Run(preset, func(t *testing.T) {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			all, err := layouts(cfg.Features.Bits)
			if err != nil {
				t.Fatal(err)
			}
			x := &Index{config: cfg, layout: all[0]}
			x.reaches = reachesOf(method.Rule(cfg.Match), 1)
			type page struct {
				id    []byte
				view  data.View
				class string
			}
			drawn := rapid.Custom(func(t *rapid.T) page {
				p := page{id: fmt.Append(nil, "http://a.example/", rapid.IntRange(0, 20).Draw(t, "id")), class: simhash.LengthNormal}
				n := rapid.IntRange(0, 12).Draw(t, "view") // few, so that some are equal
				p.view = data.View{Lo: 0x0123456789abcdef ^ uint64(n), Normal: true}
				if preset != config.PresetClassic {
					p.view.Length, p.view.Sketch[n%data.SketchSize] = uint32(100+n), byte(n)
					switch n % 4 {
					case 1:
						p.view.Normal, p.class, p.view.Letters = false, "short", fmt.Append(nil, "some letters ", n)
					case 2:
						p.view, p.class = data.View{}, "empty"
					}
				}
				return p
			})
			rapid.Check(t, func(t *rapid.T) {
				got, want := newRecent(x, "got", logMeta{}), newRecent(x, "want", logMeta{})
				for range rapid.IntRange(1, 8).Draw(t, "groups") {
					pages := rapid.SliceOfN(drawn, 1, 30).Draw(t, "pages")
					stays := rapid.Bool().Draw(t, "stays")
					var back []undo
					for i := range pages {
						p := &pages[i]
						back = append(back, got.add(p.id, &p.view, p.class, int64(i)))
						if stays {
							want.add(p.id, &p.view, p.class, int64(i))
						}
					}
					if !stays {
						for _, u := range slices.Backward(back) {
							got.takeBack(u)
						}
					}
				}
				if got.ids.Len() != want.ids.Len() || got.units.Len() != want.units.Len() || len(got.postings) != len(want.postings) || len(got.heads) != len(want.heads) ||
					!slices.Equal(got.entries, want.entries) || !slices.Equal(got.last, want.last) || !slices.Equal(got.prints, want.prints) || !slices.Equal(got.pages, want.pages) {
					t.Fatalf("%d ids, %d units, %d postings; want %d, %d, %d", got.ids.Len(), got.units.Len(), len(got.postings), want.ids.Len(), want.units.Len(), len(want.postings))
				}
				p := drawn.Draw(t, "asked")
				found := func(r *recent) (units []uint32) {
					r.near(&x.question(&p.view, p.class, x.takeTools()).query, func(unit uint32) { units = append(units, unit) })
					return units
				}
				if a, b := found(got), found(want); !slices.Equal(a, b) || got.ids.Find(p.id) != want.ids.Find(p.id) {
					t.Fatalf("%v is found, want %v", a, b)
				}
			})
		})
	}
}
