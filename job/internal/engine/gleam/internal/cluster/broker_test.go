//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chrislusf/gleam/pb"
	"github.com/chrislusf/gleam/util"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A broker gives each agent's free slots, evenly, and no more, learns when the
// flow has ended, not before, and leaves no file; it hears no other process.
func TestBroker(t *testing.T) {
	if socket := os.Getenv("NEARDUP_TEST_BROKER"); socket != "" { // another process
		fmt.Println("its words:", words(t, socket))
		return
	}
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	address, ended, stop, err := startBroker([]Agent{{Address: "10.0.0.1:7", Slots: 4, Used: 3}, {Address: "10.0.0.2:7", Slots: 3}, {Address: "10.0.0.3:7", Slots: 2, Used: 2}})
	if err != nil {
		t.Fatal(err)
	}
	socket := "@" + strings.TrimSuffix(strings.TrimPrefix(address, "unix-abstract:"), "1") + "10001"
	cmd := exec.Command(os.Args[0], "-test.run=^TestBroker$") //nolint:gosec // this very program
	cmd.Env = append(os.Environ(), "NEARDUP_TEST_BROKER="+socket)
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "its words: 0\n") {
		t.Errorf("another process hears %s, %v", out, err)
	}
	if n := words(t, socket); n == 0 {
		t.Error("this process hears nothing: the test shows nothing")
	}
	conn, err := util.GleamGrpcDial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	given := make(map[string]int)
	for range 3 {
		result, err := pb.NewGleamMasterClient(conn).GetResources(context.Background(), &pb.ComputeRequest{ComputeResources: []*pb.ComputeResource{{CpuCount: 1}, {CpuCount: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range result.Allocations {
			given[fmt.Sprintf("%s:%d", a.Location.Server, a.Location.Port)]++
		}
	}
	if want := map[string]int{"10.0.0.1:7": 1, "10.0.0.2:7": 3}; !maps.Equal(given, want) {
		t.Errorf("given were %v, want %v", given, want)
	}
	status, err := pb.NewGleamMasterClient(conn).SendFlowExecutionStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, stop := range []int64{0, 1} {
		select {
		case <-ended:
			t.Error("the flow ended before its driver said so")
		default:
		}
		if err := status.Send(&pb.FlowExecutionStatus{Driver: &pb.FlowExecutionStatus_DriverInfo{StopTime: stop}}); err != nil {
			t.Fatal(err)
		}
	}
	<-ended
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	stop()
	if conn, err := net.Dial("unix", socket); err == nil {
		t.Error("it still listens", conn.Close())
	}
}

// words is how many bytes a server says before it is asked anything, at most 9: a
// gRPC server greets.
func words(t *testing.T, socket string) int {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Error(err)
	}
	n, _ := io.ReadFull(conn, make([]byte, 9)) // it may be closed
	return n
}
