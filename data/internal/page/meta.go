package page

import (
	"bytes"
	"slices"
)

// forumPrograms are what pages that a program for forums made name first as their
// generator.
var forumPrograms = [...][]byte{
	[]byte("Discourse"), []byte("Discuz!"), []byte("Flarum"), []byte("FluxBB"), []byte("Invision"), []byte("MyBB"), []byte("NodeBB"),
	[]byte("phpBB"), []byte("SMF"), []byte("Simple Machines"), []byte("Vanilla"), []byte("vBulletin"), []byte("XenForo"),
}

func (s *scanner) meta(a *attributes) {
	switch string(a.name) {
	case "og:type":
		s.kinds |= kindOf(a.content)
	case "og:title":
		if len(s.shownTitle) == 0 {
			s.shownTitle = s.line(s.shownTitle, a.content)
		}
	case "generator":
		s.forum = s.forum || slices.ContainsFunc(forumPrograms[:], func(name []byte) bool { return bytes.HasPrefix(a.content, name) })
	case "description", "og:description":
		// The longest; each that is looked at is longer than the one before.
		if len(a.content) > len(s.description) && len(s.description) < maxLine/2 {
			s.description = s.line(s.description[:0], a.content)
		}
	default:
		if len(s.language) == 0 && bytes.EqualFold(a.name, []byte("content-language")) {
			s.language = append(s.language, a.content...)
		}
	}
}

// What a page says that it is, to search engines.
const (
	kindArticle = 1 << iota
	kindProduct
	kindForum
	kindList
	kindSite
	kindCount = iota
)

// kindOf is the kind of a type of schema.org or Open Graph.
func kindOf(name []byte) uint8 {
	switch {
	case bytes.Contains(name, []byte("rticle")) || bytes.Contains(name, []byte("Posting")) && !bytes.Contains(name, []byte("Forum")) || bytes.Contains(name, []byte("Recipe")):
		return kindArticle
	case bytes.Contains(name, []byte("roduct")) || bytes.Contains(name, []byte("Offer")):
		return kindProduct
	case bytes.Contains(name, []byte("Forum")) || bytes.Contains(name, []byte("QAPage")) || bytes.Contains(name, []byte("Answer")):
		return kindForum
	case bytes.Contains(name, []byte("ItemList")) || bytes.Contains(name, []byte("Collection")):
		return kindList
	case bytes.Contains(name, []byte("website")):
		return kindSite
	}
	return 0
}

// kindsOf are those of JSON-LD.
func kindsOf(b []byte) (kinds uint8) {
	for {
		i := bytes.Index(b, []byte(`"@type"`))
		if i < 0 {
			return kinds
		}
		b = b[i+7:]
		kinds |= kindOf(b[:min(len(b), 40)])
	}
}
