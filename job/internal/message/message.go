// Package message is what people are told, in English and in Chinese: one
// catalogue, whose keys are the English forms. It knows no run and prints
// nothing. Names of settings, flags, columns and files are the same in both.
package message

import (
	"fmt"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// Language is what a reader is spoken to in.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// Parse returns the language of a name or of a locale, like zh_CN.UTF-8: Chinese
// or, of every other one, English.
func Parse(name string) Language {
	if strings.HasPrefix(strings.ToLower(name), string(Chinese)) {
		return Chinese
	}
	return English
}

// Locale is the language that an environment asks for.
func Locale(getenv func(string) string) Language {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := getenv(name); v != "" {
			return Parse(v)
		}
	}
	return English
}

var tags = map[Language]language.Tag{English: language.English, Chinese: language.SimplifiedChinese}

var printers = func() map[Language]*message.Printer {
	c := catalog.NewBuilder(catalog.Fallback(language.English))
	set := func(l Language, key string, of ...catalog.Message) {
		if err := c.Set(tags[l], key, of...); err != nil {
			panic(fmt.Sprintf("message: %q: %v", key, err)) // the catalogue is a constant
		}
	}
	for key, form := range chinese {
		set(Chinese, key, catalog.String(form))
	}
	for thing, form := range things {
		key := "%d " + thing
		set(English, key, plural.Selectf(1, "%d", plural.One, "%d "+thing, plural.Other, "%d "+many(thing)))
		set(Chinese, key, catalog.String("%d "+form))
	}
	all := map[Language]*message.Printer{}
	for l, tag := range tags {
		all[l] = message.NewPrinter(tag, message.Catalog(c))
	}
	return all
}()

// many is the plural of a thing, of which the first word before "with" or "of"
// is the noun.
func many(thing string) string {
	for _, behind := range []string{" with ", " of "} {
		if noun, rest, ok := strings.Cut(thing, behind); ok {
			return many(noun) + behind + rest
		}
	}
	if strings.HasSuffix(thing, "x") || strings.HasSuffix(thing, "ch") {
		return thing + "es"
	}
	return thing + "s"
}

// Text says something: the English form, which is the key, with its arguments as
// of fmt.Sprintf; integers have their thousands apart. The key is a constant that
// the catalogue has, which a test sees to.
func (l Language) Text(key string, args ...any) string {
	return printers[l.known()].Sprintf(key, args...)
}

// Key marks a constant that Text is going to be given.
func Key(key string) string { return key }

// Space is what stands between two sentences.
func (l Language) Space() string {
	if l == Chinese {
		return ""
	}
	return " "
}

// Count says so many of a thing, which is named in English in the singular.
func (l Language) Count(n int64, thing string) string {
	return l.Text("%d "+thing, n)
}

// Name is a word that the program uses for itself, like a reason or a verdict: in
// Chinese with what it means, so that it can be found in the tables too.
func (l Language) Name(word string) string {
	if form, ok := words[word]; ok && l == Chinese {
		return form
	}
	return word
}

func (l Language) known() Language {
	if _, ok := tags[l]; ok {
		return l
	}
	return English
}
