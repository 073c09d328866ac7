//go:build cgo

package gojieba

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yanyiwu/gojieba"

	"github.com/neardup/neardup/simhash/jieba"
)

// errClosed is returned for a second Close.
var errClosed = errors.New("segmenter is closed")

// Segmenter is a loaded gojieba. It is safe for concurrent use.
type Segmenter struct {
	d  *jieba.Dictionary
	mu sync.RWMutex // Close waits for running cuts
	x  *gojieba.Jieba
}

// New loads gojieba with the lexicon of d, which also numbers the words that
// come out: gojieba's own files, but for the user dictionary, and what d has in
// place of the words and the hidden Markov model. It takes about a second and 130
// MB.
func New(d *jieba.Dictionary) (*Segmenter, error) {
	dir, err := os.MkdirTemp("", "gojieba-")
	if err != nil {
		return nil, fmt.Errorf("gojieba: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // leftover temporary files
	// gojieba takes an empty path for its own file; a file may be empty.
	user := filepath.Join(dir, "user.dict.utf8")
	if strings.ContainsAny(user, "|;") {
		return nil, fmt.Errorf("gojieba: it takes %q for several files; set TMPDIR to a directory without | and ;", user)
	}
	words, hmm, err := writeLexicon(d, dir)
	if err == nil {
		err = os.WriteFile(user, userDict(d.UserWords()), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("gojieba: %w", err)
	}
	// idf and stop words have no part in a cut.
	for _, path := range []string{cmp.Or(words, gojieba.DICT_PATH), cmp.Or(hmm, gojieba.HMM_PATH), gojieba.IDF_PATH, gojieba.STOP_WORDS_PATH} {
		if err := readable(path); err != nil {
			return nil, err
		}
	}
	return &Segmenter{d: d, x: gojieba.NewJieba(words, hmm, user, "", "")}, nil
}

// writeLexicon writes the files of d's own lexicon to the folder, and returns
// their paths; empty ones if d has gojieba's.
func writeLexicon(d *jieba.Dictionary, dir string) (words, hmm string, err error) {
	var content [2]bytes.Buffer
	own, err := d.WriteLexicon(&content[0], &content[1])
	if !own || err != nil {
		return "", "", err
	}
	words, hmm = filepath.Join(dir, "jieba.dict.utf8"), filepath.Join(dir, "hmm_model.utf8")
	return words, hmm, errors.Join(os.WriteFile(words, content[0].Bytes(), 0o600), os.WriteFile(hmm, content[1].Bytes(), 0o600))
}

// readable reports why gojieba, which ends the process, could not open a file.
func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w: this program was built on another machine or with -trimpath; "+
			"use the embedded segmenter, which gives the same words, or build the program here", ErrUnavailable, err)
	}
	return f.Close()
}

// userDict writes words in the text form cppjieba reads. Only with a third
// field, the tag, is the second one a frequency; no tag comes out of Cut.
func userDict(words []jieba.UserWord) []byte {
	var b bytes.Buffer
	for _, w := range words {
		if w.Weight > 0 {
			fmt.Fprintf(&b, "%s %d x\n", w.Text, w.Weight)
		} else {
			fmt.Fprintln(&b, w.Text)
		}
	}
	return b.Bytes()
}

// Close releases the memory. Cut then finds no words.
func (s *Segmenter) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.x == nil {
		return fmt.Errorf("gojieba: %w", errClosed)
	}
	s.x.Free()
	s.x = nil
	return nil
}

// Cut does what jieba.Cutter.Cut does, with or without the hidden Markov model.
// gojieba itself returns nothing for a text with an invalid byte and stops at a
// NUL: it is given the pieces between them.
func (s *Segmenter) Cut(dst []jieba.Word, text []byte, hmm bool) []jieba.Word {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.x == nil {
		return dst
	}
	text = text[:min(len(text), math.MaxInt32)]
	start := 0
	for pos := 0; pos < len(text); {
		r, size := utf8.DecodeRune(text[pos:])
		if r == 0 || r == utf8.RuneError && size == 1 {
			dst = s.piece(dst, text, start, pos, hmm)
			dst = append(dst, jieba.Word{Start: int32(pos), End: int32(pos + 1), ID: -1})
			start = pos + 1
		}
		pos += size
	}
	return s.piece(dst, text, start, len(text), hmm)
}

func (s *Segmenter) piece(dst []jieba.Word, text []byte, start, end int, hmm bool) []jieba.Word {
	if start == end {
		return dst
	}
	pos := start
	for _, w := range s.x.Cut(string(text[start:end]), hmm) {
		id, _ := s.d.Lookup(text[pos : pos+len(w)])
		dst = append(dst, jieba.Word{Start: int32(pos), End: int32(pos + len(w)), ID: id})
		pos += len(w)
	}
	return dst
}
