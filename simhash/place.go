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

// Place returns where the letters first to last − 1, as Read counts them, are in
// text: the characters (code points) from to to − 1. First must be less than last. A
// letter that several characters make, such as one with an accent, has the place of
// all of them.
//
// Place cuts the text before every character that never combines with the one before
// it, as such pieces can be normalised one by one. That is slower than Read, and meant
// for the few texts where something was found.
func (l *LetterReader) Place(text []byte, first, last int) (from, to int) {
	t, known := simplifiedForms(), letters()
	from = -1
	n, characters := 0, 0 // before the piece
	for i := 0; i < len(text); {
		r, size := decode(text[i:])
		f, end, of := t.form(r), i+size, 1
		for end < len(text) {
			next, size := decode(text[end:])
			if t.form(next)&formSlow == 0 {
				break
			}
			end += size
			of++
		}
		had := n
		switch {
		case of == 1 && f < formExpand:
			if f < endOfLetters {
				n += int(known[f>>5] >> (f & 31) & 1)
			}
		default:
			l.form = t.append(l.form[:0], text[i:end], &l.scratch)
			n += len(appendLetters(nil, l.form))
		}
		if from < 0 && n > first && n > had {
			from = characters
		}
		characters += of
		if n >= last {
			return max(from, 0), characters
		}
		i = end
	}
	return max(from, 0), characters
}
