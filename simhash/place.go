package simhash

// LetterReader reads the letters of texts as they are in the input, and tells where
// in the text they are. It gives letters the form that n-grams are made of: one case,
// one width, simplified characters for traditional ones and for variants. Unlike the
// normal form it keeps HTML entities and line numbers, since they are characters of
// the text. It reuses its buffers, so only one goroutine may use it at a time.
type LetterReader struct {
	form    []byte
	scratch scratch
}

// Read appends the letters of text to dst, each as its character plus 1.
func (l *LetterReader) Read(dst []uint32, text []byte) []uint32 {
	l.form = simplifiedForms().append(l.form[:0], text, &l.scratch)
	return appendLetters(dst, l.form)
}

func appendLetters(dst []uint32, form []byte) []uint32 {
	for len(form) > 0 {
		room := len(form) + LetterRoom // no letter is of less than a byte
		if cap(dst)-len(dst) < room {
			dst = append(make([]uint32, 0, len(dst)+room), dst...)
		}
		n, read := ReadLetters(dst[len(dst):][:room], form)
		dst, form = dst[:len(dst)+n], form[read:]
	}
	return dst
}

// Cursor tells where in a text letters are, from its beginning on. A letter that several
// characters make, such as one with an accent, has the place of all of them.
//
// It cuts the text before every character that never combines with the one before it, as
// such pieces can be normalised one by one. That is slower than Read, and meant for the
// few texts where something was found.
type Cursor struct {
	reader *LetterReader
	forms  *formTable
	known  *letterBits
	text   []byte
	next   int // byte behind the piece

	letters int // up to the piece's end
	from    Place
	to      Place
}

// Place is a place in a text.
type Place struct {
	Character int // code points before it
	Byte      int
}

// Cursor returns a cursor at the beginning of a text. It uses the reader's buffers.
func (l *LetterReader) Cursor(text []byte) *Cursor {
	return &Cursor{reader: l, forms: simplifiedForms(), known: letters(), text: text}
}

// Start is where a letter begins, as Read counts them. The letters that a cursor is asked
// for must ascend.
func (c *Cursor) Start(letter int) Place {
	for c.letters <= letter && c.step() {
	}
	return c.from
}

// End is where the letters before the given one end.
func (c *Cursor) End(letter int) Place {
	for c.letters < letter && c.step() {
	}
	return c.to
}

// step goes to the next piece. It reports whether there is one.
func (c *Cursor) step() bool {
	if c.next == len(c.text) {
		return false
	}
	t := c.forms
	r, size := decode(c.text[c.next:])
	f, end, of := t.form(r), c.next+size, 1
	for end < len(c.text) {
		next, size := decode(c.text[end:])
		if t.form(next)&formSlow == 0 {
			break
		}
		end += size
		of++
	}
	l := c.reader
	switch {
	case of == 1 && f < formExpand:
		if f < endOfLetters {
			c.letters += int(c.known[f>>5] >> (f & 31) & 1)
		}
	default:
		l.form = t.append(l.form[:0], c.text[c.next:end], &l.scratch)
		c.letters += len(appendLetters(nil, l.form))
	}
	c.from = c.to
	c.to = Place{c.from.Character + of, end}
	c.next = end
	return true
}
