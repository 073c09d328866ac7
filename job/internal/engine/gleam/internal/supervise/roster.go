//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/neardup/neardup/job/internal/engine"
	"github.com/neardup/neardup/job/internal/engine/gleam/internal/cluster"
)

// errLeftOut is returned for an attempt that did not start, because agents were
// left out: it starts with the others.
var errLeftOut = errors.New("agents were left out")

// Roster is what a run knows of its cluster's agents, and which of them it leaves
// out. It is shared by the runs of an engine. The zero Roster is empty.
type Roster struct {
	mu       sync.Mutex
	slots    map[string]int  // of each agent that the master ever named
	out      map[string]bool // left out by the flow under way
	failures map[string]int  // how often each was left out
	last     []string        // who took part in the attempt before
	told     []engine.LeftOut

	restarts atomic.Int64 // of flows
}

// LeftOut returns the agents that flows went on without, in order of time.
func (r *Roster) LeftOut() []engine.LeftOut {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

// Restarts is how often a flow was tried again.
func (r *Roster) Restarts() int64 { return r.restarts.Load() }

// begin begins a flow: agents that were left out once may take part again, if
// they answer and pass the check.
func (r *Roster) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address := range r.out {
		if r.failures[address] < 2 {
			delete(r.out, address)
		}
	}
}

// present notes the agents and returns those that are not left out.
func (r *Roster) present(agents []cluster.Agent) (in []cluster.Agent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.slots == nil {
		r.slots, r.out, r.failures = make(map[string]int), make(map[string]bool), make(map[string]int)
	}
	for _, a := range agents {
		r.slots[a.Address] = a.Slots
		if !r.out[a.Address] {
			in = append(in, a)
		}
	}
	return in
}

// enough returns an error unless the agents have the quorum, a share of all
// slots that there ever were.
func (r *Roster) enough(agents []cluster.Agent, quorum float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := 0
	for _, slots := range r.slots {
		all += slots
	}
	if left := cluster.Total(agents).Slots; left == 0 || float64(left) < quorum*float64(all) {
		return fmt.Errorf("%w: %d of %d slots are left, and a run goes on with a share of %.4g (execution.quorum)", cluster.ErrNotReady, left, all, quorum)
	}
	return nil
}

// doubted reports whether each of the agents was left out before.
func (r *Roster) doubted(silent map[string]error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address := range silent {
		if r.failures[address] == 0 {
			return false
		}
	}
	return true
}

// lost returns the agents that took part in the attempt before, and are neither
// among those that take part in this one nor left out.
func (r *Roster) lost(now []cluster.Agent) (lost []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var in []string
	for _, a := range now {
		in = append(in, a.Address)
	}
	for _, address := range r.last {
		if !slices.Contains(in, address) && !r.out[address] {
			lost = append(lost, address)
		}
	}
	r.last = in
	return lost
}

func (r *Roster) leaveOut(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out[address] = true
	r.failures[address]++
}

// note keeps what is told of an agent; of very many the first.
func (r *Roster) note(l engine.LeftOut) {
	const most = 1000
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) < most {
		r.told = append(r.told, l)
	}
}
