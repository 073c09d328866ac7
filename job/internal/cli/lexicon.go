package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/learn"
	"github.com/neardup/neardup/job/internal/show"
)

func newLexicon(std streams) *cobra.Command {
	var out string
	var o learn.LexiconOptions
	s := newSettings(std, config.PresetBalanced)
	cmd := &cobra.Command{
		Use:   "lexicon INPUT… --out FOLDER",
		Short: "Train the rarity of words and a stop list from a dump",
		Long: `Counts in how many documents each word occurs, and writes a folder that run
takes as features.lexicon: idf.utf8 with the inverse document frequency of the
words, ln(N/n), and stop_words.utf8 with the words that occur in more than
--share of the documents, the most frequent first, before those of the lexicon
in use. The folder may have more of jieba's five files (jieba.dict.utf8,
hmm_model.utf8, user.dict.utf8); with features.lexicon they are copied from
there.

Stop words are left out by default. The idf has a part in the weights tfidf and
sqrt-tfidf, and in features.top.`,
		Example: `  neardup lexicon crawl/2026-11-19 --share 0.3 --out lexicon
  neardup run crawl --set features.lexicon=lexicon --out runs/2026-11-20`,
		Args: needInput,
		RunE: s.run(func(cmd *cobra.Command, cfg config.Config, args []string) error {
			switch {
			case out == "":
				return usageError{fmt.Errorf("name the folder to write with --out; see %s --help", cmd.CommandPath())}
			case o.MaxShare <= 0 || o.MaxShare > 1:
				return usageError{fmt.Errorf("--share %v: write a share above 0, like 0.3; 1: no stop words", o.MaxShare)}
			case o.MinDocuments < 1:
				return usageError{fmt.Errorf("--min-documents %d: write a number from 1", o.MinDocuments)}
			case o.IDFDocuments < 1:
				return usageError{fmt.Errorf("--idf-documents %d: write a number from 1", o.IDFDocuments)}
			}
			shown := newScreen(std.err, *std.language, false, false)
			pass, done := shown.progress("lexicon")
			l, err := learn.Dump{Config: cfg, Inputs: args, Workers: runtime.GOMAXPROCS(0), Pass: pass, Log: shown.log}.Lexicon(cmd.Context(), o)
			done()
			if err != nil {
				return err
			}
			if err := l.Write(out); err != nil {
				return err
			}
			t := *std.language
			_, err = fmt.Fprintln(std.out, t.Text("%s: idf of %s from %s; %s, and %d that the lexicon had", show.Line(out),
				t.Count(int64(len(l.IDF)), "word"), t.Count(int64(l.Documents), "document"), t.Count(int64(len(l.Trained)), "stop word"), len(l.Known)))
			return err
		}),
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "folder to write")
	cmd.Flags().Float64Var(&o.MaxShare, "share", 0.3, "a stop word occurs in a larger share of the documents")
	cmd.Flags().IntVar(&o.MinDocuments, "min-documents", 100, "least number of documents that a stop word occurs in")
	cmd.Flags().IntVar(&o.IDFDocuments, "idf-documents", 2, "least number of documents that a word with an idf occurs in")
	s.bind(cmd.Flags(), "format", "encoding", "text-column", "max-bad")
	s.bindAll(cmd.Flags())
	return cmd
}
