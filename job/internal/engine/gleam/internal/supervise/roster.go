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

// errLeftOut is returned for an attempt that did not start because it left agents
// out. The next one starts with the others; this one is not counted.
var errLeftOut = errors.New("agents were left out")

// Roster records a cluster's agents and which of them are left out. The runs of an
// engine share it; it is safe for concurrent use. The zero Roster is empty and ready.
type Roster struct {
	mu       sync.Mutex
	slots    map[string]int  // by address, of every agent that the master ever named
	out      map[string]bool // left out by the current flow
	failures map[string]int  // how often each was left out
	last     []string        // addresses of the agents in the previous attempt
	told     []engine.LeftOut

	restarts atomic.Int64 // of flows
}

// LeftOut returns the agents that flows went on without, oldest first.
func (r *Roster) LeftOut() []engine.LeftOut {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

// Restarts is how often a flow was tried again.
func (r *Roster) Restarts() int64 { return r.restarts.Load() }

// begin starts a flow. An agent that was left out once may take part again, if it
// answers and passes the check; one that was left out twice may not.
func (r *Roster) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for address := range r.out {
		if r.failures[address] < 2 {
			delete(r.out, address)
		}
	}
}

// present records the agents and returns those that are not left out.
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

// enough returns an error that wraps cluster.ErrNotReady unless the agents have at
// least the quorum: a share, 0 to 1, of the slots of all agents ever named.
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

// doubted reports whether every one of the agents was left out before; true for none.
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

// lost returns the agents that took part in the previous attempt, are not among now,
// and were not left out. now becomes the previous attempt of the next call.
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

// note adds an entry to LeftOut; after the first thousand, none.
func (r *Roster) note(l engine.LeftOut) {
	const most = 1000
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.told) < most {
		r.told = append(r.told, l)
	}
}
