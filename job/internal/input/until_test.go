package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

// What comes is read as it is, in pieces of any size, with the error at its end.
func TestUntilReads(t *testing.T) {
	text := []byte(strings.Repeat("a page of text\n", 20_000))
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(text), "halves": iotest.HalfReader(bytes.NewReader(text)), "the error with the data": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		if err := iotest.TestReader(Until(t.Context(), in), text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	failed := errors.New("failed")
	got, err := io.ReadAll(Until(t.Context(), io.MultiReader(bytes.NewReader(text), iotest.ErrReader(failed))))
	if !errors.Is(err, failed) || !bytes.Equal(got, text) {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
}

// A read of what is silent ends with the context.
func TestUntilEnds(t *testing.T) {
	silent, keep, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keep.Close()
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	u := Until(ctx, silent)
	ended := make(chan error)
	for range 2 {
		go func() {
			_, err := u.Read(make([]byte, 10))
			ended <- err
		}()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	}
}
