package cli

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/neardup/neardup/data/sample"
	_ "github.com/neardup/neardup/job/gojieba" // as the program has it
)

// asProgram makes the test binary be neardup, for tests that need a process.
const asProgram = "NEARDUP_TEST_AS_PROGRAM"

func program() int { return Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program())
	}
	testscript.Main(waiting{m}, map[string]func(){"neardup": func() { os.Exit(program()) }})
}

// waiting are tests that wait for other processes most of the time: more of them run
// beside each other than there are cores, unless the command line says how many.
type waiting struct{ *testing.M }

func (w waiting) Run() int {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(strconv.Itoa(2 * runtime.GOMAXPROCS(0))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return w.M.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"arrow": writeArrow,
			// exits CODE COMMAND… fails unless the command exits with CODE.
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE COMMAND…")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				err = ts.Exec(args[1], args[2:]...)
				var exit *exec.ExitError
				got := 0
				if errors.As(err, &exit) {
					got = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if got != want {
					ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
				}
			},
		},
	})
}

// sized is how many documents a file of a dump has: in the short form, with which
// the race detector runs, a quarter.
func sized(documents int) int {
	if testing.Short() {
		return documents / 4
	}
	return documents
}

// dump writes a folder of JSONL files with near-duplicates between them.
func dump(t testing.TB, dir string, files, documents int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var pages []string
	for f := range files {
		var b bytes.Buffer
		for d := range documents {
			var words []string
			if len(pages) > 0 && rng.IntN(4) == 0 {
				words = strings.Fields(pages[rng.IntN(len(pages))])
				words[rng.IntN(len(words))] = "changed"
			} else {
				for range 40 + rng.IntN(200) {
					words = append(words, strconv.FormatUint(uint64(rng.Uint32()), 36))
				}
			}
			page := strings.Join(words, " ")
			pages = append(pages, page)
			fmt.Fprintf(&b, `{"id":"http://example.org/%d/%d","title":"page %d","text":"%s"}`+"\n", f, d, d, page)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jsonl", f)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// inProcess executes a command line in this process, and returns its exit code and
// what it says on stderr.
func inProcess(args ...string) (code int, stderr string) {
	var b strings.Builder
	code = Main(args, strings.NewReader(""), io.Discard, &b)
	return code, b.String()
}

// start starts a process, for what only one of its own shows.
func start(t testing.TB, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith is start with more in the environment.
func startWith(t testing.TB, env []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stderr
}

// results digests what a run is judged by: its tables, its clean dump and its
// quarantine.
func results(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	for _, folder := range []string{"fingerprints", "texts", "matches", "pairs", "clusters", "clean", "quarantine", "_SUCCESS"} {
		err := filepath.WalkDir(filepath.Join(out, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			rel, _ := filepath.Rel(out, path)
			fmt.Fprintf(&b, "%s %x\n", rel, sha256.Sum256(text))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return b.String()
}

// However often and whenever a run is killed, the same command ends with the
// bytes of an undisturbed run, and what was finished is not done again.
func TestKilledRunsResume(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes, to kill them")
	}
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 12, 400)
	archive, err := fs.ReadFile(sample.Files(), "crawl-00.warc.gz") // its texts are a table
	if err == nil {
		err = os.WriteFile(filepath.Join(in, "crawl.warc.gz"), archive, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := func(out string) []string {
		return []string{"run", in, "--out", filepath.Join(dir, out), "--pairs", "--workers", "1"}
	}
	began := time.Now()
	cmd, stderr := start(t, args("undisturbed")...)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	whole := time.Since(began)
	want := results(t, filepath.Join(dir, "undisturbed"))
	if !strings.Contains(want, "_SUCCESS") || !strings.Contains(want, "clean/part-00011.jsonl") || !strings.Contains(want, "texts/part-00012.parquet") {
		t.Fatalf("undisturbed run: %s", want)
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	const rounds = 3
	kills := 0
	for round := range rounds {
		out := fmt.Sprint("killed", round)
		finished := map[string]time.Time{} // task records
		for attempt := 0; ; attempt++ {
			if attempt > 200 {
				t.Fatal("the run does not get on")
			}
			cmd, stderr := start(t, args(out)...)
			if attempt == 0 { // for certain, once something is finished
				waitForRecord(filepath.Join(dir, out))
				_ = cmd.Process.Kill()
			}
			// At any time of a run; later and later, for a machine that slows down.
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(whole)*int64(10+attempt)/10)), func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			timer.Stop()
			records, globErr := filepath.Glob(filepath.Join(dir, out, "tasks", "*.json"))
			if globErr != nil {
				t.Fatal(globErr)
			}
			for _, r := range records {
				info, err := os.Stat(r)
				if err != nil {
					t.Fatal(err)
				}
				if was, ok := finished[r]; ok && !was.Equal(info.ModTime()) {
					t.Fatalf("%s was finished, and done again", r)
				}
				finished[r] = info.ModTime()
			}
			if err == nil {
				break
			}
			if cmd.ProcessState.ExitCode() >= 0 {
				t.Fatalf("exit code %d: %s", cmd.ProcessState.ExitCode(), stderr)
			}
			kills++
		}
		if got := results(t, filepath.Join(dir, out)); got != want {
			t.Fatalf("after kills:\n%s\nundisturbed:\n%s", got, want)
		}
	}
	t.Logf("%d kills", kills)
	if kills < rounds {
		t.Errorf("only %d kills: the test shows nothing", kills)
	}
}

// waitForRecord waits until a task of the run is done, some seconds at most.
func waitForRecord(out string) {
	for range 10_000 {
		if records, _ := filepath.Glob(filepath.Join(out, "tasks", "*.json")); len(records) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// A write that fails at any size of file ends with exit code 1 and a message,
// leaves nothing under a final name but complete files, and the same command
// succeeds once there is room.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process for each size of the disk")
	}
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 2, 2000)
	out := filepath.Join(dir, "out")
	args := []string{"run", in, "--out", out, "--pairs"}
	failures := 0
	// A limit on the size of files stands for a full disk: 512-byte blocks.
	for _, blocks := range []int{0, 8, 100, 400} {
		cmd := exec.Command("sh", append([]string{"-c", fmt.Sprintf("ulimit -f %d; exec \"$@\"", blocks), "sh", os.Args[0]}, args...)...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		text, err := cmd.CombinedOutput()
		if err == nil {
			continue
		}
		failures++
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(string(text), "file too large") {
			t.Fatalf("limit %d: exit code %d: %s", blocks, code, text)
		}
		if _, err := os.Stat(filepath.Join(out, "_SUCCESS")); err == nil {
			t.Fatalf("limit %d: a failed run is marked as done", blocks)
		}
	}
	if failures < 2 {
		t.Fatalf("%d failures: the test shows nothing", failures)
	}
	for _, args := range [][]string{args, {"run", in, "--out", filepath.Join(dir, "undisturbed"), "--pairs"}} {
		if code, stderr := inProcess(args...); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, stderr)
		}
	}
	if got, want := results(t, out), results(t, filepath.Join(dir, "undisturbed")); got != want {
		t.Fatalf("after failures:\n%s\nundisturbed:\n%s", got, want)
	}
	if err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "dump")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	dump(t, in, 20, 1000)
	cmd, stderr := start(t, "run", in, "--out", filepath.Join(dir, "out"), "--workers", "1")
	waitForRecord(filepath.Join(dir, "out"))
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("exit code %d, want %d: %s", cmd.ProcessState.ExitCode(), exitInterrupted, stderr)
	}
	if !strings.Contains(stderr.String(), "goes on from there") {
		t.Fatalf("stderr %q does not say how to go on", stderr)
	}
}

// Only a command that goes on from where it was is said to.
func TestInterrupted(t *testing.T) {
	for command, goesOn := range map[string]bool{"run x --out y": true, "match x --out y": true, "plan x": false, "lexicon x --out y": false, "templates x --out y": false, "library verify x": false} {
		args := strings.Fields(command)
		if got := interrupted(newRoot(streams{}), args).Error(); strings.Contains(got, "goes on") != goesOn {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func Example() {
	code := Main([]string{"run"}, os.Stdin, os.Stdout, os.Stdout)
	fmt.Println(code)
	// Output:
	// neardup: name an input: a file, a folder, a glob, or - for standard input; see neardup run --help
	// 2
}
