package cli

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A page's blocks say what becomes of them here: `sh` is run, by bash, in the
// order of the page and in one folder; `text` behind it is what the block
// prints, or some lines of it. `sh cluster` and `sh hbase` start servers that
// take minutes, `sh bench` measures, `sh corpora` reads the files of
// NEARDUP_SHARED: these are run where NEARDUP_PAGES names them, with commas
// between. `sh redis` is run where redis-server is installed. Everything else is
// only read.
const (
	blockRun   = "sh"
	blockShown = "text"
)

// buildLine is how a page builds the program. It is not typed here, where it would
// compile every package again for another folder: .ci/run does, with empty caches, as
// the README's first command.
const buildLine = "go build -o bin/neardup ./job/neardup\n"

// topLevel is what the project has at its top.
var topLevel = []string{"LICENSE", "README.md", "data", "go.mod", "go.sum", "job", "mapper", "reducer", "scripts", "simhash"}

// pagesThatRun are the pages below job/docs whose every command a test runs.
// Each has a Chinese page of the same headings and commands in job/docs/zh.
var pagesThatRun = []string{"sources.md", "applications.md", "figures.md", "tutorial.md", "cookbook.md", "faq.md", "settings.md", "library.md", "exit-codes.md"}

// pagesInChinese have such a page too, and their commands are run elsewhere or
// are of a reader's own machine.
var pagesInChinese = []string{"glossary.md", "tables.md", "questions.md"}

// block is fenced text of a page: what stands behind the fence, its text, and
// its line.
type block struct {
	info, text string
	line       int
}

var (
	fenced  = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	headed  = regexp.MustCompile(`(?m)^(#+) `)
	numbers = regexp.MustCompile(`\d[\d.,]*( ?(ms|µs|ns|s|B|[KMG]iB)\b)`)
	blanks  = regexp.MustCompile(`[ \t]+`)
)

func blocksOf(text string) (all []block) {
	for _, at := range fenced.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, block{text[at[2]:at[3]], text[at[4]:at[5]], 1 + strings.Count(text[:at[0]], "\n")})
	}
	return all
}

// shapeOf is the levels of a page's headings, in order.
func shapeOf(text string) string {
	var b strings.Builder
	for _, m := range headed.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		b.WriteString(m[1] + " ")
	}
	return b.String()
}

func pageOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A page says the same in both languages: its headings are of the same levels,
// its tables have rows for the same columns of ours, and its blocks are the same,
// but for comments in the words of the language.
func TestPagesInTwoLanguages(t *testing.T) {
	comment := regexp.MustCompile(`(?m)(^| +)#[^\n]*$|^--[^\n]*$`)
	column := regexp.MustCompile("(?m)^\\| (`[^`]+`) \\|")
	for _, name := range slices.Concat(pagesThatRun, pagesInChinese) {
		english, chinese := pageOf(t, name), pageOf(t, filepath.Join("zh", name))
		if a, b := shapeOf(english), shapeOf(chinese); a != b {
			t.Errorf("%s has the headings %s, in Chinese %s", name, a, b)
		}
		if a, b := column.FindAllString(english, -1), column.FindAllString(chinese, -1); !slices.Equal(a, b) {
			t.Errorf("the tables of %s have the rows %q, in Chinese %q: translate what is new", name, a, b)
		}
		a, b := blocksOf(english), blocksOf(chinese)
		if len(a) != len(b) {
			t.Errorf("%s has %d blocks, in Chinese %d", name, len(a), len(b))
			continue
		}
		for i := range a {
			if a[i].info != b[i].info || comment.ReplaceAllString(a[i].text, "") != comment.ReplaceAllString(b[i].text, "") {
				t.Errorf("line %d of %s and line %d of it in Chinese differ:\n%s\n%s", a[i].line, name, b[i].line, a[i].text, b[i].text)
			}
		}
		if strings.Contains(chinese, "海明") {
			t.Errorf("zh/%s: the term is 汉明距离", name)
		}
	}
}

// The commands of the pages work as they stand there, in a folder like a copy
// of the repository, and print what the pages show.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documentation")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the pages are written for bash")
	}
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("neardup")
	if err != nil {
		t.Fatal(err)
	}
	corpora, err := filepath.Glob(filepath.Join(os.Getenv("NEARDUP_SHARED"), "data", "*", "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pagesThatRun {
		t.Run(strings.TrimSuffix(name, ".md"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range topLevel { // and not the runs that the README's reader made there
				if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(program, filepath.Join(dir, "bin", "neardup")); err != nil {
				t.Fatal(err)
			}
			for _, path := range corpora {
				if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
					t.Fatal(err)
				}
			}
			runPage(t, name, dir)
		})
	}
}

func runPage(t *testing.T, name, dir string) {
	t.Helper()
	plain := func(text string) string {
		return strings.TrimSpace(blanks.ReplaceAllString(numbers.ReplaceAllString(text, "·$1"), " "))
	}
	var said map[string]bool
	for _, b := range blocksOf(pageOf(t, name)) {
		runs := b.info == blockRun
		if need, ok := strings.CutPrefix(b.info, blockRun+" "); ok {
			_, err := exec.LookPath(need + "-server")
			runs = err == nil || slices.Contains(strings.Split(os.Getenv("NEARDUP_PAGES"), ","), need)
			if !runs {
				t.Logf("line %d of %s is not run: it needs %s", b.line, name, need)
			}
		}
		switch {
		case runs:
			cmd := exec.Command("bash", "-eu", "-o", "pipefail", "-c", strings.ReplaceAll(b.text, buildLine, ""))
			cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Repeat("y", 1000)) // who is asked, agrees
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Fatalf("line %d of %s: %v\n%s%s", b.line, name, err, b.text, &out)
			}
			said = map[string]bool{}
			for line := range strings.Lines(out.String()) {
				said[plain(line)] = true
			}
		case b.info == blockShown && said != nil:
			for line := range strings.Lines(b.text) {
				if line = plain(line); line != "" && !prints(said, line) {
					t.Errorf("line %d of %s shows what is not printed: %s", b.line, name, line)
				}
			}
		}
		if !runs {
			said = nil
		}
	}
}

// prints says whether a line like that was printed; … in it stands for anything.
func prints(said map[string]bool, line string) bool {
	if said[line] {
		return true
	}
	parts := strings.Split(line, "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(p))
	}
	like := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
	return len(parts) > 1 && slices.ContainsFunc(slices.Collect(maps.Keys(said)), like.MatchString)
}

// The page of the sources has their twenty-five points, each with a command.
func TestSourcesPage(t *testing.T) {
	points := strings.Split(pageOf(t, "sources.md"), "\n## ")[1:]
	if len(points) != 25 {
		t.Errorf("%d points, want 25", len(points))
	}
	for i, p := range points {
		if !strings.HasPrefix(p, strconv.Itoa(i+1)+". ") || !strings.Contains(p, "\n```"+blockRun) {
			t.Errorf("point %d has another number or no command: %.40q", i+1, p)
		}
	}
}
