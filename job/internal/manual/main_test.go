package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPages(t *testing.T) {
	folder := t.TempDir()
	if err := write(folder, "2026-11-22"); err != nil {
		t.Fatal(err)
	}
	for page, says := range map[string][]string{
		"neardup.1":                {`"NEARDUP" "1" "Nov 2026" "neardup `, "neardup-run(1)"},
		"neardup-run.1":            {"--preset", "thorough", "--out"},
		"neardup-library-status.1": {"library"},
	} {
		text, err := os.ReadFile(filepath.Join(folder, page))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(text), `\-`, "-")
		for _, want := range says {
			if !strings.Contains(plain, want) {
				t.Errorf("%s does not say %q:\n%.1500s", page, want, plain)
			}
		}
	}
	if err := write(folder, "today"); err == nil {
		t.Error("a date that is none was taken")
	}
}
