package cli

import (
	"bufio"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/config"
)

func newStopWords(std streams) *cobra.Command {
	var file string
	var share float64
	var documents int
	cfg := config.Default()
	bind := func(fs *pflag.FlagSet, c *config.Config) {
		bindInput(fs, c)
		bindFeatures(fs, c)
	}
	cmd := &cobra.Command{
		Use:   "stopwords INPUT…",
		Short: "Train a stop list: the words that most documents of a dump have",
		Long: `Prints the words that occur in more than --share of the input's documents, one a
line, the most frequent first: a list that run takes as --stop-list.`,
		Example: `  neardup stopwords crawl/2026-11-19 --share 0.3 > stop.txt
  neardup run crawl/2026-11-20 --stop-list stop.txt --out runs/2026-11-20`,
		Args: needArgs("an input: a file, a folder, a glob, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := effective(cmd.Flags(), config.PresetBalanced, file, bind)
			if err == nil {
				err = cfg.Check()
			}
			if err != nil {
				return usageError{err}
			}
			words, err := job.StopWords(cmd.Context(), cfg, args, runtime.GOMAXPROCS(0), share, documents)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(std.out)
			for _, w := range words {
				fmt.Fprintln(out, w)
			}
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "YAML file of settings; flags win over it")
	cmd.Flags().Float64Var(&share, "share", 0.3, "share of the documents a word must occur in to be listed")
	cmd.Flags().IntVar(&documents, "documents", 100, "number of documents a word must occur in to be listed")
	bind(cmd.Flags(), &cfg)
	return cmd
}
