package review

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/neardup/neardup/job/internal/labels"
	"github.com/neardup/neardup/job/internal/message"
	"github.com/neardup/neardup/job/internal/show"
)

// Screen is where a reader sees the pairs, and answers.
type Screen struct {
	Keys         io.Reader // a byte a key
	Out          io.Writer
	Cells, Lines int // of the screen; Lines 0: pairs are written one after the other
	Colour       bool
	Language     message.Language
	Who          string
	Path         string // of the file of verdicts, which is appended to

	page int // of a pair that the screen does not hold
}

// Read shows the pairs that the reader has not judged yet, and appends each
// verdict to the reader's file as it is given. It ends behind the last pair, at
// q, and at the end of the keys.
func (s *Screen) Read(ctx context.Context, items []Item) error {
	have, err := s.judged(items)
	if err != nil {
		return err
	}
	keys := bufio.NewReader(s.Keys)
	var done []int // judged now, for undo
	at := next(have, 0)
	for at < len(items) {
		if err := s.show(items, at, have); err != nil {
			return err
		}
		key, err := s.key(ctx, keys)
		if err != nil || key == 'q' {
			return s.line(err)
		}
		if key == ' ' {
			s.page++
			continue
		}
		s.page = 0
		switch key {
		case 'y', 'n', '?':
			a := map[rune]labels.Answer{'y': labels.Yes, 'n': labels.No, '?': labels.Unsure}[key]
			if err := s.append(&items[at], a); err != nil {
				return err
			}
			have[at] = a
			done = append(done, at)
			at = next(have, at)
		case 'u':
			if len(done) == 0 {
				continue
			}
			at = done[len(done)-1]
			done = done[:len(done)-1]
			if err := s.append(&items[at], labels.None); err != nil {
				return err
			}
			have[at] = labels.None
		case 'j':
			at = min(at+1, len(items)-1)
		case 'k':
			at = max(at-1, 0)
		}
	}
	_, err = fmt.Fprintf(s.Out, "\r\n%s\r\n", s.Language.Text("That was the last pair. Verdicts are in %s", show.Line(s.Path)))
	return err
}

// next is the first pair from there on without a verdict; of none, one before.
func next(have []labels.Answer, from int) int {
	for i := range have {
		if at := (from + i) % len(have); have[at] == labels.None {
			return at
		}
	}
	return len(have)
}

// judged reads what the reader has said already.
func (s *Screen) judged(items []Item) ([]labels.Answer, error) {
	have := make([]labels.Answer, len(items))
	rows, err := labels.ReadOwn(s.Path)
	if err != nil {
		return nil, err
	}
	said := map[[2]string]labels.Answer{}
	for _, r := range rows {
		if r.Who == s.Who {
			said[[2]string{min(r.A, r.B), max(r.A, r.B)}] = r.Answer
		}
	}
	for i := range items {
		p := items[i].Pair
		have[i] = said[[2]string{min(p.A, p.B), max(p.A, p.B)}]
	}
	return have, nil
}

func (s *Screen) append(i *Item, a labels.Answer) error {
	return labels.Append(s.Path, labels.Row{A: i.A, B: i.B, Answer: a, Who: s.Who, When: time.Now().UTC().Truncate(time.Second)})
}

// key is the next key that means something.
func (s *Screen) key(ctx context.Context, keys *bufio.Reader) (rune, error) {
	const interrupt, escape = 3, 27
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		key, _, err := keys.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return 'q', nil
		case err != nil:
			return 0, err
		case key == interrupt, key == escape && keys.Buffered() == 0:
			return 'q', nil
		case key == escape: // of an arrow: its two further bytes
			rest := make([]byte, 2)
			if _, err := io.ReadFull(keys, rest); err != nil {
				return 'q', nil //nolint:nilerr // the keys have ended
			}
			if key = map[byte]rune{'C': 'j', 'D': 'k'}[rest[1]]; key != 0 {
				return key, nil
			}
		case key == '？':
			return '?', nil
		case strings.ContainsRune("yn?ujkq ", key):
			return key, nil
		}
	}
}

// show writes a pair: on a terminal on an empty screen, as much as it holds.
func (s *Screen) show(items []Item, at int, have []labels.Answer) error {
	i, t := &items[at], s.Language
	var b strings.Builder
	read := 0
	for _, a := range have {
		if a != labels.None {
			read++
		}
	}
	b.WriteString(t.Text("Pair %d of %d, %d judged", at+1, len(items), read))
	if have[at] != labels.None {
		fmt.Fprintf(&b, " · %s", answer(t, have[at]))
	}
	b.WriteByte('\n')
	for _, d := range []*Document{&i.First, &i.Second} {
		about := show.Line(d.ID)
		if d.Title != "" {
			about = show.Line(d.Title) + " · " + about
		}
		if d.Date != "" {
			about += " · " + d.Date
		}
		b.WriteString(show.Cut(about, max(20, s.Cells)) + "\n")
		if d.Gone != nil {
			fmt.Fprintf(&b, "  %s\n", show.Line(t.Text("the text cannot be read: %s", t.Error(d.Gone))))
		}
	}
	b.WriteByte('\n')
	var body strings.Builder
	rows, same := i.Rows()
	if same {
		body.WriteString(t.Text("The two texts are identical in the part shown.") + "\n\n" + show.Wrap(i.First.Text, s.Cells))
	} else if err := show.WriteSideBySide(&body, rows, s.Cells, s.Colour, func(n int) string { return t.Text("… %d the same …", n) }); err != nil {
		return err
	}
	const around = 6 // lines beside the texts
	lines := strings.Split(strings.TrimSuffix(body.String(), "\n"), "\n")
	if room := max(s.Lines-around, 2); s.Lines > 0 && len(lines) > room {
		room-- // the last says where it is
		from := s.page * room % ((len(lines) + room - 1) / room * room)
		to := min(from+room, len(lines))
		lines = append(slices.Clone(lines[from:to]), t.Text("lines %d to %d of %d: space shows more", from+1, to, len(lines)))
	}
	b.WriteString(strings.Join(lines, "\n") + "\n\n")
	b.WriteString(t.Text("y yes · n no · ? unsure · u undo · j next · k back · q quit"))
	text := strings.ReplaceAll(b.String(), "\n", "\r\n")
	if s.Lines > 0 {
		text = "\x1b[H\x1b[2J" + text
	} else {
		text += "\r\n"
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// line ends the line of the keys.
func (s *Screen) line(err error) error {
	if _, wrong := io.WriteString(s.Out, "\r\n"); err == nil {
		err = wrong
	}
	return err
}
