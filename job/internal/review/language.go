package review

import (
	"strings"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
)

// answer names an answer.
func answer(l message.Language, a labels.Answer) string {
	switch a {
	case labels.Yes:
		return l.Text("yes")
	case labels.No:
		return l.Text("no")
	case labels.Unsure:
		return l.Text("unsure")
	}
	return "–"
}

// stratum names a stratum.
func stratum(l message.Language, name string) string {
	if verdict, ok := strings.CutPrefix(name, StratumReason); ok {
		return l.Text("the same: %s", l.Name(verdict))
	}
	switch name {
	case StratumNear:
		return l.Text("the same, just within the limit")
	case StratumShort:
		return l.Text("the same, short texts")
	case StratumContained:
		return l.Text("one contains the other")
	case StratumHistory:
		return l.Text("the same as of an earlier night")
	case StratumChain:
		return l.Text("left out by way of other documents")
	case StratumBelow:
		return l.Text("not the same, just beyond the limit")
	case StratumWide:
		return l.Text("not the same, further beyond")
	}
	return name
}
