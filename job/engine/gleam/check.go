package gleam

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chrislusf/gleam/pb"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/neardup/neardup/data"
	"github.com/neardup/neardup/data/object"
	"github.com/neardup/neardup/job/rundir"
)

// Before the first flow, a check runs on each agent: the program starts there
// as a worker does, and looks for what the flows need. What it finds wrong is
// said before any work is done, with the host's name and the remedy.

// checkFile is a file that the agents must see as the submitting host does.
type checkFile struct {
	Path    string
	Size    int64
	ModTime time.Time
	ETag    string `json:",omitempty"`
	Any     bool   `json:",omitempty"` // it need only be readable: it may be replaced meanwhile
	Library bool   `json:",omitempty"`
}

// checkReport is what the check on one agent found.
type checkReport struct {
	Host     string
	Time     time.Time
	Folder   string   // of the agent
	Free     int64    // bytes on its disk
	Gleam    uint64   // checksum of the agent's own program
	Problems []string // each with its remedy
}

// Bounds of a check.
const (
	checkTime  = 30 * time.Second
	checkFiles = 1000    // looked at on each agent at most, spread evenly
	clockSkew  = 5       // seconds that are let pass
	lowDisk    = 1 << 20 // a disk with less is full
	minRunDisk = 64 << 20
)

// seenFiles lists the files that the stage's tasks read.
func (s *spec) seenFiles() (files []checkFile, err error) {
	var paths []string
	if s.Fingerprint != nil {
		// Those that are finished may be gone.
		for _, task := range slices.Sorted(slices.Values(slices.Concat(s.Fingerprint.Lanes...))) {
			path := s.Fingerprint.Splits[task].Path
			if n := len(paths); n == 0 || paths[n-1] != path { // a file's splits follow each other
				paths = append(paths, path)
			}
		}
		paths = spread(paths, checkFiles)
		paths = append(paths, s.Config.Features.UserWords...)
		if s.Config.Features.StopList != "" {
			paths = append(paths, s.Config.Features.StopList)
		}
	} else if s.Match != nil {
		if paths, err = filepath.Glob(filepath.Join(s.Run, rundir.State, "documents", "*")); err != nil {
			return nil, err
		}
	}
	inputs := len(paths)
	more, err := s.libraryFiles()
	if err != nil {
		return nil, err
	}
	for i, path := range append(paths, more...) {
		info, err := object.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("input: %w: it was there when the run began: bring it back, then run the same command again: it goes on from what is finished", err)
		}
		files = append(files, checkFile{Path: path, Size: info.Size, ModTime: info.ModTime, ETag: info.ETag, Library: i >= inputs, Any: i >= inputs && s.Earlier == nil})
	}
	return files, nil
}

// spread returns at most n of the names, evenly spread.
func spread(names []string, n int) []string {
	if len(names) <= n {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = names[i*len(names)/n]
	}
	return out
}

// clock is the host's.
var clock = time.Now

// runCheck is the check's process on an agent.
func runCheck(dir attemptDir, agent string) (err error) {
	time.AfterFunc(checkTime, endSelf) // a mount may hang
	rep := checkReport{Time: clock()}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	rep.Host = host
	folder, err := os.Getwd() // the flow's
	if err != nil {
		return err
	}
	// No guard stands by a check: when its agent dies, it clears away the
	// executor and the folder itself.
	under := parentOf(os.Getppid())
	clearOrphan := func() error {
		if parentOf(os.Getppid()) == under {
			return nil
		}
		return clearFlow(filepath.Base(folder), folder)
	}
	defer func() { err = errors.Join(err, clearOrphan()) }()
	go func() {
		for clearOrphan() == nil {
			time.Sleep(guardEvery)
		}
	}()
	rep.Folder = filepath.Dir(folder)
	if rep.Free, err = freeDisk(folder); err != nil {
		return err
	}
	if rep.Gleam, err = fileSum(fmt.Sprintf("/proc/%d/exe", os.Getppid())); err != nil {
		rep.Gleam = 0 // it is compared where it is known
	}
	s, err := readSpec(dir)
	if err != nil {
		return err
	}
	if err := inject(&worker{dir: dir, spec: s, stage: stageCheck}, early); err != nil {
		return err
	}
	if s.Relative {
		if err := os.Chdir(s.Work); err != nil {
			rep.Problems = append(rep.Problems, fmt.Sprintf("the input is named by relative paths, and it does not see the folder that they start from: %v: mount it at the same path, or name the input by absolute paths", err))
		}
	}
	for _, f := range s.Files {
		if problem := f.look(); problem != "" {
			rep.Problems = append(rep.Problems, problem)
		}
		if len(rep.Problems) == maxProblems {
			break
		}
	}
	if err := rundir.WriteJSON(dir.report(agent), rep); err != nil {
		return fmt.Errorf("this host cannot write into the run directory: %w: run the agent as the user of the command, and mount the run directory for writing", err)
	}
	return nil
}

// maxProblems is how many problems one agent tells.
const maxProblems = 3

// look says what is wrong with the file here.
func (c checkFile) look() string {
	remedy := "mount it at the same path, readable by the agent's user"
	if object.Is(c.Path) {
		remedy = "start the agent with the store's endpoint and credentials in its environment"
	}
	what := "input"
	if c.Library {
		what = "library"
	}
	info, err := object.Stat(c.Path)
	if err == nil && info.Size > 0 {
		err = readable(c.Path)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot read the %s: %v: %s", what, err, remedy)
	case c.Any:
		return ""
	case info.Size != c.Size || !info.ModTime.Equal(c.ModTime) || info.ETag != c.ETag:
		return fmt.Sprintf("%s is another file there: %d bytes of %s, here %d bytes of %s: mount the same storage", c.Path,
			info.Size, info.ModTime.Format(time.RFC3339), c.Size, c.ModTime.Format(time.RFC3339))
	}
	return ""
}

// readable reads the first byte of a file.
func readable(path string) error {
	f, err := object.Open(path)
	if err != nil {
		return err
	}
	_, err = f.Read(make([]byte, 1))
	return errors.Join(err, f.Close())
}

// freeDisk is how many bytes the user may still write at path.
func freeDisk(path string) (int64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return 0, fmt.Errorf("disk of %s: %w", path, err)
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// fileSum is the checksum of a file.
func fileSum(path string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	h := xxh3.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	return h.Sum64(), nil
}

// checked remembers the agents that passed the check, of the library too.
type checked struct {
	mu     sync.Mutex
	agents map[string]bool
}

// any reports whether an agent did.
func (c *checked) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.agents) > 0
}

// check runs the check on the agents that were not checked before.
func (r *run) check(ctx context.Context, s *spec) error {
	r.checked.mu.Lock()
	defer r.checked.mu.Unlock()
	key := func(a Agent) string { // the library's files are known once it is locked
		if s.Earlier != nil {
			return a.Address + " " + s.Config.Library.Path
		}
		return a.Address
	}
	agents := slices.DeleteFunc(slices.Clone(r.agents), func(a Agent) bool { return r.checked.agents[key(a)] })
	if len(agents) == 0 {
		return nil
	}
	if free, err := freeDisk(s.Run); err == nil && free < minRunDisk {
		return fmt.Errorf("%w: the disk of the run directory %s has %d MiB left: free some, or name another --out", ErrCluster, s.Run, free>>20)
	}
	began := time.Now()
	reports := make([]checkReport, len(agents))
	problems := make([]error, len(agents))
	var died atomic.Bool // an agent, while it was checked
	group := errgroup.Group{}
	group.SetLimit(64)
	for i, a := range agents {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, checkTime+5*time.Second)
			defer cancel()
			for range 2 { // what killed the check once need not do so again
				reports[i], problems[i] = r.ask(ctx, s, a)
				if problems[i] == nil || reports[i].Host != "" || errors.As(problems[i], new(*Failure)) {
					break // it came to an end
				}
				if err := probe(ctx, a.Address); err != nil {
					died.Store(true)
					break
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch err := told(agents, reports, problems); {
	case err != nil && died.Load(): // the others go on, or are asked again
		return &lostError{err.Error()}
	case err != nil:
		return fmt.Errorf("%w: %w", ErrCluster, err)
	}
	programs := make(map[uint64][]string)
	for i, rep := range reports {
		r.checked.agents[key(agents[i])] = true
		name := fmt.Sprintf("%s (%s)", agents[i].Address, rep.Host)
		programs[rep.Gleam] = append(programs[rep.Gleam], name)
		early, late := began.Sub(rep.Time).Seconds(), time.Until(rep.Time).Seconds()
		if skew := max(early, late); skew > clockSkew {
			r.job.Log.Warn("the clock of an agent's host differs from this one's: set both by NTP, or times in logs and status mislead", "agent", name, "seconds", int(skew))
		}
	}
	if len(programs) > 1 {
		r.job.Log.Warn("agents run different builds of gleam: restart them from one build (scripts/cluster.sh restart)", "builds", fmt.Sprint(programs))
	}
	r.job.Log.Debug("agents checked", "agents", len(agents), "seconds", time.Since(began).Seconds())
	return nil
}

// told joins the agents' problems, each once, with the agents that have it.
func told(agents []Agent, reports []checkReport, problems []error) error {
	const most = 5 // of problems, and of agents named with one
	type problem struct {
		cause  error
		agents []string
	}
	var all []problem
	for i, cause := range problems {
		if cause == nil {
			continue
		}
		name := agents[i].Address
		if reports[i].Host != "" {
			name += " (" + reports[i].Host + ")"
		}
		at := slices.IndexFunc(all, func(p problem) bool { return p.cause.Error() == cause.Error() })
		if at < 0 {
			at, all = len(all), append(all, problem{cause: cause})
		}
		all[at].agents = append(all[at].agents, name)
	}
	var errs []error
	for i, p := range all {
		if i == most {
			errs = append(errs, fmt.Errorf("and %d more problems", len(all)-most))
			break
		}
		which, more := "the agent at ", ""
		if n := len(p.agents); n > 1 {
			which = "the agents at "
			if n > most {
				p.agents, more = p.agents[:most], fmt.Sprintf(" and %d more", n-most)
			}
		}
		errs = append(errs, fmt.Errorf("%s%s%s: %w", which, strings.Join(p.agents, ", "), more, p.cause))
	}
	return errors.Join(errs...)
}

// ask runs the check on one agent, apart from gleam's scheduler, which does
// not let choose the agent.
func (r *run) ask(ctx context.Context, s *spec, a Agent) (rep checkReport, err error) {
	err = withAgent(a.Address, func(client pb.GleamAgentClient) error {
		rep, err = r.askClient(ctx, s, a, client)
		return err
	})
	return rep, err
}

func (r *run) askClient(ctx context.Context, s *spec, a Agent, client pb.GleamAgentClient) (rep checkReport, err error) {
	hash := rand.Uint32()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		if _, cerr := client.Cleanup(ctx, &pb.CleanupRequest{FlowHashCode: hash}); cerr != nil {
			r.job.Log.Debug("check's folder not removed", "agent", a.Address, "error", cerr)
			r.clearHere(hash)
		}
	}()
	if err := ship(ctx, client, hash, r.dir.launcher()); err != nil {
		return rep, fmt.Errorf("it does not take the program: %w: see its log, and whether its disk is full", err)
	}
	said, err := execute(ctx, client, hash, a.Address, []string{argDir + string(r.dir), argCheck + a.Address})
	if rerr := rundir.ReadJSON(r.dir.report(a.Address), &rep); rerr != nil {
		if f := readFailure(r.dir.failures()); f != nil {
			return rep, f
		}
		return rep, fmt.Errorf("the program does not run there, or does not see the run directory %s: mount it at the same path, for writing: %w: %s", s.Run, cmp.Or(err, rerr), reason(said))
	}
	need := s.agentDisk(len(r.agents))
	if rep.Free < need {
		rep.Problems = append(rep.Problems, fmt.Sprintf("the disk of its folder %s has %d MiB left, %d MiB are needed: free some, or start the agent with another --dir", rep.Folder, rep.Free>>20, need>>20))
	}
	if len(rep.Problems) > 0 {
		return rep, errors.New(strings.Join(rep.Problems, "; "))
	}
	return rep, nil
}

// reason is the line of what a process said that says why it failed.
func reason(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "the agent in ") {
			return line
		}
	}
	return lines[len(lines)-1]
}

// agentDisk is what a flow writes on the disk of one agent of so many: the
// program, and the rows when the steps run one after the other.
func (s *spec) agentDisk(agents int) int64 {
	const slack = 1 << 20
	need := int64(slack)
	if s.OnDisk && s.Match != nil {
		const rows = 2 * 32 // to the partial reduces and to the final ones
		need += 2 * rows * int64(s.Match.References) / int64(max(agents, 1))
	}
	return need
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
	for _, m := range []*pb.FileResourceRequest{{Name: shipped, FlowHashCode: hash, Hash: 1}, {Name: shipped, FlowHashCode: hash, Content: text}} {
		if err := stream.Send(m); err != nil {
			return err
		}
		if m.Content != nil {
			if err := stream.CloseSend(); err != nil {
				return err
			}
		}
		if _, err := stream.Recv(); err != nil {
			return err
		}
	}
	return nil
}

// execute runs what was shipped on the agent, without rows in or out, until
// it ends, and returns what it said on standard error.
func execute(ctx context.Context, client pb.GleamAgentClient, hash uint32, address string, args []string) (said string, err error) {
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
				Script: &pb.Instruction_Script{Path: shipped, Args: args},
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
		if rows.SetDeadline(time.Now().Add(checkTime)) == nil {
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

// noteFull notes once that the disk of the agent's folder is full, beside the
// attempt's failures: a reason for rows that were lost, not a failure of its
// own.
func noteFull(dir attemptDir, host, folder string) bool {
	free, err := freeDisk(folder)
	if err != nil || free >= lowDisk {
		return false
	}
	text, err := json.Marshal(Failure{Stage: "agent", Host: host, Message: fmt.Sprintf("the disk of the agent's folder %s is full: free some, or start the agent with another --dir", filepath.Dir(folder))})
	return err == nil && data.WriteFileAtomic(filepath.Join(string(dir), fmt.Sprintf("full-%s-%d.json", host, os.Getpid())), text) == nil
}

// fullDisk returns what a guard noted of a full disk.
func fullDisk(dir attemptDir) *Failure {
	paths, err := filepath.Glob(filepath.Join(string(dir), "full-*.json"))
	if err != nil {
		return nil
	}
	for _, path := range paths {
		f := new(Failure)
		if rundir.ReadJSON(path, f) == nil {
			return f
		}
	}
	return nil
}
