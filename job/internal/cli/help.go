package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job/internal/message"
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

// help is the help text of a command. The long one is English; in another language
// the short one stands in its place.
func help(c *cobra.Command, l message.Language) string {
	var b strings.Builder
	about := cmp.Or(c.Long, c.Short)
	if l != message.English {
		about = l.Help(c.Short) + l.Text(" (details: --lang en)")
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", about, l.Text("Usage: %s", c.UseLine()))
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
	for line := range strings.Lines(fs.FlagUsagesWrapped(helpWidth)) {
		name := "Flags"
		if m := flagLine.FindStringSubmatch(line); m == nil { // more of the flag above
			name = last
		} else if note := fs.Lookup(m[1]).Annotations[groupNote]; flags > fewFlags && note != nil {
			name = note[0]
		}
		if name != last {
			b.WriteString(l.Help(name) + ":\n")
			last = name
		}
		b.WriteString(line)
	}
	return b.String()
}

// flagLine is the first line of a flag's help.
var flagLine = regexp.MustCompile(`^  (?:-\w,|   ) --([\w-]+)`)

// fill breaks text into lines that fit a help text.
func fill(text string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		if at += 1 + n; at > helpWidth {
			b.WriteString("\n")
			at = n
		} else if b.Len() > 0 {
			b.WriteString(" ")
		}
		b.WriteString(word)
	}
	return b.String()
}
