package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/eval"
	"github.com/neardup/neardup/job/internal/message"
)

var update = flag.Bool("update", false, "write what the documentation shows of the program")

// commands lists neardup and all its commands.
func commands() (all []*cobra.Command) {
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		all = append(all, c)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}))
	return all
}

// The lists of settings and of flags say what the program does.
func TestSettingsPage(t *testing.T) {
	checkList(t, "all-settings.md", settingsTable())
	checkList(t, "flags.md", flagTables())
}

// checkList compares what stands behind a page's mark with a list, or writes it.
func checkList(t *testing.T, page, list string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from = "<!-- from here on: go test ./job/internal/cli -run TestSettingsPage -update -->\n"
	prose, _, ok := bytes.Cut(text, []byte(from))
	if !ok {
		t.Fatalf("%s: no line %s", path, from)
	}
	want := string(prose) + from + list
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page of the documentation
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s says something else than the program; go test ./job/internal/cli -run TestSettingsPage -update makes it", path)
	}
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("\n| setting | default | flag | |\n|---|---|---|---|\n")
	c := config.Default()
	for _, s := range c.Settings() {
		row := "| `" + s.Name + "` | " + s.String() + " | "
		if s.Flag != "" {
			row += "`--" + s.Flag + "`"
		}
		if s.Short != "" {
			row += ", `-" + s.Short + "`"
		}
		fmt.Fprintf(&b, "%s | %s |\n", row, s.Usage())
	}
	return b.String()
}

func flagTables() string {
	var b strings.Builder
	b.WriteString("\n| command | flag | default | |\n|---|---|---|---|\n")
	for _, c := range commands() {
		settings := ""
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := f.Value.(settingFlag); ok {
				settings += "`--" + f.Name + "` "
				return
			}
			name := "`--" + f.Name + "`"
			if f.Shorthand != "" {
				name += ", `-" + f.Shorthand + "`"
			}
			usual := strings.Trim(f.DefValue, "[]")
			if usual == "false" {
				usual = ""
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.CommandPath(), name, usual, f.Usage)
		})
		if settings != "" {
			fmt.Fprintf(&b, "| %s | %s| | settings |\n", c.CommandPath(), settings)
		}
	}
	return b.String()
}

// A help text fits 80 columns, has no group twice, and ends with an example
// and the exit codes.
func TestHelp(t *testing.T) {
	for _, c := range commands() {
		name, text := c.CommandPath(), help(c, message.English)
		if strings.Contains(name, "completion") {
			continue // not ours
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
		if !strings.HasSuffix(text, exitCodesText) || c.Example == "" || !strings.Contains(text, "\nExample:\n"+c.Example) {
			t.Errorf("%s: the help does not end with an example and the exit codes:\n%s", name, text)
		}
		flags := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags++ })
		headings := regexp.MustCompile(`(?m)^\w[\w-]*:$`).FindAllString(text, -1)
		if slices.Sort(headings); len(slices.Compact(slices.Clone(headings))) != len(headings) || slices.Contains(headings, "Flags:") && flags > fewFlags {
			t.Errorf("%s: %d flags under %q", name, flags, headings)
		}
	}
	run := newRun(streams{})
	if n := strings.Count(help(run, message.English), "\n"); n > 53 {
		t.Errorf("the help of run has %d lines", n)
	}
}

// exampleOf is what of a help text is the same in all languages: command lines.
var exampleOf = regexp.MustCompile(`(?m)^用法：.*$|^ +(neardup|curl|zcat|-H) .*$`)

// All of the help has a Chinese form, and so has what settings are for; every such
// form is of something.
func TestHelpInChinese(t *testing.T) {
	forms := map[string]bool{"Flags": false}
	for _, text := range message.HelpTexts() {
		forms[text] = false
	}
	root := newRoot(streams{})
	used := func(c *cobra.Command, text string) {
		if _, ok := forms[text]; !ok {
			t.Errorf("%s: job/internal/message/help.go has no Chinese form of %q", c.CommandPath(), text)
		}
		forms[text] = true
	}
	for _, c := range commands() {
		used(c, c.Short)
		for _, text := range paragraphs(c) {
			if !strings.HasPrefix(text, " ") { // a list of what has a form of its own
				used(c, oneLine(text))
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			used(c, f.Usage)
			for _, group := range f.Annotations[groupNote] {
				used(c, group)
			}
		})
		if text := help(c, message.Chinese); !strings.Contains(text, "用法：neardup") || strings.Contains(text, "%!") {
			t.Errorf("%s:\n%s", c.CommandPath(), text)
		}
	}
	for _, m := range eval.Methods() {
		used(root, m.Source)
		used(root, m.Doc)
	}
	for _, e := range eval.Edits() {
		used(root, e.Doc)
	}
	for _, d := range eval.Definitions() {
		used(root, d.Doc)
	}
	cfg := config.Default()
	for _, s := range cfg.Settings() {
		used(root, s.Usage())
	}
	chinese := message.Chinese
	for _, c := range newRoot(streams{language: &chinese}).Commands() {
		text := exampleOf.ReplaceAllString(help(c, chinese), "")
		for _, m := range eval.Methods() {
			text = strings.ReplaceAll(text, chinese.Help(m.Source), "")
		}
		if words := englishWords.FindString(names.ReplaceAllString(text, "…")); words != "" {
			t.Errorf("%s: %q is left in the Chinese help", c.CommandPath(), words)
		}
	}
	forms["Flags"] = true
	for text, is := range forms {
		if !is {
			t.Errorf("the help does not say %q", text)
		}
	}
}

// A setting that has a flag has it in a command.
func TestSettingsHaveTheirFlags(t *testing.T) {
	bound := map[string]bool{}
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { bound[f.Name] = true })
	}
	for _, s := range new(config.Config).Settings() {
		if s.Flag != "" && !bound[s.Flag] {
			t.Errorf("setting %s is --%s by its tag in job/internal/config, and no command binds it: runSettings or runOutput in job/internal/cli/run.go", s.Name, s.Flag)
		}
	}
}

// Flags of one name mean the same in all commands, unless they are listed here.
func TestFlagsOfOneName(t *testing.T) {
	differ := map[string]string{
		"distance": "that of the library in lookup",
		"index":    "a list of runs in report",
		"night":    "to be deleted in library delete",
		"out":      "a file in templates",
	}
	usage, differing := map[string]string{}, map[string]bool{}
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			was, ok := usage[f.Name]
			usage[f.Name] = f.Usage
			if !ok || was == f.Usage {
				return
			}
			differing[f.Name] = true
			if differ[f.Name] == "" {
				t.Errorf("%s --%s: %q, elsewhere %q", c.CommandPath(), f.Name, f.Usage, was)
			}
		})
	}
	for name := range differ {
		if !differing[name] {
			t.Errorf("--%s means the same everywhere", name)
		}
	}
}

// The documentation names flags and settings that there are.
func TestDocsNameWhatThereIs(t *testing.T) {
	known := map[string]bool{"help": true, "version": true}
	for _, other := range []string{"exclude", "firstrow", "lastrow", "save", "retry", "retry-all-errors", "retry-delay", "data-binary", "repo-type", "local-dir"} {
		known[other] = true // of rsync, HBase, Redis, curl and Hugging Face
	}
	for _, c := range commands() {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[f.Name] = true })
	}
	scripts, err := filepath.Glob("../../../scripts/*.[sp][hy]")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)(?:^ +(?:-\w \| )?|add_argument\(")--([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
			known[m[1]] = true
		}
	}
	var pages []string
	for _, folder := range []string{"", "zh/", "internals/"} {
		some, err := filepath.Glob("../../docs/" + folder + "*.md")
		if err != nil || len(some) == 0 {
			t.Fatal(some, err)
		}
		pages = append(pages, some...)
	}
	names := map[string]bool{}
	c := config.Default()
	for _, s := range c.Settings() {
		names[s.Name] = true
	}
	for _, path := range append(pages, "../../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("[` (]--([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s names --%s, which is no flag", path, m[1])
			}
		}
		for _, m := range regexp.MustCompile("(?:`|--set )((?:input|features|match|output|execution)\\.[a-z_]+)(?:`|=)").FindAllStringSubmatch(string(text), -1) {
			if !names[m[1]] {
				t.Errorf("%s names %s, which is no setting", path, m[1])
			}
		}
	}
}
