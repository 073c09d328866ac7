package method_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/neardup/neardup/job/internal/config"
	"github.com/neardup/neardup/job/internal/method"
	"github.com/neardup/neardup/simhash/gojieba"
	"github.com/neardup/neardup/simhash/jieba"
)

func TestNewAnalyzer(t *testing.T) {
	dir := t.TempDir()
	words, stop := filepath.Join(dir, "words"), filepath.Join(dir, "stop")
	for path, text := range map[string]string{words: "云原生计算 100 n\n", stop: "我们\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text := []byte("我们在云原生计算大会上谈论分布式系统和数据库的未来发展方向以及工程实践")
	method.LinkGojieba(func(d *jieba.Dictionary) (method.Segmenter, error) { return gojieba.New(d) })
	var first string
	segmenters := []string{config.SegmenterBuiltin, config.SegmenterGojieba}
	if testing.Short() {
		segmenters = segmenters[:1] // each loads a dictionary of its own
	}
	for _, segmenter := range segmenters {
		f := config.Default().Features
		f.Segmenter, f.UserWords, f.StopList = segmenter, []string{words}, stop
		analyzer, release, err := method.NewAnalyzer(f)
		if errors.Is(err, gojieba.ErrUnavailable) {
			t.Skipf("%v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%+v", analyzer.NewWorkspace().Fingerprint(nil, text))
		if first == "" {
			first = got
			plain, _, err := method.NewAnalyzer(config.Default().Features)
			if err != nil {
				t.Fatal(err)
			}
			if again := fmt.Sprintf("%+v", plain.NewWorkspace().Fingerprint(nil, text)); again == got {
				t.Error("user words and stop list changed nothing")
			}
		}
		if got != first {
			t.Errorf("%s: %s, builtin: %s", segmenter, got, first)
		}
		if err := release(); err != nil {
			t.Fatal(err)
		}
	}
	f := config.Default().Features
	f.StopList = filepath.Join(dir, "missing")
	if _, _, err := method.NewAnalyzer(f); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Fatalf("got %v, want the missing file", err)
	}
}
