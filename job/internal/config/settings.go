package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Setting is one field of a Config that a user may set, as the tags of the
// field state it: yaml, help, and where they apply flag with group, allow (all
// that it may be) and least (of a number). Flags, the comments of the
// configuration file and the lists of settings are made from it.
type Setting struct {
	Name  string // in the configuration file, like match.distance
	Flag  string // on the command line, or ""
	Short string // the flag's one-letter form, or ""
	Group string // of the flag, in a help text
	help  string
	allow []string
	least int64
	field any // points into the Config
}

// SettingPreset is the setting that stands for others.
const SettingPreset = "match.preset"

// Settings lists the settings of c, in the order of the configuration file.
func (c *Config) Settings() []Setting { return settings("", reflect.ValueOf(c).Elem()) }

func settings(prefix string, v reflect.Value) (all []Setting) {
	for i := range v.NumField() {
		tag, field := v.Type().Field(i).Tag, v.Field(i)
		name, inline, _ := strings.Cut(tag.Get("yaml"), ",")
		switch {
		case name == "-":
		case inline != "":
			all = append(all, settings(prefix, field)...)
		case field.Kind() == reflect.Struct:
			all = append(all, settings(name+".", field)...)
		default:
			s := Setting{Name: prefix + name, Group: tag.Get("group"), help: tag.Get("help"), field: field.Addr().Interface()}
			s.Flag, s.Short, _ = strings.Cut(tag.Get("flag"), ",")
			if allow := tag.Get("allow"); allow != "" {
				s.allow = strings.Split(allow, ",")
			}
			s.least, _ = strconv.ParseInt(tag.Get("least"), 10, 64) // 0: no tag
			all = append(all, s)
		}
	}
	return all
}

// Values are all that the setting may be; nil: its type says it.
func (s Setting) Values() []string { return s.allow }

// Usage says in one line what the setting is for, and what is allowed.
func (s Setting) Usage() string {
	if n := len(s.allow) - 1; n > 0 {
		return s.help + ": " + strings.Join(s.allow[:n], ", ") + " or " + s.allow[n]
	}
	return s.help
}

// Type is the kind of the value: string, slice, bool, int, int64 or float64.
func (s Setting) Type() string {
	return reflect.TypeOf(s.field).Elem().Kind().String()
}

// String is the value as Set takes it.
func (s Setting) String() string {
	if list, ok := s.field.(*[]string); ok {
		return strings.Join(*list, ",")
	}
	return fmt.Sprint(reflect.ValueOf(s.field).Elem())
}

// YAML is the value as the configuration file has it.
func (s Setting) YAML() (string, error) {
	value, err := yaml.MarshalWithOptions(s.field, yaml.Flow(true))
	if err != nil {
		return "", fmt.Errorf("config: %s: %w", s.Name, err)
	}
	return strings.TrimSpace(string(value)), nil
}

// Set parses the value. Commas divide the elements of a list.
func (s Setting) Set(value string) (err error) {
	want := "a whole number"
	switch p := s.field.(type) {
	case *string:
		*p = value
	case *[]string:
		*p = strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
	case *bool:
		want = "true or false"
		switch value {
		case "yes", "on":
			value = "true"
		case "no", "off":
			value = "false"
		}
		*p, err = strconv.ParseBool(value)
	case *int:
		*p, err = strconv.Atoi(value)
	case *int64:
		*p, err = strconv.ParseInt(value, 10, 64)
	case *time.Duration:
		want = "a time like 90s, 2m or 12h"
		*p, err = time.ParseDuration(value)
	case *float64:
		want = "a number"
		*p, err = strconv.ParseFloat(value, 64)
	}
	if err != nil {
		return &SettingError{s.Name, strconv.Quote(value), "write " + want}
	}
	return nil
}

// check refuses a value that is not allowed or out of range.
func (s Setting) check(usual Setting) error {
	switch p := s.field.(type) {
	case *string:
		if s.allow != nil && *p != usual.String() && !slices.Contains(s.allow, *p) {
			return s.wrong("write one of " + strings.Join(s.allow, ", "))
		}
	case *float64: // a similarity
		if !(*p >= 0 && *p <= 1) {
			return s.wrong("write a number from 0 to 1")
		}
	case *int, *int64:
		if v := reflect.ValueOf(p).Elem().Int(); v < s.least {
			return s.wrong(fmt.Sprintf("write a number from %d", s.least))
		}
	}
	return nil
}

// SettingError is a value that a setting cannot have.
type SettingError struct {
	Name   string // of the setting, or how the user named it
	Value  string
	Remedy string // what to write instead
}

func (e *SettingError) Error() string { return fmt.Sprintf("%s %s: %s", e.Name, e.Value, e.Remedy) }

// wrong is an error that names the setting, its value and the remedy.
func (s Setting) wrong(remedy string) error {
	value := s.String()
	if s.Type() == "string" {
		value = strconv.Quote(value)
	}
	return &SettingError{s.Name, value, remedy}
}
