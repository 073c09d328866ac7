//go:build linux

// Package cluster speaks to gleam: it asks a master for its agents and agents
// whether they do their work, starts a program on one of them, runs a flow and
// drops what is left of it. It is the only package that imports gleam, and
// trusts nothing that gleam reports about a flow. It never starts or stops a
// master or an agent.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chrislusf/gleam/pb"
	"github.com/chrislusf/gleam/util"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/neardup/neardup/job/internal/engine/gleam/internal/attempt"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/netns"
)

// ErrNotReady is returned when the cluster cannot run the flow: the master or
// an agent does not answer, or there are too few slots.
var ErrNotReady = errors.New("cluster not ready")

// Agent is an agent as the master knows it.
type Agent = attempt.Agent

// The master lists its agents nowhere but on its status page.
var (
	agentRow  = regexp.MustCompile(`(?s)<tr>\s*<td><code>[^<]*</code></td>\s*<td>[^<]*</td>\s*<td>([^<]*)</td>\s*<td>(\d+)</td>\s*<td>[^<]*</td>\s*<td>([^<]*)</td>\s*<td>([^<]*)</td>\s*</tr>`)
	cpuCount  = regexp.MustCompile(`cpu_count:(-?\d+)`)
	megabytes = regexp.MustCompile(`memory_mb:(-?\d+)`)
)

// Namespace is that around the cluster's servers, nil if there is none: this
// process reaches them through it. It is set before the first call.
var Namespace *netns.Namespace

// dial connects to one of the cluster's servers.
func dial(ctx context.Context, address string) (net.Conn, error) {
	if Namespace != nil {
		return Namespace.Dial(ctx, address)
	}
	dialer := net.Dialer{Timeout: probeTime}
	return dialer.DialContext(ctx, "tcp", address)
}

// direct asks no proxy for a cluster's servers, whatever the environment says.
var direct = &http.Client{Transport: &http.Transport{
	DisableKeepAlives: true,
	DialContext:       func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
}}

// maxPage bounds the master's status page.
const maxPage = 64 << 20

// Agents asks the master at address for its agents.
func Agents(ctx context.Context, master string) ([]Agent, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+master+"/", nil)
	if err != nil {
		return nil, fmt.Errorf("%w: master %q: %w: write it as HOST:PORT", ErrNotReady, master, err)
	}
	resp, err := direct.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: the master at %s does not answer: %w: start it (scripts/cluster.sh up)", ErrNotReady, master, err)
	}
	page, err := io.ReadAll(io.LimitReader(resp.Body, maxPage))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, fmt.Errorf("%w: the master at %s: %w", ErrNotReady, master, err)
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(page), "Gleam") {
		return nil, fmt.Errorf("%w: what answers at %s (%s) is no gleam master", ErrNotReady, master, resp.Status)
	}
	return parseAgents(string(page)), nil
}

func parseAgents(page string) (agents []Agent) {
	number := func(re *regexp.Regexp, s string) int64 {
		if m := re.FindStringSubmatch(s); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			if err == nil {
				return n
			}
		}
		return 0
	}
	for _, m := range agentRow.FindAllStringSubmatch(page, -1) {
		agents = append(agents, Agent{
			Address: net.JoinHostPort(html.UnescapeString(m[1]), m[2]),
			Slots:   int(number(cpuCount, m[3])),
			Used:    int(number(cpuCount, m[4])),
			Memory:  number(megabytes, m[3]) << 20,
		})
	}
	return agents
}

// Enter finds the namespace of the cluster whose master is named, if it has one, for
// all further calls, and returns the master's HOST:PORT.
func Enter(master string) (address string, err error) {
	Namespace, address, err = netns.Find(master)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return address, nil
}

// Print writes a line for each agent, and whether it answers; ErrNotReady unless
// one does. How many are enough is for the run to say.
func Print(ctx context.Context, master string, w io.Writer) error {
	master, err := Enter(master)
	if err != nil {
		return err
	}
	agents, err := Agents(ctx, master)
	if err != nil {
		return err
	}
	dead := Unresponsive(ctx, agents)
	for _, a := range agents {
		state := "answers"
		if err := dead[a.Address]; err != nil {
			state = "silent"
		}
		if _, err := fmt.Fprintf(w, "%-24s %s  %d slots, %d taken, %d MiB\n", a.Address, state, a.Slots, a.Used, a.Memory>>20); err != nil {
			return err
		}
	}
	if err := NoAgents(master, agents); err != nil {
		return err
	}
	if len(dead) == len(agents) {
		return fmt.Errorf("%w: none of %d agents answers: restart them", ErrNotReady, len(agents))
	}
	return nil
}

// NoAgents returns ErrNotReady if there are none.
func NoAgents(master string, agents []Agent) error {
	if len(agents) > 0 {
		return nil
	}
	return fmt.Errorf("%w: the master at %s has no agents: start some (scripts/cluster.sh up)", ErrNotReady, master)
}

// Total is what all agents have together, without an address.
func Total(agents []Agent) (t Agent) {
	for _, a := range agents {
		t.Slots, t.Used, t.Memory = t.Slots+a.Slots, t.Used+max(a.Used, 0), t.Memory+a.Memory
	}
	return t
}

const probeTime = 3 * time.Second

// Unresponsive probes all agents at once and returns the error of each that fails.
func Unresponsive(ctx context.Context, agents []Agent) map[string]error {
	dead := make(map[string]error)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, a := range agents {
		wg.Go(func() {
			if err := Probe(ctx, a.Address); err != nil {
				mu.Lock()
				defer mu.Unlock()
				dead[a.Address] = err
			}
		})
	}
	wg.Wait()
	return dead
}

// Probe returns an error unless the agent greets those who want to start work
// there and passes rows from one connection to another.
func Probe(ctx context.Context, address string) error {
	greeted := make(chan error, 1)
	go func() { greeted <- greets(ctx, address) }()
	return errors.Join(passes(ctx, address), <-greeted)
}

// greets returns an error unless a gRPC server speaks at the port that belongs
// to the address: it speaks first.
func greets(ctx context.Context, address string) error {
	at, err := util.ParseServerToGrpcAddress(address)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, at)
	if err != nil {
		return err
	}
	if err = conn.SetDeadline(time.Now().Add(probeTime)); err == nil {
		_, err = io.ReadFull(conn, make([]byte, 9)) // the head of a settings frame
	}
	return errors.Join(err, conn.Close())
}

// passes opens a channel at the agent, ends it, and reads it to its end.
func passes(ctx context.Context, address string) error {
	name := fmt.Sprintf("neardup-probe-%x", rand.Uint64())
	if err := endChannel(ctx, address, name, false); err != nil {
		return err
	}
	conn, err := request(ctx, address, name, false, readRequest)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return errors.Join(err, conn.Close())
}

// endChannel makes the agent drop what it holds under the name: writers and
// readers that wait there come to their end.
func endChannel(ctx context.Context, address, name string, onDisk bool) error {
	conn, err := request(ctx, address, name, onDisk, writeRequest)
	if err != nil {
		return err
	}
	// An agent that reads at all closes its side when it has seen the end of
	// ours.
	if c, ok := conn.(interface{ CloseWrite() error }); ok {
		err = c.CloseWrite()
	}
	_, rerr := io.Copy(io.Discard, conn)
	return errors.Join(err, rerr, conn.Close())
}

// Fields of gleam's ControlMessage.
const (
	onDiskField  = 1
	readRequest  = 2 // channelName, readerName
	writeRequest = 3 // channelName, writerName, readerCount
)

// request opens a connection to an agent's channel.
func request(ctx context.Context, address, name string, onDisk bool, field protowire.Number) (net.Conn, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	var inner, message []byte
	inner = protowire.AppendTag(inner, 1, protowire.BytesType)
	inner = protowire.AppendString(inner, name)
	if field == writeRequest {
		inner = protowire.AppendTag(inner, 3, protowire.VarintType)
		inner = protowire.AppendVarint(inner, 1)
	}
	if onDisk {
		message = protowire.AppendTag(message, onDiskField, protowire.VarintType)
		message = protowire.AppendVarint(message, 1)
	}
	message = protowire.AppendTag(message, field, protowire.BytesType)
	message = protowire.AppendBytes(message, inner)
	err = conn.SetDeadline(time.Now().Add(probeTime))
	if err == nil {
		err = util.WriteMessage(conn, message)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// withAgent calls f with a client of an agent's server; the first call waits
// for the connection.
func withAgent(address string, f func(pb.GleamAgentClient) error) (err error) {
	conn, err := util.GleamGrpcDial(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return f(pb.NewGleamAgentClient(conn))
}
