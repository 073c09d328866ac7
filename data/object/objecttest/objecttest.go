// Package objecttest starts a real S3 server for tests: Versity's gateway over
// a folder. It is a program of its own, which .ci/run installs.
package objecttest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// version is the gateway's that the tests were made with.
const version = "v1.8.0"

// endpoint names the store in the environment.
const endpoint = "NEARDUP_S3_ENDPOINT"

// Server is a running server with one bucket.
type Server struct {
	Folder string // of the bucket: objects are files in it
	t      testing.TB
	client *minio.Client
	bucket string
	apart  bool              // this process's environment is left as it is
	env    map[string]string // of who uses the store
	line   []string          // command line
	cmd    *exec.Cmd
	said   bytes.Buffer
	ended  chan struct{} // closed when the server's process ended
}

// Put writes an object.
func (s *Server) Put(key string, content []byte) {
	s.t.Helper()
	if _, err := s.client.PutObject(context.Background(), s.bucket, key, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Remove deletes an object.
func (s *Server) Remove(key string) {
	s.t.Helper()
	if err := s.client.RemoveObject(context.Background(), s.bucket, key, minio.RemoveObjectOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// Stop ends the server.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
}

// Again starts a stopped server with what it had.
func (s *Server) Again() {
	s.t.Helper()
	if !s.start() {
		s.t.Fatalf("the S3 server ended: %s", &s.said)
	}
}

// Start starts a server that lives as long as the test, makes the bucket, and
// sets the environment so that package object finds both: it must be called
// before the process first uses the store. The test is skipped where the
// server is not installed.
func Start(t testing.TB, bucket string) *Server {
	t.Helper()
	return start(t, bucket, false)
}

// StartBeside is Start for a test that runs beside others, which may have a store of
// their own: it leaves the environment of this process as it is. Environ has what the
// processes are given that use the store.
func StartBeside(t testing.TB, bucket string) *Server {
	t.Helper()
	return start(t, bucket, true)
}

// Environ is what the environment of a process that uses the store has to hold.
func (s *Server) Environ() (env []string) {
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	return env
}

// setenv says where the store is.
func (s *Server) setenv(name, value string) {
	s.env[name] = value
	if !s.apart {
		s.t.Setenv(name, value)
	}
}

func start(t testing.TB, bucket string, apart bool) *Server {
	t.Helper()
	program, err := exec.LookPath(cmp.Or(os.Getenv("NEARDUP_VERSITYGW"), "versitygw"))
	if err != nil {
		t.Skip("there is no S3 server: go install github.com/versity/versitygw/cmd/versitygw@" + version + ", in the PATH or as NEARDUP_VERSITYGW")
	}
	for range 5 { // a connection may take the port before the server does
		if s := startAt(t, program, bucket, apart); s != nil {
			return s
		}
	}
	t.Fatal("the S3 server does not start")
	return nil
}

// startAt starts the server on a port that was free; nil when it ended.
func startAt(t testing.TB, program, bucket string, apart bool) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	folder, meta := filepath.Join(t.TempDir(), "buckets"), t.TempDir()
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	const user, secret = "neardup", "of-the-test-alone"
	s := &Server{Folder: filepath.Join(folder, bucket), t: t, bucket: bucket, apart: apart, env: make(map[string]string),
		line: []string{program, "--access", user, "--secret", secret, "--port", address, "posix", "--sidecar", meta, folder}}
	for name, value := range map[string]string{endpoint: "http://" + address, "AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_REGION": "us-east-1"} {
		s.setenv(name, value)
	}
	if s.client, err = minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(user, secret, ""), Region: "us-east-1"}); err != nil {
		t.Fatal(err)
	}
	if !s.start() {
		t.Logf("the S3 server ended: %s", &s.said)
		return nil
	}
	t.Cleanup(s.Stop)
	return s
}

// start starts the server's process and returns when the bucket is there;
// false when the process ended.
func (s *Server) start() bool {
	s.t.Helper()
	s.cmd = exec.Command(s.line[0], s.line[1:]...)
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.SysProcAttr = endWithParent
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
	}()
	for began := time.Now(); ; {
		err := s.client.MakeBucket(context.Background(), s.bucket, minio.MakeBucketOptions{})
		answer := minio.ToErrorResponse(err)
		switch {
		case err == nil || answer.StatusCode == http.StatusConflict: // it has it
			return true
		case answer.StatusCode >= http.StatusBadRequest || time.Since(began) > time.Minute:
			s.Stop()
			s.t.Fatal(fmt.Errorf("bucket: %w: %s", err, &s.said))
		}
		select {
		case <-ended:
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}
