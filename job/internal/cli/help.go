package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	helpWidth = 80 // columns of a help text
	fewFlags  = 10 // more are shown in groups
	groupNote = "group"
)

const exitCodes = `
Exit codes: 0 done; 1 failed; 2 usage; 3 done, but records were skipped and
--strict was given; 4 incomplete or rows not conserved; 10 run directory of
another configuration; 130 interrupted. Language: --lang en or zh, else LANG.
`

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
func help(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: %s\n", cmp.Or(c.Long, c.Short), c.UseLine())
	if c.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-*s  %s\n", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if flags := flagHelp(c.LocalFlags()); flags != "" {
		b.WriteString("\n" + flags)
	}
	fmt.Fprintf(&b, "\nExample:\n%s\n%s", c.Example, exitCodes)
	return b.String()
}

// flagHelp lists the flags in the order they were bound in, many of them with
// their groups' names.
func flagHelp(fs *pflag.FlagSet) string {
	if f := fs.Lookup("help"); f != nil {
		f.Hidden = true // who reads it knows
	}
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
			b.WriteString(name + ":\n")
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
