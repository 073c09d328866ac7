package job_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/parquet"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/rundir"
)

// What runs write of real input is what was frozen in testdata/frozen.txt: the rows
// of every table, the clean dump, a second night. Who changes results on purpose
// writes the file again with -update, and says so in the changelog. The same comes
// by way of the disk; that a cluster writes the same is package gleam's tests'.
func TestFrozen(t *testing.T) {
	if testing.Short() {
		t.Skip("ten sets in three presets: the long tests run them")
	}
	shared := sharedData(t)
	const file = "testdata/frozen.txt"
	var got strings.Builder
	for _, set := range []struct {
		name, path, text string
		lines            int // of the file; 0: all that it has
	}{
		{"blogs", "zh/blogs.jsonl.gz", "", 800},
		{"laws", "zh/laws.jsonl.gz", "", 500},
		{"lctt", "zh/lctt_pairs.jsonl.gz", "published", 500},
		{"titles", "zh/weibo_titles.jsonl.gz", "", 10_000},
		{"questions", "zh/zhihu-dev.jsonl.gz", "", 6000},
		{"news", "zh/hk-dev.jsonl.gz", "", 1500},
		{"reuters", "en/reuters21578.jsonl.gz", "", 4000},
		{"licences", "en/licences-dev.jsonl.gz", "", 0},
		{"archive", "warc/ipwb-sample-1.warc.gz", "", 0},
		{"crawl", "warc/dolma-sample-0001.warc.gz", "", 0},
	} {
		input := filepath.Join(shared, "data", set.path)
		if set.lines > 0 {
			input = head(t, input, set.lines)
		}
		for _, preset := range []string{config.PresetClassic, config.PresetBalanced, config.PresetThorough} {
			cfg, err := config.Default().WithPreset(preset)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Input.Text = set.text
			name, dir := set.name+" "+preset, t.TempDir()
			freeze := func(what, out string, cfg config.Config) string {
				runJob(t, 2, job.Request{Command: job.CommandRun, Inputs: []string{input}, Out: filepath.Join(dir, out), Config: cfg})
				return frozen(t, what, filepath.Join(dir, out), filepath.Dir(input))
			}
			memory := freeze(name, "memory", cfg)
			got.WriteString(memory)
			if set.name != "questions" && set.name != "licences" {
				continue
			}
			disk := cfg
			disk.Execution.Memory = "64MiB"
			if disk := freeze(name, "disk", disk); disk != memory {
				t.Errorf("%s: by way of the disk it is\n%s, in memory\n%s", name, disk, memory)
			}
			cfg.Library.Path = filepath.Join(dir, "library")
			for _, night := range []string{"2026-11-01", "2026-11-02"} {
				cfg.Library.Night = night
				got.WriteString(freeze(name+" "+night, night, cfg))
			}
		}
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for line := range strings.Lines(string(want)) {
		name, digest, _ := strings.Cut(line, ": ")
		of[name] = digest
	}
	for line := range strings.Lines(got.String()) {
		if name, digest, _ := strings.Cut(line, ": "); of[name] != digest {
			t.Errorf("%s is %swas frozen as %s", name, digest, of[name])
		}
	}
	if len(of) != strings.Count(got.String(), "\n") {
		t.Errorf("%d digests are frozen, there are %d", len(of), strings.Count(got.String(), "\n"))
	}
}

// head writes the first lines of a compressed file to one of its own.
func head(t *testing.T, path string, lines int) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var first []string
	in := bufio.NewScanner(z)
	in.Buffer(nil, 16<<20)
	for len(first) < lines && in.Scan() {
		first = append(first, in.Text())
	}
	if in.Err() != nil || len(first) < lines {
		t.Fatalf("%s: %d lines: %v", path, len(first), in.Err())
	}
	return jsonl(t, filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(path), ".gz")), first...)
}

// frozen is a line for each table of a run over files in folder in: how many rows it
// has, and a digest of them.
func frozen(t *testing.T, name, run, in string) string {
	t.Helper()
	return table(t, name, run, in, rundir.Fingerprints, &data.Fingerprints) +
		table(t, name, run, in, rundir.Matches, &data.Matches) +
		table(t, name, run, in, rundir.Clusters, &data.Clusters) +
		table(t, name, run, in, rundir.Removed, &data.Removed) +
		files(t, name, run, rundir.Clean)
}

func table[R any](t *testing.T, name, run, in, folder string, of *data.Table[R]) string {
	t.Helper()
	sum, rows := sha256.New(), 0
	parts, err := rundir.Parts(run, folder)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer(in, "", " Signature:[]", "") // no column, and no reason for another digest
	for _, part := range parts {
		err := parquet.ReadTable(context.Background(), part, of, func(row *R) error {
			rows++
			_, err := other.WriteString(sum, fmt.Sprintf("%+v\n", *row))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%s %s: %d %s\n", name, folder, rows, hex.EncodeToString(sum.Sum(nil)[:8]))
}

func files(t *testing.T, name, run, folder string) string {
	t.Helper()
	parts, err := rundir.Parts(run, folder)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, part := range parts {
		text, err := os.ReadFile(part)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	return fmt.Sprintf("%s %s: %d %s\n", name, folder, len(parts), hex.EncodeToString(sum.Sum(nil)[:8]))
}
