package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// How often an address is tried, how long each try may take, and the pause
// between them.
const (
	tries   = 3
	timeout = 10 * time.Second
	pause   = time.Second
)

// commandVariable has the alarm's command for the shell.
const commandVariable = "NEARDUP_ALARM"

// runCommand hands the alarm to a shell command on its standard input. The
// command may have a token in it: it goes to the shell by the environment, for
// every user of the machine sees arguments.
func runCommand(ctx context.Context, command string, alarm []byte) error {
	shell := []string{"sh", "-c", `eval "$` + commandVariable + `"`}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C", command}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1:]...) //nolint:gosec // it is the operator's
	cmd.Env = append(os.Environ(), commandVariable+"="+command)
	cmd.Stdin = bytes.NewReader(alarm)
	cmd.WaitDelay = time.Second // its children may hold the pipe
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("alarm command: %w: %s", err, without(command, strings.TrimSpace(string(out[:min(len(out), 1000)]))))
	}
	return nil
}

// without is what a command said without the words of the command that may be a
// secret: the log is for more to see than the settings.
func without(command, said string) string {
	const short = 8 // letters that no secret has
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=;|&<>(){}", r) }) {
		if len(word) >= short {
			said = strings.ReplaceAll(said, word, "***")
		}
	}
	return said
}

// post sends the alarm to an address.
func post(ctx context.Context, address string, alarm []byte) error {
	for n := 1; ; n++ {
		err := postOnce(ctx, address, alarm)
		if err == nil {
			return nil
		}
		if n == tries || ctx.Err() != nil {
			return fmt.Errorf("alarm address: %w, after %d tries", withoutAddress(err), n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func postOnce(ctx context.Context, address string, text []byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", req.URL.Host, resp.Status)
	}
	return nil
}

// withoutAddress is the error of a request without its address, whose path and
// query are mostly a secret.
func withoutAddress(err error) error {
	var of *url.Error
	if !errors.As(err, &of) {
		return err
	}
	host := "the address"
	if u, bad := url.Parse(of.URL); bad == nil && u.Host != "" {
		host = u.Host
	} else {
		return fmt.Errorf("%s is none: write https://HOST/PATH", host)
	}
	return fmt.Errorf("%s: %w", host, of.Err)
}
