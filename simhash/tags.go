package simhash

import (
	"fmt"
	"slices"
	"strings"
)

// TagError reports a part of speech that no word of the dictionary has. With that tag
// alone every document would be empty.
type TagError struct {
	Tag    string
	Remedy string // what to write instead
}

func (e *TagError) Error() string { return fmt.Sprintf("tags %q: %s", e.Tag, e.Remedy) }

// checkTags returns a TagError for the first of the tags that none of those that
// the dictionary has begins with.
func checkTags(tags, known []string) error {
	has := func(tag string) bool {
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, tag) })
	}
	for _, tag := range tags {
		if has(tag) {
			continue
		}
		remedy := "no word of the dictionary is one: write " + partsOfSpeech[strings.ToLower(tag)]
		if meant := partsOfSpeech[strings.ToLower(tag)]; meant == "" || !has(meant) {
			names := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return len(k) > 1 })
			slices.Sort(names)
			remedy = "no word of the dictionary is one: write some of " + strings.Join(slices.Compact(names), ", ") + ", or a longer tag of the dictionary"
		}
		return &TagError{tag, remedy}
	}
	return nil
}

// partsOfSpeech are the tags of ICTCLAS, which jieba has, by what they are called.
var partsOfSpeech = map[string]string{
	"名词": "n", "人名": "nr", "地名": "ns", "机构": "nt", "机构名": "nt", "专名": "nz", "专有名词": "nz",
	"动词": "v", "名动词": "vn", "副动词": "vd", "形容词": "a", "名形词": "an", "副词": "d", "区别词": "b", "状态词": "z",
	"数词": "m", "量词": "q", "代词": "r", "介词": "p", "连词": "c", "助词": "u", "叹词": "e", "语气词": "y", "拟声词": "o",
	"时间词": "t", "处所词": "s", "方位词": "f", "成语": "i", "习用语": "l", "简称": "j",
	"noun": "n", "nouns": "n", "nn": "n", "person": "nr", "place": "ns", "organization": "nt", "organisation": "nt",
	"verb": "v", "verbs": "v", "vb": "v", "adjective": "a", "adjectives": "a", "adj": "a", "jj": "a", "adverb": "d", "adverbs": "d", "adv": "d", "rb": "d",
	"numeral": "m", "number": "m", "num": "m", "pronoun": "r", "pron": "r", "preposition": "p", "adp": "p", "conjunction": "c", "particle": "u", "time": "t", "idiom": "i",
}
