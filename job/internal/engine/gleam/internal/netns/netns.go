//go:build linux

// Package netns isolates a cluster's servers from other users and other hosts.
//
// gleam's servers do not authenticate anybody: whoever reaches a port can run
// programs there, and a few malformed bytes crash the server. So on each host the
// master, the agents and everything they start run in a Linux network namespace
// that has only a loopback interface. Their ports cannot be reached from the
// network, nor by other users of the host. Two processes per host, both started by
// scripts/cluster.sh, carry connections across the border: Inside runs in the
// namespace, Outside in the host's own.
//
//	host A                                        host B
//	┌ namespace ───────────────┐                  ┌ namespace ───────────┐
//	│ master, agents, workers  │◄─in.sock◄─neardup│ agent ◄───── in.sock │
//	│   │ B's address    │ any │                  └─────────────────▲────┘
//	│   ▼                ▼     │                                    │ door
//	│ forwarder        SOCKS   │                                    │
//	└───┼────────────────┼─────┘                                    │
//	    ▼                ▼                                          │
//	    out.sock (Outside of A) ──── TLS: token, door ────► TLS proxy at B's HOST:PORT
//	       └──► object store                                (Outside of B)
//
// Into the namespace: a relay at the unix socket in.sock, in a state folder that
// only the user may enter. The client writes an address; the relay connects to it
// and passes the open connection back as a file descriptor. Connections keep the
// namespace they were made in, so no byte of them passes through the relay.
//
// Out of it: a SOCKS proxy inside asks a second relay, out.sock, for connections
// to the network, for example to an object store.
//
// Between hosts: inside a namespace every other server's address is an address of
// the loopback, and a forwarder listens there. The forwarder connects, by way of
// out.sock and over TLS, to the proxy of that server's host. Each end proves that
// it knows the cluster's token (keys.go). The proxy then connects to the door, the
// server's address that was asked for, through its own in.sock.
//
// Beside the master, Inside also serves the queue of runs that want slots
// (queue.go).
//
// scripts/cluster.sh makes the namespaces. This package starts no server.
package netns

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Files in the state folder of a cluster that has a network namespace.
const (
	inSocket    = "in.sock"  // served inside: to the servers
	outSocket   = "out.sock" // served outside: from the servers to the network
	addressFile = "address"  // HOST:PORT of the master, inside
)

// Namespace is the network namespace of a cluster, as the user's programs outside
// it see it. It is safe for concurrent use.
type Namespace struct{ folder string }

// Find returns the namespace of the cluster that the name stands for, and its
// master's HOST:PORT. The name is either the absolute path of the cluster's state
// folder, or HOST:PORT. For HOST:PORT, Find looks into the default state folder: if
// the cluster there has that master, its namespace is the answer, else the
// namespace is nil and the master is reached directly. A state folder of a cluster
// that is not up is an error.
func Find(master string) (*Namespace, string, error) {
	folder := master
	if !filepath.IsAbs(master) {
		folder = filepath.Join(state(), "cluster")
	}
	text, err := os.ReadFile(filepath.Join(folder, addressFile))
	address := strings.TrimSpace(string(text))
	switch {
	case filepath.IsAbs(master) && err != nil:
		return nil, "", fmt.Errorf("master: %w: name the state folder of a cluster that is up, or HOST:PORT", err)
	case !filepath.IsAbs(master) && (err != nil || address != master):
		return nil, master, nil //nolint:nilerr // it has no namespace
	}
	return &Namespace{folder: folder}, address, nil
}

// state is the folder for this user's state on this host, by the XDG convention.
func state() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		dir = filepath.Join(home(), ".local", "state")
	}
	return filepath.Join(dir, "neardup")
}

// LockPath is the lock file that stands in for the queue where the cluster has no
// network namespace. A run of this user locks it while it takes slots of the
// cluster whose master is at HOST:PORT.
func LockPath(master string) string {
	return filepath.Join(state(), "queue", url.PathEscape(master)+".lock")
}

// home is the user's home folder, found as cluster.sh finds it: $HOME, or the
// system's entry for the user if that is unset.
func home() string {
	if dir := os.Getenv("HOME"); dir != "" {
		return dir
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.HomeDir
}

// Dial connects to the HOST:PORT of a server inside the namespace.
func (f *Namespace) Dial(ctx context.Context, address string) (net.Conn, error) {
	return dialRelay(ctx, filepath.Join(f.folder, inSocket), address)
}

// Command returns the command line that starts a program inside the namespace, by
// nsenter. It finds the namespace by the process that serves in.sock, and enters
// that process's user namespace too unless this process is in it already.
func (f *Namespace) Command(program string, args ...string) ([]string, error) {
	conn, err := net.Dial("unix", filepath.Join(f.folder, inSocket))
	if err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	server, err := Peer(conn)
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	command := []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", server.Pid)}
	user := fmt.Sprintf("/proc/%d/ns/user", server.Pid)
	there, err := os.Readlink(user)
	if err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	if here, err := os.Readlink("/proc/self/ns/user"); err != nil || here != there {
		command = append(command, "--user="+user, "--preserve-credentials")
	}
	return append(append(command, "--", program), args...), nil
}

// Inside runs in the namespace, until ctx ends. It serves the relay in.sock, the
// SOCKS proxy at socksAddress, and beside the master the queue of runs. In a
// cluster of several hosts it also serves the forwarders to the other hosts; own
// is then the HOST:PORT of this host's server, else "".
//
// Before that it brings up the loopback and reserves the servers' ports, written
// like 45326-45400,55326-55400. Otherwise the kernel could give one of them to an
// outgoing connection, and a server that restarts would find its port taken.
func Inside(ctx context.Context, log *slog.Logger, folder, socksAddress, ports, own string) error {
	text, err := os.ReadFile(filepath.Join(folder, serversFile))
	if err != nil {
		return err
	}
	servers := strings.Fields(string(text))
	if !arranged(servers, ports) {
		if err := errors.Join(loopbackUp(), addAddresses(servers)); err != nil {
			return fmt.Errorf("loopback: %w", err)
		}
		if err := os.WriteFile(reservedPorts, []byte(ports), 0o644); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", socksAddress)
	if err != nil {
		return err
	}
	go serve(ctx, l, wayOut(ctx, folder))
	if len(servers) > 0 && (own == "" || own == servers[0]) {
		at, err := queueAddress(servers[0])
		if err == nil {
			err = serveQueue(ctx, at)
		}
		if err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	if own != "" {
		if err := forward(ctx, log, folder, own, servers); err != nil {
			return err
		}
	}
	return relay(ctx, filepath.Join(folder, inSocket), only(servers))
}

const reservedPorts = "/proc/sys/net/ipv4/ip_local_reserved_ports"

// arranged reports whether an earlier process has already set up the loopback, its
// addresses and the reserved ports. A process that enters the namespace later, not
// as root, has no right to change them.
func arranged(servers []string, ports string) bool {
	text, err := os.ReadFile(reservedPorts)
	if err != nil || strings.TrimSpace(string(text)) != ports {
		return false
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil || lo.Flags&net.FlagUp == 0 {
		return false
	}
	addresses, err := lo.Addrs()
	return err == nil && !slices.ContainsFunc(servers, func(server string) bool {
		at, err := netip.ParseAddrPort(server)
		return err != nil || !at.Addr().IsLoopback() && !slices.ContainsFunc(addresses, func(a net.Addr) bool {
			return a.String() == at.Addr().String()+"/32"
		})
	})
}

// wayOut returns the handler of the SOCKS proxy: it connects by out.sock.
func wayOut(ctx context.Context, folder string) func(net.Conn) error {
	return func(conn net.Conn) error {
		return socks(conn, func(address string) (net.Conn, error) {
			return dialRelay(ctx, filepath.Join(folder, outSocket), address)
		})
	}
}

// only returns a check that refuses every address but those of the loopback and of
// the servers.
func only(servers []string) func(address string) error {
	return func(address string) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() && !slices.ContainsFunc(servers, func(s string) bool {
			return strings.HasPrefix(s, at.Addr().String()+":")
		}) {
			return fmt.Errorf("%s is no server of the cluster", address)
		}
		return nil
	}
}

// Outside runs outside the namespace, until ctx ends. It serves the relay out.sock
// and, unless own is "", the TLS proxy for other hosts at that HOST:PORT.
func Outside(ctx context.Context, log *slog.Logger, folder, own string) error {
	if own != "" {
		if err := openProxy(ctx, log, folder, own); err != nil {
			return fmt.Errorf("proxy: %w", err)
		}
	}
	return relay(ctx, filepath.Join(folder, outSocket), func(string) error { return nil })
}

// loopbackUp brings up the loopback of the namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err == nil {
		lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
	}
	return errors.Join(err, unix.Close(fd))
}

// Bounds of a client of a relay or proxy.
const (
	patience    = 10 * time.Second // to name the address and be connected to it
	maxLine     = 300              // bytes
	connections = 16 << 10         // handled at once
)

// relay serves a unix socket until ctx ends. The client writes one line with an
// address. The relay connects to it and answers with that connection, as a file
// descriptor, or with a line of error text. Clients of other users than this one
// and root are refused.
func relay(ctx context.Context, path string, allowed func(address string) error) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	serve(ctx, l, func(conn net.Conn) error {
		if who, err := Peer(conn); err != nil || int(who.Uid) != os.Getuid() && who.Uid != 0 {
			return errors.Join(err, errors.New("another user"))
		}
		line, err := readLine(conn)
		if err != nil {
			return err
		}
		err = allowed(line)
		var to net.Conn
		if err == nil {
			dialer := net.Dialer{Timeout: patience}
			to, err = dialer.DialContext(ctx, "tcp", line)
		}
		if err != nil {
			_, werr := fmt.Fprintf(conn, "%.250s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
			return errors.Join(err, werr)
		}
		return errors.Join(hand(conn, to), to.Close())
	})
	return ctx.Err()
}

// hand passes a connection of this process, as a file descriptor, to the process
// at the other end of a unix socket.
func hand(conn, what net.Conn) error {
	way, ok := conn.(*net.UnixConn)
	of, has := what.(syscall.Conn)
	if !ok || !has {
		return errors.New("no unix socket")
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return err
	}
	cerr := raw.Control(func(fd uintptr) {
		_, _, err = way.WriteMsgUnix([]byte("\n"), unix.UnixRights(int(fd)), nil)
	})
	return errors.Join(cerr, err)
}

// take receives the connection that hand passes. If a line of text comes instead,
// the relay refused, and that text is the error.
func take(conn net.Conn) (net.Conn, error) {
	way, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.New("no unix socket")
	}
	text, rights := make([]byte, maxLine), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := way.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	if rn == 0 {
		return nil, errors.New(strings.TrimSpace(string(text[:n])))
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	taken, err := net.FileConn(f)
	return taken, errors.Join(err, f.Close())
}

// serve accepts connections until ctx ends and handles each in a goroutine, at most
// so many at once. It sets a deadline of patience before handle and closes the
// connection after it.
func serve(ctx context.Context, l net.Listener, handle func(net.Conn) error) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	free := make(chan struct{}, connections)
	for ctx.Err() == nil {
		conn, err := l.Accept()
		if err != nil {
			time.Sleep(50 * time.Millisecond) // with too many open files, wait until some are closed
			continue
		}
		free <- struct{}{}
		go func() {
			defer func() { <-free }()
			if conn.SetDeadline(time.Now().Add(patience)) == nil {
				_ = handle(conn) // the client was told of an error
			}
			_ = conn.Close()
		}()
	}
}

// dialRelay asks the relay at a unix socket for a connection to an address.
func dialRelay(ctx context.Context, socket, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(patience)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	err = conn.SetDeadline(until)
	if err == nil {
		_, err = io.WriteString(conn, address+"\n")
	}
	var to net.Conn
	if err == nil {
		to, err = take(conn)
	}
	if err = errors.Join(err, conn.Close()); err != nil {
		return nil, fmt.Errorf("namespace: %s: %w", address, err)
	}
	return to, nil
}

// readLine reads one line, without its end, and not a byte beyond it: what follows
// belongs to the next reader. It is an error if the line is longer than maxLine.
func readLine(conn net.Conn) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxLine; line = append(line, b[0]) {
		if _, err := io.ReadFull(conn, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
	}
	return "", errors.New("the line is too long")
}

// join copies between two connections in both directions until both have ended.
// If one end closes its direction, join closes that direction at the other; if one
// breaks, join aborts both. It closes b; the caller closes a.
func join(a, b net.Conn) error {
	err := errors.Join(a.SetDeadline(time.Time{}), b.SetDeadline(time.Time{}))
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if end, ok := to.(interface{ CloseWrite() error }); err == nil && ok {
			err = end.CloseWrite()
		}
		if err != nil {
			abort(a)
			abort(b)
		}
	}
	both.Go(func() { pass(a, b) })
	both.Go(func() { pass(b, a) })
	both.Wait()
	return errors.Join(err, b.Close())
}

// abort closes a connection with a reset. The other end sees an error; an orderly
// close would tell it that it has received everything.
func abort(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // it may be closed already
	}
	_ = conn.Close()
}

// Peer returns the process id, user and group of the process at the other end of a
// unix socket, as the kernel reports them.
func Peer(conn net.Conn) (peer unix.Ucred, err error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return peer, errors.New("no unix socket")
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return peer, err
	}
	cerr := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			peer = *cred
		}
	})
	return peer, errors.Join(cerr, err)
}

// socks serves one connection of a SOCKS 5 proxy (RFC 1928). It knows only the
// command CONNECT, without authentication.
func socks(conn net.Conn, dial func(address string) (net.Conn, error)) error {
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(conn, b)
		return b, err
	}
	head, err := read(2) // version, number of methods
	if err != nil || head[0] != 5 {
		return errors.Join(err, errors.New("socks: another version"))
	}
	if _, err := read(int(head[1])); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{5, 0}); err != nil { // no password: only the cluster is here
		return err
	}
	if head, err = read(4); err != nil { // version, command, reserved, type of address
		return err
	}
	refuse := func(code byte) error {
		_, err := conn.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		return err
	}
	if head[1] != 1 {
		return refuse(7)
	}
	length := map[byte]int{1: 4, 4: 16}[head[3]]
	if head[3] == 3 {
		b, err := read(1)
		if err != nil {
			return err
		}
		length = int(b[0])
	}
	name, err := read(length + 2)
	if err != nil || length == 0 {
		return errors.Join(err, refuse(8))
	}
	host := string(name[:length])
	if head[3] != 3 {
		host = net.IP(name[:length]).String()
	}
	port := int(name[length])<<8 | int(name[length+1])
	to, err := dial(net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return errors.Join(err, refuse(5))
	}
	if err := refuse(0); err != nil { // granted
		return errors.Join(err, to.Close())
	}
	return join(conn, to)
}
