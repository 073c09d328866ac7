package monitor

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/version"
)

// write writes the outcome's figures as OpenMetrics text, whole or not at all.
func write(path string, o Outcome) (err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(figures(o)); err != nil {
		return err
	}
	families, err := registry.Gather()
	if err != nil {
		return err
	}
	f, err := data.CreateAtomic(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Abort()) }()
	enc := expfmt.NewEncoder(f, expfmt.NewFormat(expfmt.TypeOpenMetrics))
	for _, family := range families {
		if err := enc.Encode(family); err != nil {
			return err
		}
	}
	if _, err := expfmt.FinalizeOpenMetrics(f); err != nil {
		return err
	}
	return f.Commit()
}

// figures are those of an outcome. Labels have few values: stages, reasons,
// lanes and tables, never sites or ids.
type figures Outcome

// Describe describes nothing: which figures there are depends on the run.
func (figures) Describe(chan<- *prometheus.Desc) {}

// Collect emits the figures: a counter begins with the run.
func (o figures) Collect(to chan<- prometheus.Metric) {
	emit := func(kind prometheus.ValueType, name, help string, value float64, labels ...string) {
		var names, values []string
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("neardup_"+name, help, names, nil), kind, value, values...)
	}
	gauge := func(name, help string, value float64, labels ...string) {
		emit(prometheus.GaugeValue, name, help, value, labels...)
	}
	counter := func(name, help string, value int64, labels ...string) {
		emit(prometheus.CounterValue, name+"_total", help, float64(value), labels...)
	}
	each := func(name, help, label string, values map[string]int64) {
		for value, n := range values {
			counter(name, help, n, label, value)
		}
	}
	s := o.Summary
	success := 0.0
	if o.ExitCode == 0 {
		success = 1
	}
	gauge("run_info", "The last run.", 1, "command", s.Command, "version", version.Version)
	gauge("run_success", "Whether the run ended with exit code 0.", success)
	gauge("run_exit_code", "Exit code of the run.", float64(o.ExitCode))
	gauge("run_alarms", "Figures of the run that are beyond their bounds.", float64(len(o.Alarms)))
	gauge("run_start_timestamp_seconds", "When the run was started.", float64(s.Began.UnixMilli())/1000)
	gauge("run_end_timestamp_seconds", "When the run ended.", float64(s.Began.Add(time.Duration(s.Seconds*float64(time.Second))).UnixMilli())/1000)
	gauge("run_duration_seconds", "How long the run took.", s.Seconds)
	gauge("run_peak_memory_bytes", "Most resident memory of the process.", float64(s.PeakMemory))
	for _, stage := range s.Stages {
		gauge("stage_duration_seconds", "How long a stage took.", stage.Seconds, "stage", stage.Stage)
	}
	for _, f := range s.Files {
		gauge("output_bytes", "Size of what the run wrote.", float64(f.Bytes), "table", f.Name)
	}

	counter("input_bytes", "Bytes of input read.", s.Bytes)
	counter("records", "Records read.", s.Records)
	counter("documents", "Documents fingerprinted.", s.Documents)
	each("length_class_documents", "Documents by length class.", "length_class", s.LengthClasses)
	each("skipped_records", "Records skipped, by reason.", "reason", s.Skipped)
	counter("bad_records", "Skipped records that were unusable or stood twice.", s.Bad)
	counter("unchecked_frames", "Zstandard frames of the input that have no checksum, and were believed.", s.Unchecked)
	counter("cut_pages", "Documents whose page the input has only the beginning of.", s.CutPages)
	counter("matched_documents", "Documents with a match.", s.Matched)
	counter("clusters", "Clusters.", s.Clusters)
	counter("clustered_documents", "Documents in clusters.", s.Clustered)
	counter("clean_documents", "Documents that the clean dump keeps.", s.Kept)
	counter("removed_documents", "Documents that the clean dump leaves out.", s.Dropped)
	if r := s.Reread; r != nil {
		gauge("reread_documents", "Removed documents that were read again and compared with what stays.", float64(r.Documents))
		gauge("reread_unlike_documents", "Of them those that are no copies.", float64(r.Below))
		gauge("reread_least_jaccard", "The least Jaccard similarity of them.", r.Jaccard)
	}
	if l := s.Losses; l != nil {
		gauge("losing_sites", "Sites that lose more than monitor.max_site_loss of their documents.", float64(l.SitesAll))
		gauge("wide_clusters", "Clusters of more sites than monitor.max_cluster_sites.", float64(l.ClustersAll))
	}
	counter("flow_restarts", "Flows on the cluster that were tried again.", s.Restarts)
	gauge("agents_left_out", "How often an agent of the cluster was left out.", float64(len(s.LeftOut)))
	counter("warnings", "Warnings in the log of the run.", s.Warnings)
	if l := s.Library; l != nil {
		gauge("library_nights", "Earlier nights that the run was compared with.", float64(l.Nights))
		gauge("library_documents", "Documents of the earlier nights.", float64(l.Documents))
		each("novelty_documents", "Documents by what the library knew of them.", "kind",
			map[string]int64{"new": l.New, "repeated": l.Repeated, "returned": l.Returned})
	}
}
