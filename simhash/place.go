package simhash

// LetterReader reads the letters of texts as they stand in the input, in the
// form that n-grams are made of: of one case and width, traditional characters
// and variants as those that are written today. It tells where in the text
// letters stand. Entities and line numbers stay, as they are characters of the
// text. It holds buffers; one goroutine uses it at a time.
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

// Place returns where the letters from first to last − 1, as Read counts them,
// stand in text: the characters (code points) from from to to − 1. first is less
// than last. A letter that several characters make, like one with an accent, has
// the place of all of them.
//
// It goes over the text piece by piece, cut before every character that never
// combines with what is before it: such pieces have the same form apart as
// together. That is slower than Read, and meant for the few texts where something
// was found.
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
