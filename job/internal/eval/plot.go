package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// plot is a square of lines with its axes, in the page's own units: x grows to
// the right, y downwards.
type plot struct {
	Label          string // what it shows, for those who cannot see it
	Across, Up     string // what the axes say, with their unit
	XTicks, YTicks []tick
	Lines          []plotLine
}

// tick is a mark of an axis.
type tick struct {
	At   float64
	Text string
}

// plotLine is one line of a plot.
type plotLine struct {
	Name       string
	Hue        int
	Dashed     bool
	Points     string  // as SVG has them
	EndX, EndY float64 // the last one
}

// plotSide is the side of a plot.
const plotSide = 360.0

// position is a point of a line by what the axes measure.
type position struct{ x, y float64 }

// line adds a line in the colour of the i-th method; one without points is left
// out. The axes go from 0 to right and from low to 1.
func (p *plot) line(i int, name string, dashed bool, at []position, right, low float64) {
	if len(at) == 0 {
		return
	}
	l := plotLine{Name: name, Hue: (i + 1) * 137 % 360, Dashed: dashed} // neighbours differ
	var b strings.Builder
	for _, q := range at {
		l.EndX, l.EndY = q.x/right*plotSide, (1-q.y)/(1-low)*plotSide
		fmt.Fprintf(&b, "%.1f,%.1f ", l.EndX, l.EndY)
	}
	l.Points = b.String()
	p.Lines = append(p.Lines, l)
}

// shareTicks are the marks of an axis of shares from low to 1, which goes
// upwards or to the right.
func shareTicks(low float64, upwards bool) []tick {
	step := 0.2
	if low >= 0.5 {
		step = 0.1
	}
	var ticks []tick
	for i := 0; ; i++ {
		v := 1 - float64(i)*step
		if v < low-1e-9 {
			return ticks
		}
		at := (1 - v) / (1 - low) * plotSide
		if !upwards {
			at = plotSide - at
		}
		ticks = append(ticks, tick{at, fmt.Sprintf("%.1f", v)})
	}
}

// lowest returns where an axis of shares begins that has all of these: a
// multiple of a fifth, and 0.8 at most.
func lowest(lines ...[]position) float64 {
	low := 0.8
	for _, line := range lines {
		for _, q := range line {
			low = min(low, math.Floor(q.y*5)/5)
		}
	}
	return low
}

// curves are precision and recall of every method over its threshold.
func curves(r *Report) plot {
	lines := make([][]position, len(r.Results))
	for i, m := range r.Results {
		for _, p := range m.Curve {
			lines[i] = append(lines[i], position{p.Recall, p.Precision})
		}
	}
	low := lowest(lines...)
	p := plot{
		Label:  "Precision over recall of each method",
		Across: "recall: share of the wanted pairs", Up: "precision: share of the reported pairs",
		XTicks: shareTicks(0, false), YTicks: shareTicks(low, true),
	}
	for i, m := range r.Results {
		p.line(i, fmt.Sprintf("%s, F1 %.4f", m.Method, m.F1), false, lines[i], 1, low)
	}
	return p
}

// distances are precision and recall of the swept methods over the distance.
func distances(r *Report) plot {
	most := 1
	precision, recall := make([][]position, len(r.Sweeps)), make([][]position, len(r.Sweeps))
	for i, s := range r.Sweeps {
		for _, p := range s.Points {
			most = max(most, p.K)
			if p.Pairs > 0 {
				precision[i] = append(precision[i], position{float64(p.K), p.Precision.Value})
			}
			recall[i] = append(recall[i], position{float64(p.K), p.Recall.Value})
		}
	}
	low := min(lowest(precision...), lowest(recall...))
	p := plot{
		Label:  "Precision and recall of each method at every distance",
		Across: "distance k, bits", Up: "precision, recall: shares of the pairs",
		YTicks: shareTicks(low, true),
	}
	for k := range most + 1 {
		p.XTicks = append(p.XTicks, tick{float64(k) * plotSide / float64(most), fmt.Sprint(k)})
	}
	for i, s := range r.Sweeps {
		colour := slices.IndexFunc(r.Results, func(m *Result) bool { return m.Method == s.Method }) // as among the curves
		p.line(colour, s.Method+", precision", false, precision[i], float64(most), low)
		p.line(colour, s.Method+", recall", true, recall[i], float64(most), low)
	}
	return p
}

// Sides of a histogram.
const (
	barsWidth  = 640.0
	barsHeight = 160.0
)

// bar is a column of a histogram.
type bar struct {
	Distance, True, False   int
	X, Width                float64
	TrueHeight, FalseHeight float64
}

// bars are the columns: the height is the share of true and false pairs at each
// distance.
func bars(h *Histogram) []bar {
	var out []bar
	width := barsWidth / float64(len(h.True))
	for d := range h.True {
		b := bar{Distance: d, True: h.True[d], False: h.False[d], X: float64(d) * width, Width: width - 2}
		if n := float64(b.True + b.False); n > 0 {
			b.TrueHeight = barsHeight * float64(b.True) / n
			b.FalseHeight = barsHeight - b.TrueHeight
		}
		out = append(out, b)
	}
	return out
}
