//go:build linux

package gleam

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/nightstest"
	"github.com/neardup/neardup/job/internal/rundir"
)

// Nights with a library come three times: undisturbed; on this machine with drawn
// faults; and so on a cluster of three agents. The faults are of all kinds that
// there are: damaged and cut input, kills, a full disk, a library that others hold,
// files of a half-finished run that have changed, manifests that were set back, lost
// or cut, damaged files of the library, and what happens to an agent. Each is told.
// After the remedy that is told, the same commands end with the bytes and the library
// of the undisturbed nights.
//
// NEARDUP_NIGHTS says how many nights, NEARDUP_NIGHTS_SEED draws the faults of
// another time again.
func TestDisturbedNights(t *testing.T) {
	count, err := strconv.Atoi(os.Getenv("NEARDUP_NIGHTS"))
	if err != nil {
		t.Skip("NEARDUP_NIGHTS is not set: how many nights, 50 take a quarter of an hour")
	}
	onlyRoot(t)
	seed, err := strconv.ParseUint(os.Getenv("NEARDUP_NIGHTS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	d := &disturbed{nightly: nightlyOpen(t), dir: t.TempDir(), faults: map[string]int{}, manifests: map[string][][]byte{}}
	for i, night := range nightstest.Crawl(t, d.dir, count, 60) {
		d.input(night)
		upkeep := rand.New(rand.NewPCG(seed, uint64(i))).IntN(8)
		for j, line := range []string{"calm", "local", "gleam"} {
			began, before := time.Now(), len(d.struck)
			d.r = rand.New(rand.NewPCG(seed, uint64(1000*(j+1)+i)))
			_ = os.Rename(d.library()+"-"+line, d.library()) // there is none in the first night
			d.night(line, night)
			d.manifests[line] = append(d.manifests[line], d.manifest())
			switch upkeep {
			case 0:
				d.command("library", "delete", d.library(), "--prefix", fmt.Sprintf("http://site%d.example/%d/", i%4, i))
			case 1:
				d.command("library", "compact", d.library())
			}
			d.command("verify", d.library())
			d.command("verify", d.out(line, night))
			rename(t, d.library(), d.library()+"-"+line)
			t.Logf("night %s %s: %v; %s", night, line, time.Since(began).Round(time.Second/10), strings.Join(d.struck[before:], "; "))
			if line == "calm" {
				continue
			}
			for _, folder := range []string{rundir.Fingerprints, rundir.Matches, rundir.Clusters, rundir.Removed, rundir.Clean} {
				sameTree(t, filepath.Join(d.out("calm", night), folder), filepath.Join(d.out(line, night), folder))
			}
			if got, want := libraryRows(t, d.library()+"-"+line), libraryRows(t, d.library()+"-calm"); !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("night %s %s: the library has %d documents, %d undisturbed", night, line, len(got), len(want))
			}
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d faults: %v", len(d.struck), d.faults)
	if len(d.faults) < 15 && count >= 50 {
		t.Errorf("only %d kinds of faults", len(d.faults))
	}
}

type disturbed struct {
	*nightly
	dir       string
	r         *rand.Rand
	faults    map[string]int // that came in time, by kind
	struck    []string
	manifests map[string][][]byte // of each line's library, after each night
	said      string              // by the last run
	took      time.Duration       // the last undisturbed night
}

func (d *disturbed) out(line, night string) string { return filepath.Join(d.dir, line+"-"+night) }
func (d *disturbed) library() string               { return filepath.Join(d.dir, "library") }

func (d *disturbed) manifest() []byte {
	text, err := os.ReadFile(filepath.Join(d.library(), library.ManifestFile))
	if err != nil {
		d.Fatal(err)
	}
	return text
}

// input makes files of a night's lines: gzip of many members, zstandard of many
// frames, and a WARC file.
func (d *disturbed) input(night string) {
	text, err := os.ReadFile(filepath.Join(d.dir, night+".jsonl"))
	if err != nil {
		d.Fatal(err)
	}
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		d.Fatal(err)
	}
	files := [3][]byte{}
	for i, line := range slices.Collect(bytes.Lines(text)) {
		switch i % 3 {
		case 0:
			files[0] = append(files[0], member(d.T, line)...)
		case 1:
			files[1] = packer.EncodeAll(line, files[1])
		case 2:
			var doc struct{ ID, Text string }
			if err := json.Unmarshal(line, &doc); err != nil {
				d.Fatal(err)
			}
			files[2] = append(files[2], member(d.T, fmt.Appendf(nil, "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Target-URI: %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", doc.ID, len(doc.Text), doc.Text))...)
		}
	}
	folder := filepath.Join(d.dir, "in-"+night)
	if err := os.Mkdir(folder, 0o700); err != nil {
		d.Fatal(err)
	}
	for i, name := range []string{"a.jsonl.gz", "b.jsonl.zst", "c.warc.gz"} {
		d.write(filepath.Join(folder, name), files[i])
	}
}

func member(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (d *disturbed) write(path string, text []byte) {
	if err := os.WriteFile(path, text, 0o600); err != nil {
		d.Fatal(err)
	}
}

// strike notes a fault.
func (d *disturbed) strike(kind, more string) {
	d.faults[kind]++
	d.struck = append(d.struck, strings.TrimSpace(kind+" "+more))
}

// command runs a command that must end well.
func (d *disturbed) command(args ...string) {
	d.Helper()
	if text, err := d.nightly.run(args...).CombinedOutput(); err != nil {
		d.Fatalf("%q: %v: %s", args, err, text)
	}
}

// refused has a command fail, and say these words.
func (d *disturbed) refused(words string, args ...string) {
	d.Helper()
	if text, err := d.nightly.run(args...).CombinedOutput(); err == nil || !strings.Contains(string(text), words) {
		d.Errorf("%q: %v, and does not say %q: %s", args, err, words, text)
	}
}

// night has a night come to its end.
func (d *disturbed) night(line, night string) {
	d.Helper()
	out := d.out(line, night)
	if line == "calm" {
		began := time.Now()
		defer func() { d.took = time.Since(began) }()
		if code := d.run(line, night, nil); code != 0 {
			d.Fatalf("night %s %s: exit code %d: %s", night, line, code, d.said)
		}
		return
	}
	nights := len(d.manifests[line])
	if nights > 1 && d.r.IntN(2) == 0 {
		d.disturbLibrary(line, nights)
	}
	mount := d.r.IntN(3) == 0
	if mount { // with room for a part of the run
		if err := os.Mkdir(out, 0o700); err != nil {
			d.Fatal(err)
		}
		size := 64 + d.r.IntN(400)
		d.shell(fmt.Sprintf("mount -t tmpfs -o size=%dk none %s", size, out))
		defer func() { // its bytes are compared for some nights more
			d.shell(fmt.Sprintf("cp -a %[1]s %[1]s.copy && umount %[1]s && rmdir %[1]s && mv %[1]s.copy %[1]s", out))
		}()
		if d.run(line, night, nil) != 0 {
			d.strike("a full disk", fmt.Sprintf("of %d KiB", size))
			if !strings.Contains(d.said, "no space left") {
				d.Errorf("night %s %s: a full disk is not told: %s", night, line, d.said)
			}
		}
		d.shell("mount -o remount,size=256m " + out)
	}
	if d.r.IntN(2) == 0 {
		d.disturbInput(line, night)
	}
	for range d.r.IntN(4) {
		d.kill(line, night)
	}
	if d.r.IntN(3) == 0 {
		d.hold(line, night)
	}
	for try := 0; ; try++ {
		var agent func() func()
		if try == 0 && line == "gleam" && d.r.IntN(2) == 0 {
			agent = d.agent()
		}
		code := d.run(line, night, agent)
		if code == 0 {
			break
		}
		if try > 3 || !d.remedy(line, night, code) {
			d.Fatalf("night %s %s: exit code %d after %q: %s", night, line, code, d.struck, d.said)
		}
	}
	if line == "gleam" {
		d.well(out)
	}
}

func (d *disturbed) shell(line string) {
	d.Helper()
	if text, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
		d.Fatalf("%s: %v: %s", line, err, text)
	}
}

// start starts a night; what it says stands in a file.
func (d *disturbed) start(line, night string) (cmd *exec.Cmd, log string) {
	d.Helper()
	args := []string{"run", filepath.Join(d.dir, "in-"+night), "--out", d.out(line, night), "--library", d.library(), "--night", night, "--max-bad", "0"}
	if line == "gleam" {
		args = append(args, "--engine", "gleam", "--master", d.master, "--set", "execution.stall=10s")
	}
	cmd, log = d.nightly.run(args...), filepath.Join(d.dir, "said")
	f, err := os.Create(log)
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close() // the process has it
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		d.Fatal(err)
	}
	return cmd, log
}

// run runs a night, with something that happens to an agent meanwhile, and returns
// its exit code.
func (d *disturbed) run(line, night string, agent func() (mend func())) int {
	d.Helper()
	cmd, log := d.start(line, night)
	ended, struck := make(chan struct{}), make(chan func(), 1)
	if agent != nil {
		scratch := filepath.Join(d.out(line, night), attempt.Scratch)
		delay := time.Duration(d.r.IntN(1500)) * time.Millisecond
		go func() {
			for {
				select {
				case <-ended:
					struck <- nil
					return
				case <-time.After(5 * time.Millisecond):
				}
				if begun, _ := filepath.Glob(scratch); len(begun) > 0 { // the pattern is a good one
					time.Sleep(delay)
					struck <- agent()
					return
				}
			}
		}()
	}
	_ = cmd.Wait() // its code tells
	close(ended)
	if agent != nil {
		if mend := <-struck; mend != nil {
			mend()
		}
	}
	return d.code(cmd, log)
}

func (d *disturbed) code(cmd *exec.Cmd, log string) int {
	text, err := os.ReadFile(log)
	if err != nil {
		d.Fatal(err)
	}
	d.said = string(text)
	return cmd.ProcessState.ExitCode()
}

// remedy does what the end of a night asks for, and reports whether it asks.
func (d *disturbed) remedy(line, night string, code int) bool {
	out := d.out(line, night)
	switch {
	case strings.Contains(d.said, "library repair"):
		d.command("library", "repair", d.library())
	case code == 10, strings.Contains(d.said, out+"/"): // a run with other input, or with a file that is not what was written
		d.shell("find " + out + " -mindepth 1 -delete")
	default:
		return false
	}
	return true
}

// disturbLibrary changes a file of the library between two nights. Verification
// tells, the next night is refused where it reads the file, and what they name
// mends it.
func (d *disturbed) disturbLibrary(line string, nights int) {
	manifest := filepath.Join(d.library(), library.ManifestFile)
	var runs []string
	for _, out := range []string{"documents", "merges"} {
		files, _ := filepath.Glob(filepath.Join(d.library(), out, "*", "*.parquet")) // the pattern is a good one
		runs = append(runs, files...)
	}
	slices.Sort(runs)
	kind := []string{"a manifest put back", "a manifest lost", "a manifest cut", "a manifest with another bit", "a file of the library with another bit", "a file of the library cut"}[d.r.IntN(6)]
	text, path := d.manifest(), manifest
	switch kind {
	case "a manifest put back":
		if text = d.manifests[line][d.r.IntN(nights-1)]; bytes.Equal(text, d.manifest()) {
			return
		}
	case "a manifest lost":
		text = nil
	case "a manifest cut":
		text = text[:d.r.IntN(len(text))]
	case "a manifest with another bit":
		text[d.r.IntN(len(text))] ^= 1 << d.r.IntN(8)
	default:
		path = runs[d.r.IntN(len(runs))]
		var err error
		if text, err = os.ReadFile(path); err != nil {
			d.Fatal(err)
		}
		if at := d.r.IntN(len(text)); strings.HasSuffix(kind, "cut") {
			text = text[:at]
		} else {
			text[at] ^= 1 << d.r.IntN(8)
		}
	}
	d.strike(kind, filepath.Base(path))
	if err := os.Remove(path); err != nil {
		d.Fatal(err)
	}
	if text != nil {
		d.write(path, text)
	}
	d.refused("repair", "verify", d.library())
	repair := []string{"library", "repair", d.library()}
	if path != manifest {
		outs, _ := filepath.Glob(d.out(line, "2*")) // the pattern is a good one
		repair = append(repair, outs...)
	}
	d.command(repair...)
}

// disturbInput damages a file of the input, for one run, which must not take what is
// not right: it names the file, or the damage changed no text.
func (d *disturbed) disturbInput(line, night string) {
	files, _ := filepath.Glob(filepath.Join(d.dir, "in-"+night, "*")) // the pattern is a good one
	path := files[d.r.IntN(len(files))]
	whole, err := os.ReadFile(path)
	if err != nil {
		d.Fatal(err)
	}
	text := bytes.Clone(whole)
	kind, at := []string{"input with another bit", "input with zeros", "input cut", "input emptied"}[d.r.IntN(4)], d.r.IntN(len(text))
	switch kind {
	case "input with another bit":
		text[at] ^= 1 << d.r.IntN(8)
	case "input with zeros":
		clear(text[at:min(at+512, len(text))])
	case "input cut":
		text = text[:at]
	case "input emptied":
		text = nil
	}
	d.write(path, text)
	d.strike(kind, filepath.Base(path))
	if d.run(line, night, nil) != 0 && !strings.Contains(d.said, filepath.Base(path)) && !strings.Contains(d.said, "run directory") {
		d.Errorf("night %s %s: %s of %s is not told: %s", night, line, kind, path, d.said)
	}
	d.write(path, whole)
}

// kill kills a night at any time, and may then change a file of what it left.
func (d *disturbed) kill(line, night string) {
	cmd, log := d.start(line, night)
	whole := d.took
	if line == "gleam" {
		whole *= 6
	}
	timer := time.AfterFunc(time.Duration(d.r.Int64N(int64(whole))), func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // its code tells
	timer.Stop()
	code := d.code(cmd, log)
	if code != -1 {
		return
	}
	d.strike("a kill", "")
	if d.r.IntN(2) == 0 {
		return
	}
	out := d.out(line, night)
	var files []string
	_ = filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error { // what is there, but for the program, which may be one with ours, and what else no run reads again
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(path, filepath.Join(out, rundir.Logs)) && !strings.Contains(path, "/.") && !strings.HasPrefix(path, filepath.Join(out, rundir.Scratch)) {
			files = append(files, path)
		}
		return nil
	})
	if len(files) == 0 {
		return
	}
	path := files[d.r.IntN(len(files))]
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return
	}
	text[d.r.IntN(len(text))] ^= 1 << d.r.IntN(8)
	d.strike("a changed file of a half-finished run", strings.TrimPrefix(path, out+"/"))
	d.write(path, text)
}

// hold holds the library for a while, for whom a night waits, and says so.
func (d *disturbed) hold(line, night string) {
	held, err := library.Lock(d.Context(), d.library(), library.Options{})
	if err != nil {
		d.Fatal(err)
	}
	cmd, log := d.start(line, night)
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	for waits := true; waits; {
		select {
		case <-ended:
			waits = false
		case <-time.After(50 * time.Millisecond):
			text, err := os.ReadFile(log)
			if waits = err != nil || !bytes.Contains(text, []byte("another neardup has the library")); !waits {
				d.strike("a library that is held", "")
				if !bytes.Contains(text, []byte("since ")) {
					d.Errorf("night %s %s: who holds it is not told: %s", night, line, text)
				}
			}
		}
	}
	if err := held.Close(); err != nil {
		d.Error(err)
	}
	<-ended
	if code := d.code(cmd, log); code != 0 && !d.remedy(line, night, code) {
		d.Errorf("night %s %s: exit code %d after waiting: %s", night, line, code, d.said)
	}
}

// agent draws what happens to an agent.
func (d *disturbed) agent() func() (mend func()) {
	f, agent := nightFaults[d.r.IntN(len(nightFaults))], 1+d.r.IntN(2)
	return func() func() {
		mend := f.strike(d.nightly, agent)
		if mend != nil {
			d.strike("an agent "+f.name, "")
		}
		return mend
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
