package monitor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"runtime"
	"time"
)

// How often an address is tried, how long each try may take, and the pause
// between them.
const (
	tries   = 3
	timeout = 10 * time.Second
	pause   = time.Second
)

// runCommand hands the alarm to a shell command on its standard input.
func runCommand(ctx context.Context, command string, alarm []byte) error {
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/C"}
	}
	cmd := exec.CommandContext(ctx, shell[0], shell[1], command) //nolint:gosec // it is the operator's
	cmd.Stdin = bytes.NewReader(alarm)
	cmd.WaitDelay = time.Second // its children may hold the pipe
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("alarm command: %w: %s", err, bytes.TrimSpace(out[:min(len(out), 1000)]))
	}
	return nil
}

// post sends the alarm to an address.
func post(ctx context.Context, url string, alarm []byte) error {
	for n := 1; ; n++ {
		err := postOnce(ctx, url, alarm)
		if err == nil {
			return nil
		}
		if n == tries || ctx.Err() != nil {
			return fmt.Errorf("alarm address: %w, after %d tries", err, n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func postOnce(ctx context.Context, url string, text []byte) (err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
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
		return fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status)
	}
	return nil
}
