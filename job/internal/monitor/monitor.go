// Package monitor tells a machine how a run ended: its figures in a file for
// Prometheus, and an alarm to a command or an address. It takes every figure
// from the run's summary, and never decides how the run ends.
package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// Outcome is how a run ended: the alarm's JSON.
type Outcome struct {
	*job.Summary          // as far as the run came
	ExitCode     int      `json:"exit_code"`
	Error        string   `json:"error,omitempty"`
	Alarms       []string `json:"alarms"` // what is beyond its bound, in words; empty for a failure
}

// Tell writes the metrics, and raises the alarm if the run failed or is beyond a
// bound. Both are tried. When ctx is done, the alarm has two seconds.
func Tell(ctx context.Context, c config.Monitor, o Outcome) error {
	o.Alarms = append([]string{}, beyond(c, o.Summary)...)
	var wrong []error
	if c.Metrics != "" {
		wrong = append(wrong, write(c.Metrics, o))
	}
	if o.ExitCode != 0 || len(o.Alarms) > 0 {
		patience := time.Minute
		if ctx.Err() != nil { // whoever interrupts does not wait
			patience = 2 * time.Second
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		alarm, err := json.Marshal(o)
		wrong = append(wrong, err)
		if c.AlarmCommand != "" {
			wrong = append(wrong, runCommand(ctx, c.AlarmCommand, alarm))
		}
		if c.AlarmURL != "" {
			wrong = append(wrong, post(ctx, c.AlarmURL, alarm))
		}
	}
	return errors.Join(wrong...)
}

// beyond says which figures of a run are beyond their bounds.
func beyond(c config.Monitor, s *job.Summary) (alarms []string) {
	alarm := func(is bool, format string, args ...any) {
		if is {
			alarms = append(alarms, fmt.Sprintf(format, args...))
		}
	}
	if s.Done {
		alarm(s.Documents < c.MinDocuments, "%d %s, fewer than monitor.min_documents (%d)", s.Documents, show.Noun(s.Documents, "document"), c.MinDocuments)
		alarm(c.MaxDocuments > 0 && s.Documents > c.MaxDocuments, "%d %s, more than monitor.max_documents (%d)", s.Documents, show.Noun(s.Documents, "document"), c.MaxDocuments)
		alarms = append(alarms, s.Losses.Warnings(message.English)...)
		if l := s.Library; l != nil && l.Nights > 0 && s.Documents > 0 {
			share := float64(l.New) / float64(s.Documents)
			alarm(share < c.MinNew, "%.3f of the documents are new, less than monitor.min_new (%g)", share, c.MinNew)
			alarm(share > c.MaxNew, "%.3f of the documents are new, more than monitor.max_new (%g)", share, c.MaxNew)
		}
	}
	took := time.Duration(s.Seconds * float64(time.Second)).Round(time.Second)
	alarm(c.MaxDuration > 0 && took > c.MaxDuration, "it took %v, longer than monitor.max_duration (%v)", took, c.MaxDuration)
	alarm(c.MaxRestarts >= 0 && s.Restarts > c.MaxRestarts, "%d %s %s tried again, more than monitor.max_restarts (%d)", s.Restarts, show.Noun(s.Restarts, "flow"), show.Agree(s.Restarts, "was", "were"), c.MaxRestarts)
	return alarms
}
