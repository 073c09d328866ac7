package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/data/library"
	"github.com/neardup/neardup/data/warc"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/rundir"
	"github.com/neardup/neardup/job/internal/show"
	"github.com/neardup/neardup/job/internal/version"
	"github.com/neardup/neardup/simhash"
	"github.com/neardup/neardup/simhash/jieba"
)

// versions says what this program is, and of which versions what it makes is:
// fingerprints can be compared where lexicon, text and extractor are the same.
type versions struct {
	Version      string `json:"version"`
	Revision     string `json:"revision,omitempty"` // of the source, where the build noted it
	Go           string `json:"go"`
	System       string `json:"system"`
	Lexicon      string `json:"lexicon"`       // digest of the embedded dictionary
	Text         int    `json:"text"`          // version of the normal form of texts
	Extractor    int    `json:"extractor"`     // version of what finds the text of a page
	RunDirectory int    `json:"run_directory"` // version of the layout
	Library      int    `json:"library"`       // version of the manifest
}

func newVersion(std streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say what this program is, and the versions of what it makes",
		Long: `Says the program's version and build, and the versions of the lexicon, the
normal form of texts, the extractor of pages, run directories and libraries.
Where lexicon, text and extractor are the same, fingerprints can be compared.`,
		Example: `  neardup version`,
		Args:    need(0, message.Key("no argument")),
		RunE: func(*cobra.Command, []string) error {
			v := versions{
				Version: version.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
				Lexicon: fmt.Sprintf("%08x", jieba.Digest()), Text: simhash.NormalFormVersion, Extractor: warc.Extractor,
				RunDirectory: rundir.LayoutVersion, Library: library.FormatVersion,
			}
			if build, ok := debug.ReadBuildInfo(); ok {
				for _, s := range build.Settings {
					if s.Key == "vcs.revision" {
						v.Revision = s.Value
					}
				}
			}
			if asJSON {
				return printTyped(std.out, nil, "version", v)
			}
			return v.print(std.out, *std.language)
		},
	}
	bindJSON(cmd.Flags(), &asJSON)
	return cmd
}

func (v *versions) print(w io.Writer, l message.Language) error {
	var b strings.Builder
	row := func(name, format string, args ...any) { show.Field(&b, name, format, args...) }
	row("neardup", "%s", v.Version)
	if v.Revision != "" {
		row(l.Text("revision"), "%s", v.Revision)
	}
	row(l.Text("build"), "%s, %s", v.Go, v.System)
	row("lexicon", "%s", v.Lexicon)
	row("text", "%d", v.Text)
	row("extractor", "%d", v.Extractor)
	row("run", "%d", v.RunDirectory)
	row("library", "%d", v.Library)
	_, err := io.WriteString(w, b.String())
	return err
}
