package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

const (
	helpWidth = 80 // columns of a help text
	fewFlags  = 10 // more are shown in groups
	groupNote = "group"
)

// exitCodes end a help text.
func exitCodes(l message.Language) string {
	return l.Text(exitCodesText)
}

var exitCodesText = message.Key(`
Exit codes: 0 done; 1 failed; 2 usage; 3 done, but records were skipped and
--strict was given; 4 incomplete or rows not conserved; 10 run directory of
another configuration; 130 interrupted. Language: --lang en or zh, else LANG.
`)

// group binds flags to fs that stand together in the help text.
func group(fs *pflag.FlagSet, name string, bind func(*pflag.FlagSet)) {
	fs.SortFlags = false
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.SortFlags = false
	bind(own)
	own.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{groupNote: {name}}
		fs.AddFlag(f)
	})
}

// help is the help text of a command.
func help(c *cobra.Command, l message.Language) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", about(c, l), l.Text("Usage: %s", c.UseLine()))
	if c.HasAvailableSubCommands() {
		b.WriteString("\n" + l.Text("Commands:") + "\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), l.Help(sub.Short))
			}
		}
	}
	if flags := flagHelp(c.LocalFlags(), l); flags != "" {
		b.WriteString("\n" + flags)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n%s", l.Text("Example:"), c.Example, exitCodes(l))
	return b.String()
}

// about is what a command does, in the language: the long text, which is looked up
// by paragraphs.
func about(c *cobra.Command, l message.Language) string {
	all := paragraphs(c)
	for i, text := range all {
		if said := l.Help(oneLine(text)); said != oneLine(text) {
			all[i] = fill(said)
		}
	}
	return strings.Join(all, "\n\n")
}

func paragraphs(c *cobra.Command) []string { return strings.Split(cmp.Or(c.Long, c.Short), "\n\n") }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// flagHelp lists the flags in the order they were bound in, many of them with
// their groups' names.
func flagHelp(of *pflag.FlagSet, l message.Language) string {
	if f := of.Lookup("help"); f != nil {
		f.Hidden = true // who reads it knows
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError) // the same, in the language
	fs.SortFlags = of.SortFlags
	of.VisitAll(func(f *pflag.Flag) {
		said := *f
		said.Usage = l.Help(f.Usage)
		fs.AddFlag(&said)
	})
	var b strings.Builder
	flags, last := 0, ""
	fs.VisitAll(func(*pflag.Flag) { flags++ })
	usages := fs.FlagUsagesWrapped(helpWidth)
	if l != message.English { // pflag counts bytes, and breaks at spaces alone
		var lines strings.Builder
		for line := range strings.Lines(fs.FlagUsages()) {
			line = usualValue.ReplaceAllStringFunc(strings.TrimSuffix(line, "\n"), func(text string) string {
				return l.Text("(default %s)", usualValue.FindStringSubmatch(text)[1])
			})
			head := flagHead.FindString(line)
			lines.WriteString(head + strings.ReplaceAll(fillTo(line[len(head):], helpWidth-len(head)), "\n", "\n"+strings.Repeat(" ", len(head))) + "\n")
		}
		usages = lines.String()
	}
	for line := range strings.Lines(usages) {
		name := "Flags"
		if m := flagLine.FindStringSubmatch(line); m == nil { // more of the flag above
			name = last
		} else if note := fs.Lookup(m[1]).Annotations[groupNote]; flags > fewFlags && note != nil {
			name = note[0]
		}
		if name != last {
			b.WriteString(l.Text("%s:", l.Help(name)) + "\n")
			last = name
		}
		b.WriteString(line)
	}
	return b.String()
}

// usualValue is what pflag says of a flag's default.
var usualValue = regexp.MustCompile(`\s*\(default\s+([^)]*)\)`)

// flagHead is what stands before a flag's usage.
var flagHead = regexp.MustCompile(`^  (?:-\w,|   ) --[\w-]+(?: [\w=]+)?\s+`)

// flagLine is the first line of a flag's help.
var flagLine = regexp.MustCompile(`^  (?:-\w,|   ) --([\w-]+)`)

// fill breaks text into lines that fit a help text: at spaces, and between Chinese
// characters where no mark comes to stand at the wrong end of a line.
func fill(text string) string { return fillTo(text, helpWidth) }

func fillTo(text string, width int) string {
	var b strings.Builder
	at, end := 0, 0
	for _, m := range unbroken.FindAllStringIndex(text, -1) {
		word := text[m[0]:m[1]]
		n := show.Cells(word)
		space := m[0] > end && at > 0
		if space {
			n++
		}
		switch {
		case at+n > width:
			b.WriteByte('\n')
			at = 0
			n = show.Cells(word)
		case space:
			b.WriteByte(' ')
		}
		b.WriteString(word)
		at, end = at+n, m[1]
	}
	return b.String()
}

// unbroken is what stays in one line: a word, or a character with its marks.
var unbroken = regexp.MustCompile(`[（“《]*(?:[!-~…–—·]+|[^\s，。：；、）”》！？])[，。：；、）”》！？]*`)
