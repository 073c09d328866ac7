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

// broker stands in for gleam's master: the flow's driver asks it for slots. It gives
// out slots of the attempt's agents only, the least used agent's first. So a flow can
// leave out an agent that the real master still lists, and a running flow does not
// need the real master.
type broker struct {
	mu     sync.Mutex
	agents []attempt.Agent // Used counts what was given

	ended chan struct{} // closed once the driver says that all executors have ended
	once  sync.Once
}

// startBroker starts a broker for this process only and returns its address for the
// driver. It listens at an abstract unix socket, so nothing is left when the process is
// killed.
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

// ownListener accepts connections of this process only. It asks the kernel for the
// process at the other end, since an abstract socket has no file permissions.
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
