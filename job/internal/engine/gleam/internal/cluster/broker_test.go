//go:build linux

package cluster

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chrislusf/gleam/pb"
	"github.com/chrislusf/gleam/util"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A broker gives each agent's free slots, evenly, and no more, and learns when the
// flow has ended, not before; only this user reaches it.
func TestBroker(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	address, ended, stop, err := startBroker([]Agent{{Address: "10.0.0.1:7", Slots: 4, Used: 3}, {Address: "10.0.0.2:7", Slots: 3}, {Address: "10.0.0.3:7", Slots: 2, Used: 2}})
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.TrimPrefix(filepath.Dir(address), "unix:")
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", folder, info.Mode(), err)
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
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", folder, err)
	}
}
