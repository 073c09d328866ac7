package compare

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// methods are the flags of the program before, and of the program after.
var methods = []struct{ name, before, after string }{
	{"classic", "--preset classic", ""},
	{"balanced", "--preset balanced", ""},
	{"thorough", "--preset thorough", ""},
	{"classic k=6", "--preset classic -k 6", ""},
	{"classic k=12", "--preset classic -k 12", ""},
	{"classic 128 bits", "--preset classic --bits 128", "--preset classic --set features.bits=128"},
	{"balanced 128 bits", "--preset balanced --bits 128", "--preset balanced --set features.bits=128"},
	{"balanced, earliest", "--preset balanced --keep earliest", ""},
}

// inputs are the sample and, with NEARDUP_SHARED, real data below it.
func inputs(t *testing.T) map[string]string {
	sample, err := filepath.Abs("../../../data/sample")
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]string{"sample": sample}
	shared := os.Getenv("NEARDUP_SHARED")
	if shared == "" {
		t.Log("set NEARDUP_SHARED to compare the runs of real data too")
		return in
	}
	archives := filepath.Join(shared, "data/warc/")
	var warcs []string
	for _, name := range []string{"*.warc", "*.warc.gz", "*.wet.gz"} {
		found, err := filepath.Glob(filepath.Join(archives, name))
		if err != nil {
			t.Fatal(err)
		}
		warcs = append(warcs, found...)
	}
	in["archives"] = strings.Join(warcs, " ") + " --max-bad 90%"
	for name, flags := range map[string]string{
		"en/reuters21578.jsonl.gz":       "",
		"zh/laws.jsonl.gz":               "",
		"zh/blogs.jsonl.gz":              "",
		"zh/hk-dev.jsonl.gz":             "",
		"zh/weibo_titles.jsonl.gz":       "",
		"zh/lctt_pairs.jsonl.gz":         " --text-column draft",
		"html/cctv-dev.warc.gz":          "",
		"html/cctv-dev.bodies.jsonl.gz":  " --text-column body --max-bad 90%",
		"html/wcxb-dev.warc.gz":          "",
		"html/wcxb-dev.truth.jsonl.gz":   "",
		"zh/lctt_pairs.jsonl.gz#publish": " --text-column published",
	} {
		file, _, _ := strings.Cut(name, "#")
		in[name] = filepath.Join(shared, "data", file) + flags
	}
	return in
}

// TestAgainstBefore runs an earlier program and this one over the same input:
// what differs has a rule behind it.
func TestAgainstBefore(t *testing.T) {
	before := os.Getenv("NEARDUP_BEFORE")
	if before == "" {
		t.Skip("set NEARDUP_BEFORE to the program of an earlier commit to compare its runs with this one's")
	}
	after := filepath.Join(t.TempDir(), "neardup")
	if out, err := exec.Command("go", "build", "-o", after, "../../neardup").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ins := inputs(t)
	for _, input := range slices.Sorted(maps.Keys(ins)) {
		for _, m := range methods {
			t.Run(input+", "+m.name, func(t *testing.T) {
				flags := m.after
				if flags == "" {
					flags = m.before
				}
				keep := "length"
				if strings.Contains(m.before, "earliest") {
					keep = "date"
				}
				dir := t.TempDir()
				old, now := filepath.Join(dir, "before"), filepath.Join(dir, "after")
				execute(t, before, "run "+ins[input]+" --pairs "+m.before, old)
				execute(t, after, "run "+ins[input]+" --pairs "+flags, now)
				expectExplained(t, old, now, keep)

				// The same fingerprints, matched by both.
				prints := filepath.Join(now, "fingerprints")
				matchedOld, matchedNow := filepath.Join(dir, "match before"), filepath.Join(dir, "match after")
				execute(t, before, "match "+prints+" --pairs "+m.before, matchedOld)
				execute(t, after, "match "+prints+" --pairs "+flags, matchedNow)
				expectExplained(t, matchedOld, matchedNow, keep)
			})
		}
	}
}

func execute(t *testing.T, program, args, out string) {
	t.Helper()
	cmd := exec.Command(program, append(strings.Fields(args), "--out", out)...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, output)
	}
}

// expectExplained fails for differences without a rule, and where the later
// run's best matches are not the best of its pairs, or its components are not
// named by their first documents.
func expectExplained(t *testing.T, before, after, keep string) {
	t.Helper()
	report, err := Dirs(before, after, keep)
	if err != nil {
		t.Fatal(err)
	}
	r, err := read(after)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d pairs, %d clustered, %v", filepath.Base(after), len(r.pairs), len(r.clusters), report.Counts())
	defects := slices.DeleteFunc(report.Defects(), func(d Difference) bool {
		// Before, match left repeated ids out of this count, and took all
		// short texts with a sketch for normal.
		return d.Kind == CountDiffers && d.What == "length_classes" && strings.Contains(after, "match")
	})
	for _, d := range defects[:min(len(defects), 10)] {
		t.Errorf("%s: %s: %s, now %s", d.Kind, d.What, d.Before, d.After)
	}
	for doc, first := range r.firsts("component_id") {
		if id := r.clusters[doc].text("component_id"); id != first {
			t.Errorf("the component of %s is named %s, its first document is %s", doc, id, first)
		}
	}
	best := map[string]row{}
	offer := func(doc, other string, pair row) {
		have, ok := best[doc]
		at, most := pair["distance"].(int32), int32(1<<30)
		if ok {
			most = have["distance"].(int32)
		}
		if at < most || at == most && r.places[other] < r.places[have.text("match_id")] {
			best[doc] = row{"match_id": other, "distance": at, "estimate": pair["estimate"], "jaccard": pair["jaccard"], "verdict": pair["verdict"]}
		}
	}
	for _, pair := range r.pairs {
		offer(pair.text("doc_id"), pair.text("match_id"), pair)
		offer(pair.text("match_id"), pair.text("doc_id"), pair)
	}
	each(best, r.matches, func(doc string, want, got row) {
		if want.verdict() != got.verdict() || fmt.Sprint(want["match_id"]) != fmt.Sprint(got["match_id"]) {
			t.Errorf("the best match of %s is %v, want %v", doc, got, want)
		}
	})
}
