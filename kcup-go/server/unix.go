// Unix sockets. Sibling: kcup-rust/src/server/unix.rs

package server

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kcup/content"
)

// unixMode lets anybody in who may enter the directory.
const unixMode = 0o666

// listenUnix makes a listening socket at a path (K-140). The kernel does not hand its options down to connections.
func listenUnix(path string) (fd int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot listen on unix:%s: %w", path, content.Reason(err))
		}
	}()
	if fd, err = unixSocket(); err != nil {
		return fd, err
	}
	address := unixAddress(path)
	if err = unix.Bind(fd, address); err == unix.EADDRINUSE {
		if err = makeWay(path); err == nil {
			err = unix.Bind(fd, address)
		}
	}
	if err != nil {
		return fd, err
	}
	if err = os.Chmod(path, unixMode); err != nil {
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
	if err = unix.Connect(fd, unixAddress(path)); err != unix.ECONNREFUSED {
		return unix.EADDRINUSE
	}
	return os.Remove(path)
}

func unixSocket() (fd int, err error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// unixAddress names a file: to the library a leading @ would mean an abstract name.
func unixAddress(path string) *unix.SockaddrUnix {
	if path[0] == '@' {
		path = "./" + path
	}
	return &unix.SockaddrUnix{Name: path}
}
