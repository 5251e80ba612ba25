// Unix sockets.

package server

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
)

// unixMode lets everybody connect: the directory decides who may.
const unixMode = 0o666

// unixName returns the name of a unix socket in messages.
func unixName(path string) string { return "unix:" + config.Escaped(path) }

// listenUnix makes a listening socket at a path (K-140). Connections do not inherit its options.
func listenUnix(path string) (fd int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot listen on %s: %w", unixName(path), content.Reason(err))
		}
	}()
	if fd, err = unixSocket(); err != nil {
		return fd, err
	}
	// Not by chmod(2) afterwards, which would follow a link that somebody put there meanwhile. No other thread creates
	// files now.
	defer unix.Umask(unix.Umask(^unixMode & 0o777))
	if err = atPath(unix.SYS_BIND, fd, path); err == unix.EADDRINUSE {
		if err = makeWay(path); err == nil {
			err = atPath(unix.SYS_BIND, fd, path)
		}
	}
	if err != nil {
		return fd, err
	}
	return fd, unix.Listen(fd, backlog)
}

// makeWay removes a socket that nobody listens on: its server has ended.
func makeWay(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("it is not a socket")
	}
	fd, err := unixSocket()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err = atPath(unix.SYS_CONNECT, fd, path); err != unix.ECONNREFUSED {
		return unix.EADDRINUSE
	}
	return os.Remove(path)
}

func unixSocket() (fd int, err error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// DialUnix connects to the socket at a path, and waits at most this long, after which the error is EAGAIN.
func DialUnix(path string, most time.Duration) (net.Conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	timeout := unix.NsecToTimeval(most.Nanoseconds())
	if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout); err != nil {
		return nil, err
	}
	if err = atPath(unix.SYS_CONNECT, fd, path); err != nil {
		return nil, err
	}
	return net.FileConn(file)
}

// atPath binds or connects a socket. For the libraries a leading @ would mean an abstract name.
func atPath(call uintptr, fd int, path string) error {
	address := unix.RawSockaddrUnix{Family: unix.AF_UNIX}
	for i := range len(path) {
		address.Path[i] = int8(path[i])
	}
	_, _, err := syscall.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(&address)), unsafe.Sizeof(address))
	if err != 0 {
		return err
	}
	return nil
}
