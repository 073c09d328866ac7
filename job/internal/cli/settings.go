package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/job/internal/config"
)

// The flags that several commands have, with the same meaning.

func bindJSON(fs *pflag.FlagSet, to *bool) {
	fs.BoolVar(to, "json", false, "print JSON, one object a line")
}

func bindVerbose(fs *pflag.FlagSet, to *bool) {
	fs.BoolVarP(to, "verbose", "v", false, "log more")
}

func bindHTML(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "html", "", "write it as a page to this file")
}

// settings collects what a command line says of a run's configuration: by flags
// that stand for one setting, by --set for any, and by --config.
type settings struct {
	std   streams
	usual config.Config // defaults of the command
	file  string
	given []given // in the order of the command line
}

// given is a setting that the command line gave a value.
type given struct{ setting, value, typed string }

func newSettings(std streams, preset string) *settings {
	usual, _ := config.Default().WithPreset(preset) // it exists
	return &settings{std: std, usual: usual}
}

// bind adds the settings that have these flags.
func (s *settings) bind(fs *pflag.FlagSet, flags ...string) {
	all := s.usual.Settings()
	for _, name := range flags {
		setting := all[slices.IndexFunc(all, func(s config.Setting) bool { return s.Flag == name })]
		group(fs, setting.Group, func(fs *pflag.FlagSet) {
			f := fs.VarPF(settingFlag{setting, s}, name, setting.Short, setting.Usage())
			if setting.Type() == "bool" {
				f.NoOptDefVal = "true"
			}
		})
	}
}

// bindAll adds --config and --set.
func (s *settings) bindAll(fs *pflag.FlagSet) {
	group(fs, "Settings", func(fs *pflag.FlagSet) {
		fs.StringVar(&s.file, "config", "", "YAML file of settings; flags win over it")
		fs.Var(setFlag{s}, "set", "any setting that neardup config --list names")
	})
}

// give records a value, unless the setting cannot have it.
func (s *settings) give(g given) error {
	if err := g.secret(); err != nil {
		return err
	}
	scratch := s.usual
	err := scratch.Set(g.setting, g.value)
	if wrong, ok := errors.AsType[*config.SettingError](err); ok {
		return errors.New(wrong.Remedy)
	}
	s.given = append(s.given, g)
	return err
}

// Settings that may have a secret in them: the environment's variable that has
// the setting where neither the command line nor the file does.
var secrets = map[string]string{"monitor.alarm_command": "NEARDUP_ALARM_COMMAND", "monitor.alarm_url": "NEARDUP_ALARM_URL"}

// secret reads the value of a setting that may be a secret from the file that it
// names as @FILE. An address is one: every user of the machine sees what stands on
// the command line.
func (g *given) secret() error {
	variable, ok := secrets[g.setting]
	if !ok {
		return nil
	}
	if name, of := strings.CutPrefix(g.value, "@"); of {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		g.value = strings.TrimSpace(string(text))
		return nil
	}
	if g.setting == "monitor.alarm_url" && g.value != "" {
		return fmt.Errorf("every user of the machine sees the command line: write the address to a file and give %s=@FILE, or put it into the settings file or into %s", g.setting, variable)
	}
	return nil
}

// config returns the effective configuration: the command line wins over the
// file, the file over the defaults. The command line's preset is applied first,
// so that its other settings win over what the preset stands for. Errors name
// what the user typed.
func (s *settings) config() (config.Config, error) {
	cfg, err := s.usual, error(nil)
	if s.file != "" {
		if cfg, err = config.Read(s.file, cfg); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("--config %s: %w: name a file that is there", s.file, fs.ErrNotExist)
		} else if errors.Is(err, syscall.EISDIR) {
			err = fmt.Errorf("--config %s: it is a folder: name a file", s.file)
		}
	}
	for _, preset := range []bool{true, false} {
		for _, g := range s.given {
			if err == nil && preset == (g.setting == config.SettingPreset) {
				err = cfg.Set(g.setting, g.value)
			}
		}
	}
	for setting, variable := range secrets {
		if value := os.Getenv(variable); value != "" && err == nil {
			if is, _ := cfg.Setting(setting); is.String() == "" { // there is one of that name
				err = cfg.Set(setting, value)
			}
		}
	}
	if err == nil {
		err = cfg.Check()
	}
	if err == nil {
		return cfg, nil
	}
	return cfg, usageError{s.blame(err)}
}

// run is what a command does with its settings.
func (s *settings) run(do func(cmd *cobra.Command, cfg config.Config, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := s.config()
		if err != nil {
			return err
		}
		return s.blame(do(cmd, cfg, args))
	}
}

// blame says by what was typed which setting an error is about, if it is about
// one: then it is a mistake in the command line.
func (s *settings) blame(err error) error {
	var wrong *config.SettingError
	var missing *data.NoColumn
	var textless *data.BadRecord
	switch {
	case errors.As(err, &wrong):
		for _, g := range slices.Backward(s.given) {
			if g.setting == wrong.Name {
				wrong.Name = g.typed
				break
			}
		}
		return usageError{err}
	case errors.As(err, &missing) && missing.Name == "":
		err = fmt.Errorf("%w with --%s-column NAME", err, missing.Of)
		if missing.Header {
			err = fmt.Errorf("%w; if these are the first page, the file has no header: give --set input.no_header=true", separated(err, missing.Have))
		}
		return usageError{err}
	case errors.As(err, &textless) && textless.Reason == data.ReasonNoText:
		return usageError{fmt.Errorf("%w: name the column that holds the text with --text-column NAME", err)}
	case errors.As(err, &missing):
		for _, g := range slices.Backward(s.given) {
			if g.value == missing.Name {
				return usageError{fmt.Errorf("%s %s: %w: name one of these", g.typed, g.value, err)}
			}
		}
	}
	return err
}

// separated adds to an error what to do about a header row of one column that seems
// to hold several.
func separated(err error, header []string) error {
	switch {
	case len(header) != 1:
	case strings.Contains(header[0], "\t"):
		return fmt.Errorf("%w; if tabs separate its fields, give --format tsv", err)
	case strings.ContainsAny(header[0], ";|"):
		return fmt.Errorf("%w; if it is not commas that separate its fields, write it with commas, or with tabs as .tsv", err)
	}
	return err
}

// settingFlag is a setting as a flag; String is its default.
type settingFlag struct {
	config.Setting
	to *settings
}

// Type is what the help calls the value.
func (f settingFlag) Type() string {
	if kind := f.Setting.Type(); kind != "slice" {
		return kind
	}
	return "list"
}

// Set takes a value. A flag of a list may be repeated, and adds to it.
func (f settingFlag) Set(value string) error {
	for _, g := range slices.Backward(f.to.given) {
		if f.Setting.Type() == "slice" && g.setting == f.Name {
			value = g.value + "," + value
			break
		}
	}
	return f.to.give(given{f.Name, value, f.to.std.typedAs(f.Flag, f.Short)})
}

// setFlag is --set.
type setFlag struct{ to *settings }

func (setFlag) String() string { return "" }
func (setFlag) Type() string   { return "name=value" }

func (f setFlag) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("write it like match.bands=false")
	}
	err := f.to.give(given{name, value, "--set " + name})
	if err == nil {
		return nil
	}
	all := f.to.usual.Settings()
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	near := nearest(name, names)
	for _, s := range all { // a key without its section
		if near == "" && strings.HasSuffix(s.Name, "."+strings.ReplaceAll(name, "-", "_")) {
			near = s.Name
		}
	}
	if near != name {
		return hinted(err, didYouMean(near))
	}
	return err
}

func newConfig(std streams) *cobra.Command {
	var list bool
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "config [SETTING…]",
		Short: "Print the settings of a run, or what settings there are",
		Long: `Prints the settings that run has with this file and these flags, as a file
that --config takes; of settings that are named, the values alone. With --list
it prints one setting a line, as --set takes it, and what it is for.`,
		Example: `  neardup config --list
  neardup config --preset thorough --distance 8 > night.yaml
  neardup config --config night.yaml execution.master
  neardup run crawl --out runs/night --config night.yaml --set match.bands=false`,
		Args: cobra.ArbitraryArgs,
		RunE: s.run(func(_ *cobra.Command, cfg config.Config, args []string) error {
			if list {
				for _, s := range cfg.Settings() {
					fmt.Fprintf(std.out, "%-28s %s\n", s.Name+"="+s.String(), std.language.Help(s.Usage()))
				}
				return nil
			}
			if len(args) == 0 {
				text, err := cfg.YAML(std.language.Help)
				if err != nil {
					return err
				}
				_, err = std.out.Write(text)
				return err
			}
			for _, name := range args {
				s, err := cfg.Setting(name)
				if err != nil {
					return usageError{err}
				}
				fmt.Fprintln(std.out, s)
			}
			return nil
		}),
	}
	s.bind(cmd.Flags(), runSettings...)
	s.bind(cmd.Flags(), runOutput...)
	group(cmd.Flags(), "Settings", func(fs *pflag.FlagSet) {
		fs.BoolVar(&list, "list", false, "print every setting, one a line")
	})
	s.bindAll(cmd.Flags())
	return cmd
}
