package jieba

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/neardup/neardup/simhash/jieba/internal/model"
)

// The files of a lexicon that can be trained.
const (
	IDFFile  = model.IDFFile  // a word and its inverse document frequency a line
	StopFile = model.StopFile // a stop word a line
)

// LexiconFiles lists the names of jieba's five files, as ReadLexicon finds them.
func LexiconFiles() []string { return model.Files() }

// errLexicon is returned for a folder that is no lexicon.
var errLexicon = errors.New("no lexicon")

// Lexicon is a lexicon of one's own, in jieba's five files: the words with
// their frequencies and tags, the hidden Markov model, the user dictionary, the
// inverse document frequencies and the stop words.
type Lexicon struct {
	l   *model.Lexicon
	own map[string]bool // the files that were there
}

// ReadLexicon reads those of jieba's five files that lexicon, a folder, has.
// What is missing is jieba's own. An error names the file and the line, and says
// what to write. What cppjieba reads differently from file to file is the same
// here in all: empty lines, a byte order mark and carriage returns before the end
// of a line are ignored.
func ReadLexicon(lexicon fs.FS) (*Lexicon, error) {
	entries, err := fs.ReadDir(lexicon, ".")
	if err != nil {
		return nil, err
	}
	base, err := model.Decode(embedded)
	if err != nil {
		return nil, fmt.Errorf("jieba: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".utf8") && !slices.Contains(LexiconFiles(), name) {
			return nil, fmt.Errorf("%w: %s is none of a lexicon's files: they are %s; rename it, or move it elsewhere", errLexicon, name, strings.Join(LexiconFiles(), ", "))
		}
	}
	read := &Lexicon{base.Lexicon(), map[string]bool{}}
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains(LexiconFiles(), name) {
			continue
		}
		content, err := fs.ReadFile(lexicon, name)
		if err == nil {
			err = read.l.Parse(name, content)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		read.own[name] = true
	}
	if len(read.own) == 0 {
		return nil, fmt.Errorf("%w: it has none of %s: name a folder that has at least one of them", errLexicon, strings.Join(LexiconFiles(), ", "))
	}
	return read, nil
}

// Dictionary makes the dictionary of the lexicon, with more user words, which
// may be none: they are added to those of the lexicon's own user dictionary, and
// take the place of jieba's samples. Of a word given twice the later one counts.
// It takes about a second.
func (l *Lexicon) Dictionary(more []UserWord) (*Dictionary, error) {
	made := *l.l
	if len(more) > 0 {
		if !l.own[model.UserFile] {
			made.User = nil
		}
		made.User = slices.Concat(made.User, more)
	}
	for _, u := range made.User {
		if err := model.CheckUserWord(u); err != nil {
			return nil, fmt.Errorf("jieba: %w", err)
		}
	}
	m, err := model.Build(&made)
	if err != nil {
		return nil, fmt.Errorf("jieba: %w", err)
	}
	d, err := dictionaryOf(m)
	if err == nil && (l.own[model.WordsFile] || l.own[model.HMMFile]) {
		d.lexicon = &made
	}
	return d, err
}

// WriteLexicon writes the words and the hidden Markov model of the dictionary in
// jieba's form, as gojieba reads them, unless they are jieba's own: then it
// writes nothing and own is false.
func (d *Dictionary) WriteLexicon(words, hmm io.Writer) (own bool, err error) {
	if d.lexicon == nil {
		return false, nil
	}
	w := bufio.NewWriter(words)
	for _, e := range d.lexicon.Words {
		tag := e.Tag
		if tag == "" {
			tag = "x" // gojieba wants three fields
		}
		fmt.Fprintf(w, "%s %.0f %s\n", e.Text, e.Freq, tag)
	}
	err = w.Flush()
	m := &d.lexicon.HMM
	w.Reset(hmm)
	line := func(row []float64) {
		for i, v := range row {
			if i > 0 {
				w.WriteByte(' ') //nolint:errcheck // Flush says it
			}
			w.WriteString(strconv.FormatFloat(v, 'g', -1, 64)) //nolint:errcheck // Flush says it
		}
		w.WriteByte('\n') //nolint:errcheck // Flush says it
	}
	line(m.Start[:])
	for from := range m.Trans {
		line(m.Trans[from][:])
	}
	for state := range model.States {
		separator := ""
		for r, e := range m.Emit {
			if e[state] > model.Unseen {
				fmt.Fprintf(w, "%s%c:%v", separator, r, strconv.FormatFloat(e[state], 'g', -1, 64))
				separator = ","
			}
		}
		if separator == "" {
			fmt.Fprintf(w, "的:%v", model.Unseen) // gojieba wants one
		}
		fmt.Fprintln(w)
	}
	return true, errors.Join(err, w.Flush())
}
