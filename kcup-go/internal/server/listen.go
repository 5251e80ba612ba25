package server

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// backlog is more than the kernel's default of net.core.somaxconn, which caps it.
const backlog = 65535

// listener is a listening socket, with its name in the line of K-15.
type listener struct {
	fd     int
	url    string
	isUnix bool
}

// newListener takes the socket that was passed, or makes one.
func newListener(cfg *config.Config) (l *listener, err error) {
	if l, err = anyListener(cfg); err == nil && cfg.TLSCert != "" {
		if rest, is := strings.CutPrefix(l.url, "http:"); is {
			l.url = "https:" + rest // K-150
		}
	}
	return l, err
}

func anyListener(cfg *config.Config) (*listener, error) {
	if l, err := passed(); l != nil || err != nil {
		return l, err
	}
	if cfg.Unix != "" {
		fd, err := listenUnix(cfg.Unix)
		return &listener{fd, unixName(cfg.Unix), true}, err
	}
	fd, at, err := Listen(cfg.Host, cfg.Port)
	return &listener{fd, "http://" + at.String() + "/", false}, err
}

// Listen makes a listening socket, and returns its address.
func Listen(host netip.Addr, port uint16) (fd int, at netip.AddrPort, err error) {
	fd, at, err = listen(host, port)
	if err == unix.EAFNOSUPPORT && host == netip.IPv6Unspecified() { // the kernel has no IPv6 (K-17)
		fd, at, err = listen(netip.IPv4Unspecified(), port)
	}
	if err != nil {
		err = fmt.Errorf("cannot listen on %s: %w", netip.AddrPortFrom(host, port), content.Reason(err))
	}
	return fd, at, err
}

func listen(host netip.Addr, port uint16) (fd int, at netip.AddrPort, err error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(port), Addr: host.As16()})
	if host.Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(port), Addr: host.As4()}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fd, at, err
	}
	if err = setOptions(fd); err != nil {
		return fd, at, err
	}
	if family == unix.AF_INET6 {
		if err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil { // K-17
			return fd, at, err
		}
	}
	if err = unix.Bind(fd, address); err != nil {
		return fd, at, err
	}
	if err = unix.Listen(fd, backlog); err != nil {
		return fd, at, err
	}
	name, err := unix.Getsockname(fd)
	return fd, addressOf(name), err
}

// setOptions sets the options that the connections of a TCP listener inherit.
func setOptions(fd int) error {
	for _, option := range [...][3]int{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR, 1},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
	} {
		if err := unix.SetsockoptInt(fd, option[0], option[1], option[2]); err != nil {
			return err
		}
	}
	return setLimits(fd)
}

// setLimits sets what the kernel may hold for a connection (K-87), which unix sockets do not inherit. An urgent byte is
// to be read like any other; otherwise FIONREAD would count it, and no read would return it.
func setLimits(fd int) error {
	for _, option := range [...][2]int{
		{unix.SO_SNDBUF, leastBuffer / 2}, {unix.SO_RCVBUF, receiveBuffer / 2}, {unix.SO_OOBINLINE, 1},
	} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option[0], option[1]); err != nil {
			return err
		}
	}
	return nil
}

// addressOf returns the address of an Internet socket.
func addressOf(name unix.Sockaddr) netip.AddrPort {
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(name.Addr), uint16(name.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), uint16(name.Port))
	}
	return netip.AddrPort{}
}
