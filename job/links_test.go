package job_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// filesOf reads the repository's files with one of those extensions, by their
// paths from here.
func filesOf(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	const top = ".."
	all := map[string]string{}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path != top && strings.HasPrefix(e.Name(), ".") {
			return filepath.SkipDir
		}
		if err != nil || !slices.Contains(extensions, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// Links between pages lead to files and headings that there are.
func TestLinks(t *testing.T) {
	all := filesOf(t, ".md")
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			path := page
			if to != "" {
				path = filepath.Join(filepath.Dir(page), to)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !anchors(all[path])[anchor] {
				t.Errorf("%s links to %s: there is no such heading", page, m[1])
			}
		}
	}
}

// anchors are the names by which links find the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		names[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return names
}

// The index of the benchmarks names every page of them.
func TestBenchmarksIndex(t *testing.T) {
	const folder = "docs/benchmarks"
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for page := range filesOf(t, ".md") {
		name, err := filepath.Rel(filepath.Join("..", "job", folder), page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.IsLocal(name) && name != "README.md" && !strings.Contains(string(index), "]("+filepath.ToSlash(name)+")") {
			t.Errorf("job/%s/README.md does not name %s: give it a subject, and put what it replaces under history", folder, name)
		}
	}
}

// What code and scripts say of pages are paths of pages.
func TestPagesThatCodeNames(t *testing.T) {
	named := regexp.MustCompile(`job/docs/[\w./-]*\w`)
	for path, text := range filesOf(t, ".go", ".sh") {
		for _, name := range named.FindAllString(text, -1) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s names %s: %v", path, name, err)
			}
		}
	}
}

// A decision is a page that is read in two minutes, and the index names it.
func TestDecisions(t *testing.T) {
	const most = 400 // words
	all := filesOf(t, ".md")
	index := all[filepath.Join("..", "job", "docs", "decisions", "README.md")]
	decisions := 0
	for path, text := range all {
		if name := filepath.Base(path); filepath.Base(filepath.Dir(path)) == "decisions" && name != "README.md" {
			decisions++
			if n := len(strings.Fields(text)); n > most {
				t.Errorf("%s has %d words, at most %d are read", path, n, most)
			}
			if !strings.Contains(index, "]("+name+")") {
				t.Errorf("job/docs/decisions/README.md does not name %s", name)
			}
		}
	}
	if decisions == 0 {
		t.Error("there are no decisions")
	}
}

// A reference page is read in ten minutes and a paragraph at once: they have a
// most number of words. Tables and commands are looked at, not read, and count
// for the page alone.
func TestPagesAreShort(t *testing.T) {
	const mostOfPage, mostOfParagraph = 2500, 120
	fences := regexp.MustCompile("(?ms)^```.*?^```$")
	rows := regexp.MustCompile(`(?m)^(\||<!--).*$`)
	apart := regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*]|\d+\.) `)
	for page, text := range filesOf(t, ".md") {
		folder := filepath.Dir(page) + "/"
		switch filepath.ToSlash(folder) {
		case "../", "../job/docs/", "../job/docs/internals/":
		default:
			continue
		}
		text = fences.ReplaceAllString(text, "")
		if n := len(strings.Fields(text)); n > mostOfPage {
			t.Errorf("%s has %d words, at most %d are read: part it", page, n, mostOfPage)
		}
		for _, paragraph := range apart.Split(rows.ReplaceAllString(text, ""), -1) {
			if n := len(strings.Fields(paragraph)); n > mostOfParagraph {
				t.Errorf("%s: a paragraph has %d words, at most %d are read at once: %.60q", page, n, mostOfParagraph, strings.TrimSpace(paragraph))
			}
		}
	}
}
