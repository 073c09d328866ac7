//go:build linux

// Package netns keeps a cluster's servers to their user. gleam's ports ask
// nobody who he is, run what they are sent, and end at a few wrong bytes. So
// master, agents and all that they start live in a network namespace of their
// own, which has nothing but a loopback: no other user and no other host has a
// way to their ports. The way in is a relay at a unix socket in a folder that only
// the user may enter; the way out, to an object store, is a SOCKS proxy. Between
// hosts the way leads from a forwarder inside one namespace, over TLS, to the proxy of
// another, which lets in who knows the cluster's token.
// scripts/cluster.sh makes the namespace; this package starts no server.
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

// Namespace is that of a cluster, as its user's programs see it.
type Namespace struct{ folder string }

// Find returns the namespace of the cluster whose master is named, nil if it has
// none, and the master's HOST:PORT. A name is the cluster's state folder, as an
// absolute path, or HOST:PORT: then the namespace is that of the cluster in the
// default state folder, if its master is the one.
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

// state is where the programs of this user keep what is theirs on this host.
func state() string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		dir = filepath.Join(home(), ".local", "state")
	}
	return filepath.Join(dir, "neardup")
}

// LockPath is the file whose lock a run of this user holds while it takes slots of
// the cluster without a network namespace whose master is at HOST:PORT.
func LockPath(master string) string {
	return filepath.Join(state(), "queue", url.PathEscape(master)+".lock")
}

// home is the user's home, as cluster.sh knows it: HOME, or where that is unset
// the one that the system has for the user.
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

// Dial connects to a server inside.
func (f *Namespace) Dial(ctx context.Context, address string) (net.Conn, error) {
	return dialRelay(ctx, filepath.Join(f.folder, inSocket), address)
}

// Command is how a program and its arguments are started inside: by nsenter.
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

// Inside serves the way in, and at socksAddress the way out, from within the
// namespace, until ctx ends, and of a cluster of several hosts the ways to the
// others; own is then the HOST:PORT of the server here, else "". Beside the master
// it keeps the queue of runs. It brings up the
// loopback, and keeps the servers' ports, like 45326-45400,55326-55400, from being
// given to connections: a server that starts again would find its own taken.
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

// arranged reports whether a relay before this one has made the namespace what it
// has to be. One that entered it later, not as root, would not be allowed to.
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

// wayOut handles what comes to the SOCKS proxy.
func wayOut(ctx context.Context, folder string) func(net.Conn) error {
	return func(conn net.Conn) error {
		return socks(conn, func(address string) (net.Conn, error) {
			return dialRelay(ctx, filepath.Join(folder, outSocket), address)
		})
	}
}

// only allows the loopback's addresses and those of the servers.
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

// Outside serves the way out, from outside the namespace, until ctx ends, and
// the proxy at the address own, unless it is "".
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

// Bounds of what who connects may ask of a relay.
const (
	patience    = 10 * time.Second // to say where to, and to get there
	maxLine     = 300
	connections = 16 << 10 // at once
)

// relay serves at a unix socket, to this user and root alone: a line with an
// address, answered by a connection to it, as a file, or by a line with an error.
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

// hand gives the other end of a unix socket a connection of this process.
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

// take takes what hand gives; the error is the line of text if there is one.
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

// serve handles the connections that a listener accepts, so many at once, until
// ctx ends.
func serve(ctx context.Context, l net.Listener, handle func(net.Conn) error) {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	free := make(chan struct{}, connections)
	for ctx.Err() == nil {
		conn, err := l.Accept()
		if err != nil {
			time.Sleep(50 * time.Millisecond) // too many open files: some will be closed
			continue
		}
		free <- struct{}{}
		go func() {
			defer func() { <-free }()
			if conn.SetDeadline(time.Now().Add(patience)) == nil {
				_ = handle(conn) // who connected was told
			}
			_ = conn.Close()
		}()
	}
}

// dialRelay connects to an address by way of a relay.
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

// readLine reads a line and nothing beyond it.
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

// join passes on what comes from each of two connections to the other, and that
// no more will come, until both are done or one breaks: then both do.
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

// abort ends a connection so that its other end learns that it broke: an end in
// good order would say that all has come.
func abort(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // it may be closed already
	}
	_ = conn.Close()
}

// Peer returns what the kernel says of the process at the other end of a unix
// socket.
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

// socks serves one connection by SOCKS 5 (RFC 1928): CONNECT, and nothing else.
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
