// Socket activation: the listener that the service manager passed.

package server

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// firstPassed is SD_LISTEN_FDS_START of sd_listen_fds(3).
const firstPassed = 3

// passed takes the listener that the service manager passed (K-141). Without one it returns neither a listener nor an
// error.
func passed() (l *listener, err error) {
	process, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range [...]string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if process != strconv.Itoa(os.Getpid()) || count == "" {
		return nil, nil
	}
	if strings.Trim(count, "0123456789") != "" {
		count = strconv.Quote(count)
	}
	if count != "1" {
		err = fmt.Errorf("there are %s, and one is expected", count)
	} else if l, err = inherit(firstPassed); err == nil {
		return l, nil
	}
	return nil, fmt.Errorf("cannot take the socket that was passed: %w", err)
}

// inherit sets a descriptor up as listen would.
func inherit(fd int) (*listener, error) {
	family, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	kind, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	listens, err3 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	known := family == unix.AF_INET || family == unix.AF_INET6 || family == unix.AF_UNIX
	if errors.Join(err, err2, err3) != nil || !known || kind != unix.SOCK_STREAM || listens == 0 {
		return nil, errors.New("it is not a listening stream socket")
	}
	unix.CloseOnExec(fd)
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, err
	}
	if name, ok := name.(*unix.SockaddrUnix); ok {
		return &listener{fd, unixName(name.Name), true}, nil
	}
	return &listener{fd, "http://" + addressOf(name).String() + "/", false}, setOptions(fd)
}
