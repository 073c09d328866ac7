package eval

import (
	"fmt"
	"math"
	"strings"
)

// plot is a square of lines with its axes, in the page's own units: x grows to
// the right, y downwards.
type plot struct {
	XTicks, YTicks []tick
	Lines          []plotLine
}

type tick struct {
	At   float64
	Text string
}

type plotLine struct {
	Name       string
	Hue        int
	Points     string  // as SVG has them
	EndX, EndY float64 // the last one
}

// plotSide is the side of a plot.
const plotSide = 360.0

// curves are precision over recall of every method for all its thresholds. The
// axis of precision begins at a multiple of a fifth.
func curves(r *Report) plot {
	low := 0.8
	for _, m := range r.Results {
		for _, p := range m.Curve {
			low = min(low, math.Floor(p.Precision.Value*5)/5)
		}
	}
	var p plot
	for v := 1.0; v > -1e-9; v -= 0.2 {
		p.XTicks = append(p.XTicks, tick{v * plotSide, fmt.Sprintf("%.1f", v)})
		p.YTicks = append(p.YTicks, tick{(1 - v) * plotSide, fmt.Sprintf("%.2f", 1-(1-v)*(1-low))})
	}
	for i, m := range r.Results {
		l := plotLine{Name: fmt.Sprintf("%s, F1 %.4f", m.Method, m.F1), Hue: (i + 1) * 137 % 360} // neighbours differ
		var b strings.Builder
		for _, q := range m.Curve {
			l.EndX, l.EndY = q.Recall.Value*plotSide, (1-q.Precision.Value)/(1-low)*plotSide
			fmt.Fprintf(&b, "%.1f,%.1f ", l.EndX, l.EndY)
		}
		if l.Points = b.String(); l.Points != "" {
			p.Lines = append(p.Lines, l)
		}
	}
	return p
}
