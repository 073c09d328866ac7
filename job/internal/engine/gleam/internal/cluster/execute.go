//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/chrislusf/gleam/pb"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
)

// ErrShip is returned by Execute when the agent does not take the program.
var ErrShip = errors.New("it does not take the program")

// Execute ships the launcher to one agent and runs it there, without rows in or
// out, until it ends or the time is over; said is what it wrote to standard
// error. It goes past gleam's scheduler, which does not let callers choose the
// agent, and takes no slot. clear is called with the name of the flow when the
// agent does not clear up itself.
func Execute(ctx context.Context, address, launcher string, args []string, limit time.Duration, clear func(hash uint32, err error)) (said string, err error) {
	hash := rand.Uint32()
	err = withAgent(address, func(client pb.GleamAgentClient) error {
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
			defer cancel()
			if _, cerr := client.Cleanup(ctx, &pb.CleanupRequest{FlowHashCode: hash}); cerr != nil {
				clear(hash, cerr)
			}
		}()
		if err := ship(ctx, client, hash, launcher); err != nil {
			return fmt.Errorf("%w: %w", ErrShip, err)
		}
		said, err = execute(ctx, client, hash, address, args, limit)
		return err
	})
	return said, err
}

// ship sends the launcher into the flow's folder of the agent.
func ship(ctx context.Context, client pb.GleamAgentClient, hash uint32, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	stream, err := client.SendFileResource(ctx)
	if err != nil {
		return err
	}
	ask := func(m *pb.FileResourceRequest) error {
		m.Name, m.FlowHashCode = attempt.Shipped, hash
		return stream.Send(m)
	}
	if err := ask(&pb.FileResourceRequest{Hash: 1}); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	if err := errors.Join(ask(&pb.FileResourceRequest{Content: text}), stream.CloseSend()); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}

// execute runs what was shipped to the agent.
func execute(ctx context.Context, client pb.GleamAgentClient, hash uint32, address string, args []string, limit time.Duration) (said string, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", err
	}
	in, out := fmt.Sprintf("neardup-check-%x-in", hash), fmt.Sprintf("neardup-check-%x-out", hash)
	if err := endChannel(ctx, address, in, false); err != nil {
		return "", err
	}
	at := func(name string) []*pb.DatasetShardLocation {
		return []*pb.DatasetShardLocation{{Name: name, Host: host, Port: int32(port)}}
	}
	stream, err := client.Execute(ctx, &pb.ExecutionRequest{
		Resource: &pb.ComputeResource{}, // it takes no slot
		InstructionSet: &pb.InstructionSet{
			FlowHashCode: hash, Name: "check", ReaderCount: 1,
			Instructions: []*pb.Instruction{{
				InputShardLocations: at(in), OutputShardLocations: at(out),
				Script: &pb.Instruction_Script{Path: attempt.Shipped, Args: args},
			}},
		},
	})
	if err != nil {
		return "", err
	}
	rows, err := request(ctx, address, out, false, readRequest)
	if err != nil {
		return "", err
	}
	go func() {
		if rows.SetDeadline(time.Now().Add(limit)) == nil {
			_, _ = io.Copy(io.Discard, rows) // it ends when the program does
		}
		_ = rows.Close()
	}()
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return said, nil
		}
		if err != nil {
			return said, err
		}
		said += string(m.GetError())
	}
}
