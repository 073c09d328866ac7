package cli

import (
	"bufio"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job"
	"github.com/neardup/neardup/job/internal/config"
)

func newStopWords(std streams) *cobra.Command {
	var share float64
	var documents int
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "stopwords INPUT…",
		Short: "Train a stop list: the words that most documents of a dump have",
		Long: `Prints the words that occur in more than --share of the input's documents, one a
line, the most frequent first: a list that run takes as features.stop_list.`,
		Example: `  neardup stopwords crawl/2026-11-19 --share 0.3 > stop.txt
  neardup run crawl --set features.stop_list=stop.txt --out runs/2026-11-20`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			if share <= 0 || share >= 1 {
				return usageError{fmt.Errorf("--share %v: write a share between 0 and 1, like 0.3", share)}
			}
			if documents < 1 {
				return usageError{fmt.Errorf("--min-documents %d: write a number from 1", documents)}
			}
			shown := newScreen(std.err, false, false)
			pass, done := shown.progress("stopwords")
			words, err := job.Dump{Config: cfg, Inputs: args, Workers: runtime.GOMAXPROCS(0), Pass: pass, Log: shown.log}.StopWords(cmd.Context(), share, documents)
			done()
			if err != nil {
				return err
			}
			out := bufio.NewWriter(std.out)
			for _, w := range words {
				fmt.Fprintln(out, w)
			}
			return out.Flush()
		}),
	}
	cmd.Flags().Float64Var(&share, "share", 0.3, "share of the documents that a word occurs in")
	cmd.Flags().IntVar(&documents, "min-documents", 100, "least number of documents that a word occurs in")
	s.bind(cmd.Flags(), "format", "encoding", "text-column", "max-bad")
	s.bindAll(cmd.Flags())
	return cmd
}
