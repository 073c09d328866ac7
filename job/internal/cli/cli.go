// Package cli is neardup's command line: it turns flags into a Config, shows
// progress, prints results and maps errors to exit codes. It computes nothing
// itself.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/source"
	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/stage/cluster"
	"github.com/neardup/neardup/job/internal/stage/write"
	"github.com/neardup/neardup/job/internal/version"
)

// Exit codes; they are a contract.
const (
	exitDone        = 0   // done; skipped records are counted and reported
	exitFailed      = 1   // failed
	exitUsage       = 2   // the command line or the configuration is wrong
	exitSkipped     = 3   // done, but records were skipped and --strict was given
	exitIncomplete  = 4   // rows not conserved
	exitOtherRun    = 10  // run directory of another configuration
	exitInterrupted = 130 // interrupted
)

// errStrict ends a strict run that skipped records.
var errStrict = errors.New("records were skipped")

// usageError is a mistake in the command line or the configuration.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Main runs the command line args (without the program's name) and returns
// the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if code, ours := clusterMain(args, stdin, stderr); ours { // a worker of the cluster
		return code
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	language := asked(args, message.Locale(os.Getenv))
	root := newRoot(streams{stdin, stdout, stderr, args, &language})
	root.SetArgs(args)
	err := oneDash(root, args)
	if err == nil {
		err = patiently(ctx, grace, root.ExecuteContext)
	}
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w: make room there; the same command goes on", err)
	}
	if code == exitInterrupted {
		err = interrupted(root, args)
	}
	if slices.ContainsFunc(args, func(arg string) bool { return arg == "--json" || arg == "--json=true" }) {
		_ = json.NewEncoder(stderr).Encode(failureOf(code, err))
	} else {
		fmt.Fprintln(stderr, show.Lines("neardup: "+language.Error(err)))
	}
	return code
}

// asked is the language of --lang, wherever it stands: a mistake before it is told
// in it too.
func asked(args []string, otherwise message.Language) message.Language {
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return otherwise
		case name != "--lang":
			continue
		case !given && i+1 < len(args):
			value = args[i+1]
		}
		_ = languageFlag{&otherwise}.Set(value) // another one is an error when flags are read
	}
	return otherwise
}

// interrupted is the error of a command that was interrupted.
func interrupted(root *cobra.Command, args []string) error {
	if c, _, err := root.Find(args); err == nil && (c.Name() == job.CommandRun || c.Name() == job.CommandMatch) {
		return fmt.Errorf("interrupted; what is finished is kept: the same command goes on from there")
	}
	return fmt.Errorf("interrupted")
}

// failure is an error as --json has it.
type failure struct {
	Type    string `json:"type"` // error
	Code    int    `json:"code"` // that the program exits with
	Message string `json:"message"`
	File    string `json:"file,omitempty"`   // that could not be read or written
	Remedy  string `json:"remedy,omitempty"` // the end of the message, where it says what to do
}

// doing begins what a message says that its reader may do.
var doing = regexp.MustCompile(`(?s)[:;,] ((?:write|name|give|mend|make|raise|put|finish|run|look into|take|send|ask|choose|lower|remove|delete|see|did you mean|let|the same command)\b.*)`)

func failureOf(code int, err error) failure {
	f := failure{Type: "error", Code: code, Message: err.Error()}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		f.File = path.Path
	}
	if m := doing.FindStringSubmatch(f.Message); m != nil {
		f.Remedy = m[1]
	}
	return f
}

// grace is how long a command that is interrupted may take to end: more than a
// run on a cluster gives itself to clear its flow away, twice 12 s.
const grace = 30 * time.Second

// patiently returns what f returns, or an error when f has not returned that long
// after ctx is done: it hangs in a read, and is left as a kill leaves it.
func patiently(ctx context.Context, grace time.Duration, f func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return ctx.Err()
	}
}

func exitCode(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errStrict):
		return exitSkipped
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, rundir.ErrOther):
		return exitOtherRun
	case errors.Is(err, rundir.ErrNotConserved), errors.Is(err, cluster.ErrMissed), errors.Is(err, write.ErrUnlike):
		return exitIncomplete
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, source.ErrNoInput), errors.Is(err, source.ErrFormat), errors.Is(err, source.ErrRefused),
		errors.Is(err, library.ErrNight), errors.Is(err, library.ErrSettings), errors.Is(err, library.ErrNone), errors.Is(err, library.ErrFolder), errors.Is(err, rundir.ErrNone), errors.Is(err, rundir.ErrFolder):
		return exitUsage
	}
	return exitFailed
}

// streams are the process's three and its command line, so that tests can have
// others.
type streams struct {
	in       io.Reader
	out, err io.Writer
	args     []string
	language *message.Language // that people are told things in; --lang sets it
}

// Commands is the tree of commands, for those who describe it.
func Commands(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	return newRoot(streams{in: stdin, out: stdout, err: stderr})
}

func newRoot(std streams) *cobra.Command {
	if std.language == nil {
		english := message.English
		std.language = &english
	}
	root := &cobra.Command{
		Use:   "neardup",
		Short: "Find the near-duplicate documents of a crawl dump",
		Long: `neardup turns the documents of a crawl dump into SimHash fingerprints, finds
each document's best match and the clusters of near-duplicates, and writes
Parquet and a clean dump.`,
		Example:       "  neardup run crawl/2026-11-20/*.warc.gz --out runs/2026-11-20",
		Version:       version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE:          onlyCommands,
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if typed := c.Flags().Args(); c.HasSubCommands() && len(typed) > 0 { // the flag is that of a command
			return onlyCommands(c, typed)
		}
		return usageError{seeHelp(c, hinted(wrongValue(std, err), nearFlag(c, err)))}
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(std.out, help(c, *std.language)) })
	root.AddCommand(newRun(std), newMatch(std), newStatus(std), newVerify(std), newInspect(std), newReport(std), newReview(std), newExport(std), newPlan(std), newConfig(std), newLexicon(std), newTemplates(std), newEval(std), newExplain(std), newLibrary(std), newLookup(std), newVersion(std))
	root.PersistentFlags().Var(languageFlag{std.language}, "lang", "language: en or zh")
	root.SetHelpCommand(&cobra.Command{Use: "help", Hidden: true, RunE: func(_ *cobra.Command, args []string) error {
		c, rest, err := root.Find(args)
		if err != nil || c.HasSubCommands() && len(rest) > 0 {
			return onlyCommands(c, rest)
		}
		return c.Help()
	}})
	root.Flags().BoolP("version", "v", false, "print the version")
	root.CompletionOptions.HiddenDefaultCmd = true
	completeValues(root)
	return root
}

// languageFlag is the value of --lang.
type languageFlag struct{ to *message.Language }

func (f languageFlag) Set(name string) error {
	short, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(name), "-", "_"), "_") // zh-CN is Chinese
	l := message.Language(short)
	if l != message.English && l != message.Chinese {
		return errors.New("write en or zh")
	}
	*f.to = l
	return nil
}

func (f languageFlag) String() string {
	if f.to == nil {
		return ""
	}
	return string(*f.to)
}

func (languageFlag) Type() string { return "string" }

// onlyCommands runs a command that is nothing without one of its own: it
// prints the help, or says that there is no such command.
func onlyCommands(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{seeHelp(c, hinted(fmt.Errorf("unknown command %q", args[0]), nearCommand(c, args[0])))}
	}
	return c.Help()
}

// needInput is a usage error unless there is an input.
func needInput(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{fmt.Errorf("name an input: a file, a folder, a glob, or - for standard input; see %s --help", c.CommandPath())}
	}
	return nil
}

// need is a usage error unless there are that many arguments.
func need(count int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 && count == 0 {
			return usageError{fmt.Errorf("%s takes %s; see %s --help", c.CommandPath(), what, c.CommandPath())}
		}
		if len(args) != count {
			return usageError{fmt.Errorf("name %s; see %s --help", what, c.CommandPath())}
		}
		return nil
	}
}

// printed prints a result: as JSON, or as print does for people, in their language.
func (std streams) printed(asJSON bool, result any, print func(io.Writer, message.Language) error) error {
	if asJSON {
		return json.NewEncoder(std.out).Encode(result)
	}
	return print(std.out, *std.language)
}
