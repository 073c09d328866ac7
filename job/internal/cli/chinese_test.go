package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mistakes are command lines that cannot be, in a folder of mistaken files.
var mistakes = []string{
	"run",
	"run pages.jsonl",
	"run nowhere --out r",
	"run a-run --out r",
	"run pages.jsonl --ot r",
	"run pages.jsonl -out r",
	"run pages.jsonl -x",
	"run pages.jsonl --out",
	"run pages.jsonl --out s3://",
	"run pages.jsonl --out ftp://host/r",
	"run pages.jsonl --out a-file",
	"run pages.jsonl --out full",
	"run pages.jsonl --out r --preset fast",
	"run pages.jsonl --out r --distance many",
	"run pages.jsonl --out r --distance 99",
	"run pages.jsonl --out r --memory 4",
	"run pages.jsonl --out r --encoding utf9",
	"run pages.jsonl --out r --threads 4",
	"run pages.jsonl --out r --force",
	"run pages.jsonl --out r --set match.bandz=true",
	"run pages.jsonl --out r --set match.bands",
	"run pages.jsonl --out r --config nowhere.yaml",
	"run pages.jsonl --out r --config wrong.yaml",
	"run pages.jsonl --out r --library lib",
	"run pages.jsonl --out r --night yesterday --library lib",
	"run pages.jsonl --out r --keep rank",
	"run pages.jsonl --out r --against nowhere",
	"run pages.jsonl --out r --text-column body",
	"run pages.jsonl --out r --format xml",
	"run points.csv --out r",
	"run one.txt --out r",
	"run empty.jsonl --out r",
	"run pages.xlsx --out r",
	"runn pages.jsonl",
	"match pages.jsonl --out r",
	"inspect nowhere",
	"report full",
	"report --index full",
	"review full",
	"explain one.txt",
	"explain one.txt nowhere.txt",
	"explain --method fast one.txt one.txt",
	"export full",
	"export full --csv tables",
	"status full",
	"verify nowhere",
	"lookup one.txt",
	"lookup --library lib",
	"lookup --library nowhere one.txt",
	"library status nowhere",
	"library delete nowhere",
	"library statsu lib",
	"eval pages.jsonl --methods fast",
	"eval pages.jsonl --edits shake=1",
	"config match.bandz",
	"plan nowhere",
	"version now",
	"report full --out x.html",
	"export full --excel x.xlsx",
	"run pages.jsonl —out r",
	"run pages.jsonl --out r --language zh",
	"--lang fr run",
}

// Who reads Chinese is told of a mistake in Chinese, but for names.
func TestMistakesInChinese(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"pages.jsonl": `{"id":"a","text":"one page of one site"}` + "\n",
		"points.csv":  "id;text\n1;hello\n", "one.txt": "one text\n", "empty.jsonl": "", "a-file": "x", "pages.xlsx": "x",
		"wrong.yaml": "match: {distanc: 3}\n", "full/x": "x", "a-run/run.json": "{}", "a-run/_SUCCESS": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, line := range mistakes {
		if testing.Short() && i%4 != 0 {
			continue
		}
		args := strings.Fields(line)
		code, said := inProcess(append([]string{"--lang", "en"}, args...)...)
		chineseCode, chinese := inProcess(append([]string{"--lang", "zh"}, args...)...)
		if strings.HasPrefix(line, "--lang") {
			chineseCode, chinese = code, said
		}
		if code == 0 || code != chineseCode {
			t.Errorf("neardup %s: exit code %d, in Chinese %d", line, code, chineseCode)
		}
		if strings.HasPrefix(line, "--lang") {
			continue
		}
		if words := englishWords.FindString(withoutNames(chinese, args)); words != "" || !han.MatchString(chinese) {
			t.Errorf("neardup %s: %q is left in\n%sin English\n%s", line, words, chinese, said)
		}
	}
}

var (
	han = regexp.MustCompile(`\p{Han}`)

	// Two English words beside each other are of a sentence, unless they are names.
	englishWords = regexp.MustCompile(`[A-Za-z]{2,} [A-Za-z]{2,}`)
	names        = regexp.MustCompile("`[^`]*`" + `|"[^"]*"|neardup( [a-z]+)*|--[a-z-]+( [A-Z]+| \w+[=.]\S+)?`)
)

// withoutNames leaves out what is the same in all languages: what was typed, flags
// and commands.
func withoutNames(text string, typed []string) string {
	text = names.ReplaceAllString(text, "…")
	for _, t := range typed {
		text = strings.ReplaceAll(text, t, "…")
	}
	return text
}
