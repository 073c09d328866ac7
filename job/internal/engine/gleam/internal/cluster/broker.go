//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/chrislusf/gleam/pb"
	"google.golang.org/grpc"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
)

// broker is the master that a flow's driver asks for slots: it gives those of
// the attempt's agents and of no other, the least taken agent's first. So an
// agent can be left out that the cluster's master still believes in, and a flow
// under way needs no master.
type broker struct {
	mu     sync.Mutex
	agents []attempt.Agent // Used counts what was given

	ended chan struct{} // closed once the driver says that all executors have ended
	once  sync.Once
}

// startBroker serves this process, and no other, at an abstract socket, of which
// nothing is left when the process is killed, and returns its address for the
// driver.
func startBroker(agents []attempt.Agent) (address string, ended <-chan struct{}, stop func(), err error) {
	name := fmt.Sprintf("neardup-broker-%016x", rand.Uint64())
	// The driver adds 10000 to the port, as to that of each server.
	l, err := net.Listen("unix", "@"+name+":10001")
	if err != nil {
		return "", nil, nil, err
	}
	server := grpc.NewServer()
	b := &broker{agents: agents, ended: make(chan struct{})}
	pb.RegisterGleamMasterServer(server, b)
	go func() { _ = server.Serve(ownListener{l}) }() // until it is stopped
	return "unix-abstract:" + name + ":1", b.ended, server.Stop, nil
}

// ownListener accepts the connections of this process, by what the kernel says of
// who connects; a socket without a file has no rights that say it.
type ownListener struct{ net.Listener }

func (l ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if peer, err := netns.Peer(conn); err == nil && int(peer.Pid) == os.Getpid() {
			return conn, nil
		}
		_ = conn.Close() // another process's
	}
}

// GetResources gives a slot for each that is asked for, as far as there are any.
func (b *broker) GetResources(_ context.Context, in *pb.ComputeRequest) (*pb.AllocationResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	result := new(pb.AllocationResult)
	for _, wanted := range in.GetComputeResources() {
		best := -1
		for i, a := range b.agents {
			if a.Used < a.Slots && (best < 0 || a.Slots-a.Used > b.agents[best].Slots-b.agents[best].Used) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		b.agents[best].Used++
		at, err := location(b.agents[best].Address)
		if err != nil {
			return nil, err
		}
		result.Allocations = append(result.Allocations, &pb.Allocation{Location: at, Allocated: wanted})
	}
	return result, nil
}

func location(address string) (*pb.Location, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", address, err)
	}
	return &pb.Location{DataCenter: "neardup", Rack: "neardup", Server: host, Port: int32(port)}, nil
}

// SendHeartbeat is for agents, which do not know a broker.
func (*broker) SendHeartbeat(pb.GleamMaster_SendHeartbeatServer) error {
	return errors.New("a broker has no agents")
}

// SendFlowExecutionStatus reads what the driver says of the flow, of which nothing
// is believed here but that it has ended.
func (b *broker) SendFlowExecutionStatus(stream pb.GleamMaster_SendFlowExecutionStatusServer) error {
	for {
		status, err := stream.Recv()
		if err != nil {
			return nil //nolint:nilerr // the driver's end of the stream
		}
		if status.GetDriver().GetStopTime() != 0 {
			b.once.Do(func() { close(b.ended) })
			return nil
		}
	}
}
