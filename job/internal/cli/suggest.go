package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/message"
)

// mistyped is the most edits between what was typed and what is suggested.
const mistyped = 2

// nearest returns the name of the fewest edits from what was typed, the first
// of several; "" if all have more than mistyped, or than a third of its letters.
func nearest(typed string, names []string) string {
	best, least := "", min(max(len(typed)/3, 1), mistyped)+1
	for _, name := range names {
		if n := levenshtein.ComputeDistance(typed, name); n < least {
			best, least = name, n
		}
	}
	return best
}

// didYouMean says what a user may have meant, to stand behind an error.
func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(message.Key("did you mean %s?"), name)
}

// hinted is an error with what stands behind it, if there is a hint.
func hinted(err error, hint string) error {
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, hint)
}

// seeHelp adds to a mistake where the command's help is.
func seeHelp(c *cobra.Command, err error) error {
	if strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w See %s --help", err, c.CommandPath())
	}
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}

// nearCommand suggests one of a command's own commands for a mistyped one.
func nearCommand(c *cobra.Command, typed string) string {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if _, err := os.Stat(typed); err == nil && !c.HasParent() {
		return didYouMean(c.Name() + " run " + typed)
	}
	if slices.Contains([]string{"dedup", "dedupe", "deduplicate", "cluster"}, typed) && !c.HasParent() {
		return didYouMean(job.CommandRun)
	}
	return didYouMean(nearest(typed, names))
}

// instead is what does, in a command that has a flag, what was typed as another one.
type instead struct {
	flag string // that the command must have; "": any will do
	hint string
}

// Flags that do what goes by several names.
var (
	toFolder   = []instead{{"out", message.Key("write --out DIR")}, {"html", message.Key("write --html FILE")}, {"csv", message.Key("write --csv DIR or --xlsx FILE")}}
	cores      = []instead{{"workers", message.Key("write --workers N")}}
	likeness   = []instead{{"distance", message.Key("write --distance N, the bits that may differ, or choose a --preset")}}
	textColumn = []instead{{"text-column", message.Key("write --text-column NAME")}}
	idColumn   = []instead{{"id-column", message.Key("write --id-column NAME")}}
	anew       = []instead{{"out", message.Key("name a new folder with --out, or remove the old one")}}
	toTable    = []instead{{"xlsx", message.Key("write --csv DIR or --xlsx FILE")}}
	inLanguage = []instead{{"lang", message.Key("write --lang en or --lang zh")}}
)

// replaced are flags that there were, or that other programs have, with what does
// it here: the first that the command has.
var replaced = map[string][]instead{
	"print-config": {{"", message.Key("run neardup config with the same flags")}},
	"redis":        {{"", message.Key("write --index redis://HOST:PORT")}},
	"out":          toFolder, "output": toFolder, "output-dir": toFolder,
	"input": {{"", message.Key("name inputs without a flag")}},
	"jobs":  cores, "threads": cores, "cores": cores,
	"threshold": likeness, "similarity": likeness, "hamming": likeness,
	"text": textColumn, "content": textColumn, "id": idColumn,
	"force": anew, "overwrite": anew,
	"resume": {{"out", message.Key("the same command goes on with what an interrupted run left")}},
	"excel":  toTable, "format": toTable, "language": inLanguage, "locale": inLanguage,
}

// nearFlag suggests a flag where the error is that there is no such one.
func nearFlag(c *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	typed := unknown.GetSpecifiedName()
	for _, now := range replaced[typed] {
		if now.flag == "" || c.Flags().Lookup(now.flag) != nil {
			return now.hint
		}
	}
	if name := nearest(typed, names); name != "" {
		return didYouMean("--" + name)
	}
	if set := c.Flags().Lookup("set"); set != nil {
		if near := nearSetting(set.Value.(setFlag).to.usual.Settings(), typed); near != "" {
			return near
		}
	}
	var have []string
	for _, other := range c.Root().Commands() {
		if other.LocalFlags().Lookup(typed) != nil {
			have = append(have, other.CommandPath())
		}
	}
	switch len(have) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(message.Key("%s has it"), have[0])
	}
	return fmt.Sprintf(message.Key("%s have it"), strings.Join(have, ", "))
}

// dashes are what stands in the place of - in text that was pasted from a page, or
// typed with an input method for Chinese.
const dashes = "—–－‐‑−"

// oneDash is a usage error for a long flag with one dash, like -out DIR, which
// would be -o ut and an input DIR, and for a flag with a dash of another kind, which
// would be an input.
func oneDash(root *cobra.Command, args []string) error {
	c, _, err := root.Find(args)
	if err != nil {
		return nil //nolint:nilerr // the command says it
	}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch other := strings.TrimLeft(name, dashes+"-"); {
		case arg == "--":
			return nil
		case other != strings.TrimLeft(name, "-") && c.Flags().Lookup(other) != nil:
			return usageError{fmt.Errorf("%s: its dash is not the one of the keyboard: write --%s; see %s --help", arg, other, c.CommandPath())}
		case len(name) < 2 || !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "--"):
		case c.Flags().Lookup(name) != nil:
			return usageError{fmt.Errorf("%s: a flag of several letters has two dashes: write -%s; see %s --help", arg, arg, c.CommandPath())}
		}
	}
	return nil
}

// nearSetting says how a setting is given that was typed as a flag; of a
// section, the first setting that has its values by name is the example.
func nearSetting(all []config.Setting, typed string) string {
	typed = strings.ReplaceAll(typed, "-", "_")
	like := ""
	for _, s := range all {
		form := s.Name + "=" + strings.ToUpper(s.Type())
		if s.Values() != nil {
			form = s.Name + "=" + strings.Join(s.Values(), "|")
		}
		switch section, key, _ := strings.Cut(s.Name, "."); {
		case typed == key:
			return fmt.Sprintf(message.Key("write --set %s"), form)
		case typed == section && (like == "" || s.Values() != nil && !strings.Contains(like, "|")):
			like = fmt.Sprintf(message.Key("settings of %s are given like --set %s; neardup config --list names them all"), section, form)
		}
	}
	return like
}

// typedAs is how the command line names a flag: by its letter or by its name,
// whichever stands last.
func (std streams) typedAs(name, letter string) string {
	for _, arg := range slices.Backward(std.args) {
		long, isLong := strings.CutPrefix(arg, "--")
		letters, isShort := strings.CutPrefix(arg, "-")
		switch {
		case isLong && (long == name || strings.HasPrefix(long, name+"=")):
			return "--" + name
		case !isLong && isShort && letter != "" && strings.Contains(letters, letter):
			return "-" + letter
		}
	}
	return "--" + name
}

// wrongValue says of a value that a flag cannot have what to write instead, by
// the flag as it was typed. Other errors stay as they are.
func wrongValue(std streams, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag, cause := invalid.GetFlag(), invalid.Unwrap()
	if errors.As(cause, new(*strconv.NumError)) {
		others := map[string]string{"bool": message.Key("write true or false"), "float64": message.Key("write a number")}
		cause = errors.New(cmp.Or(others[flag.Value.Type()], message.Key("write a whole number")))
	}
	return fmt.Errorf("%s %q: %w", std.typedAs(flag.Name, flag.Shorthand), invalid.GetValue(), cause)
}

// completeValues has the shell complete what a flag may be, for all flags of
// settings with a list of values, and the names of settings behind --set.
func completeValues(c *cobra.Command) {
	for _, sub := range c.Commands() {
		completeValues(sub)
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		var values []cobra.Completion
		directive := cobra.ShellCompDirectiveNoFileComp
		switch v := f.Value.(type) {
		case settingFlag:
			values = v.Values()
		case setFlag:
			directive |= cobra.ShellCompDirectiveNoSpace
			for _, s := range v.to.usual.Settings() {
				values = append(values, s.Name+"=")
			}
		}
		if len(values) > 0 { // an error says that the flag is not there
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, directive))
		}
	})
}
