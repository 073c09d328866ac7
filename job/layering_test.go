package job_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/neardup/neardup/"

// What tasks, joins and stages are made of.
var parts = []string{
	"job/internal/corpus", "job/internal/method", "job/internal/input", "job/internal/parallel", "job/internal/pipeline", "job/internal/counting", "job/internal/history", "job/internal/state/…",
	"job/internal/config", "job/internal/rundir", "job/internal/machine", "job/internal/version", "mapper", "reducer", "data/…", "simhash/…",
}

// layers says which of our packages each folder may depend on, directly or
// not: a name is a package, one with /… a package and all below it.
var layers = []struct {
	folder string
	may    []string
}{
	{"simhash", []string{"simhash/…"}},
	{"data", []string{"data/…"}},
	{"mapper", []string{"mapper", "data", "simhash/…"}},
	{"reducer", []string{"reducer", "data", "simhash/…"}},
	{"job/internal/parallel", []string{"job/internal/parallel"}},
	{"job/internal/config", []string{"job/internal/config", "job/internal/machine", "data", "data/charset", "simhash/…"}},
	{"job/internal/rundir", []string{"job/internal/rundir", "job/internal/state", "data", "data/lock"}},
	{"job/internal/state", []string{"job/internal/state/…", "job/internal/parallel", "mapper", "data", "simhash/…"}},
	{"job/internal/history", []string{"job/internal/history", "job/internal/state", "data"}},
	{"job/internal/counting", []string{"job/internal/counting", "mapper", "data", "simhash/…"}},
	{"job/internal/shuffle", []string{"job/internal/shuffle", "job/internal/parallel", "job/internal/rundir", "job/internal/state", "job/internal/state/subset", "mapper", "reducer", "data", "data/lock", "simhash/…"}},
	{"job/internal/corpus", parts},
	{"job/internal/engine", append(parts, "job/internal/engine/…", "job/internal/shuffle")},
	{"job/internal/summary", append(parts, "job/internal/summary", "job/internal/message", "job/internal/show", "job/internal/engine")},
	{"job/internal/stage", append(parts, "job/internal/stage/…", "job/internal/summary", "job/internal/message", "job/internal/show", "job/internal/engine", "job/internal/shuffle")},
	{"job/internal/lookup", append(parts, "job/internal/lookup", "job/internal/message", "job/internal/show", "job/internal/engine")},
	{"job/internal/engine/gleam/internal/wire", []string{"job/internal/engine/gleam/internal/wire"}},
}

// onlyIn says which folders may import a package that is not ours.
var onlyIn = map[string][]string{
	"github.com/chrislusf/gleam":          {"job/internal/engine/gleam/internal/cluster"},
	"google.golang.org/grpc":              {"job/internal/engine/gleam/internal/cluster"},
	"github.com/minio/minio-go":           {"data/object"},
	"github.com/spf13/cobra":              {"job/internal/cli", "job/internal/manual"},
	"github.com/spf13/pflag":              {"job/internal/cli"},
	"github.com/apache/arrow/go/v15":      {"data/parquet", "data/arrow", "data/clean"},
	"github.com/pierrec/lz4":              {"data/parquet"},
	"github.com/yanyiwu/gojieba":          {"simhash/gojieba", "simhash/jieba"},
	"github.com/nlnwa/gowarc":             {"data/warc"},
	"github.com/prometheus/client_golang": {"job/internal/lookup", "job/internal/monitor"},
	"github.com/redis/rueidis":            {"data/lookup/redis"},
}

type listed struct {
	ImportPath string
	Name       string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

// packages lists our packages, without their tests.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,GoFiles,Imports,Deps", module+"...")
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("only %d packages listed", len(all))
	}
	return all
}

// forGo are the packages that no program of ours needs: Go programs import them.
var forGo = []string{"job/dedup", "data/sample"}

// What helps tests of several packages is a package whose name ends in test, and
// is compiled into tests alone. All other code is in a program, or for Go
// programs to import.
func TestProductCode(t *testing.T) {
	all := packages(t)
	needed := map[string]bool{}
	for _, p := range all {
		if p.Name == "main" || slices.Contains(forGo, strings.TrimPrefix(p.ImportPath, module)) {
			needed[p.ImportPath] = true
			for _, dep := range p.Deps {
				needed[dep] = true
			}
		}
	}
	for _, p := range all {
		name := strings.TrimPrefix(p.ImportPath, module)
		helper := strings.HasSuffix(p.Name, "test")
		switch {
		case helper && needed[p.ImportPath]:
			t.Errorf("%s is for tests, and is compiled into a program", name)
		case !helper && slices.Contains(p.Imports, "testing"):
			t.Errorf("%s imports testing: if it is for tests, its name ends in test", name)
		case !helper && !needed[p.ImportPath] && len(p.GoFiles) > 0:
			t.Errorf("no program needs %s: if it is for tests, its name ends in test", name)
		}
	}
}

func TestLayers(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, layer := range layers {
			if !below(name, layer.folder) || strings.Contains(name, "/generate") {
				continue
			}
			for _, dep := range p.Deps {
				ours, ok := strings.CutPrefix(dep, module)
				if ok && !slices.ContainsFunc(layer.may, func(may string) bool { return allowed(ours, may) }) {
					t.Errorf("%s depends on %s; %s may depend on %v", name, ours, layer.folder, layer.may)
				}
			}
		}
		for _, imported := range p.Imports {
			for outside, folders := range onlyIn {
				if below(imported, outside) && !slices.ContainsFunc(folders, func(f string) bool { return below(name, f) }) {
					t.Errorf("%s imports %s, which only %v may", name, imported, folders)
				}
			}
			if imported == module+"data/parquet" && (below(name, "mapper") || below(name, "reducer")) {
				t.Errorf("%s imports a file format", name)
			}
			if strings.HasSuffix(imported, "/pqarrow") {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
}

// below reports whether package p is folder or stands in it.
func below(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

func allowed(p, may string) bool {
	if all, ok := strings.CutSuffix(may, "/…"); ok {
		return below(p, all)
	}
	return p == may
}
