package server

import (
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls of the request path. They never block, so the scheduler is not told of them: syscall.Syscall would
// cost as much again as the shortest of them.

func recv(fd int32, b []byte) (int, syscall.Errno) {
	for {
		n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
		if err != unix.EINTR {
			return int(n), err
		}
	}
}

// writev sends both parts with one call.
func writev(fd int32, iov *[2]unix.Iovec, head, body []byte) (int, syscall.Errno) {
	for {
		iov[0].Base, iov[0].Len = unsafe.SliceData(head), uint64(len(head))
		iov[1].Base, iov[1].Len = unsafe.SliceData(body), uint64(len(body))
		n, _, err := syscall.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(iov)), 2)
		iov[1].Base = nil // an idle worker must not keep content alive that was replaced
		if err != unix.EINTR {
			return taken(n, err)
		}
	}
}

// taken returns the number of bytes that the socket accepted. A full socket is not an error.
func taken(n uintptr, err syscall.Errno) (int, syscall.Errno) {
	if err == unix.EAGAIN {
		return 0, 0
	}
	return int(n), err
}

// sendfile sends head, if any of it is left, and length bytes of a file, which the kernel does not copy. That the
// socket cannot take everything is not an error. A signal cuts sendfile(2) short while the socket has room, which no
// event would announce: only EAGAIN means that the socket is full.
func sendfile(fd int32, head []byte, file int, at int64, length, piece int) (int, syscall.Errno) {
	sent, err := 0, syscall.Errno(0)
	if len(head) > 0 {
		// The kernel holds the head back until the body's first bytes come.
		if sent, err = sendMore(fd, head); err != 0 || sent < len(head) {
			return sent, err
		}
	}
	for end := sent + length; sent < end; {
		n, _, err := syscall.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(file), uintptr(unsafe.Pointer(&at)), uintptr(min(end-sent, piece)), 0, 0)
		switch err {
		case 0:
			if sent += int(n); n == 0 {
				return sent, unix.EIO // the file is shorter than it should be: the response cannot be finished
			}
		case unix.EINTR:
		case unix.EAGAIN:
			return sent, 0
		default:
			return sent, err
		}
	}
	return sent, 0
}

func sendMore(fd int32, b []byte) (int, syscall.Errno) {
	for {
		n, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_MORE|unix.MSG_NOSIGNAL, 0, 0)
		if err != unix.EINTR {
			return taken(n, err)
		}
	}
}

// send sends what the socket takes now.
func send(fd int32, b []byte) (int, syscall.Errno) {
	for {
		n, _, err := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
		if err != unix.EINTR {
			return taken(n, err)
		}
	}
}

// peek reads and leaves what it reads in the socket.
func peek(fd int32, b []byte) (int, syscall.Errno) {
	n, _, err := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_PEEK, 0, 0)
	return int(n), err
}

// newPair makes two unix sockets that are connected to each other.
func newPair() (pair [2]int, err error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
}

// accept accepts a connection without its address, which the library's call would allocate.
func accept(listener int) (int32, syscall.Errno) {
	fd, _, err := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(listener), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int32(fd), err
}

// ready collects events without waiting.
func ready(epoll int, events []unix.EpollEvent) int {
	n, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if err != 0 {
		return 0
	}
	return int(n)
}

// await collects events, and waits at most this many milliseconds for the first; -1 has no limit.
func await(epoll int, events []unix.EpollEvent, milliseconds int) (int, error) {
	n, err := unix.EpollWait(epoll, events, milliseconds)
	if err == unix.EINTR {
		return 0, nil
	}
	return n, err
}

// peerOf returns the address of a connection's other end, an invalid one for a unix socket.
func peerOf(fd int32) (address netip.Addr, ok bool) {
	name, err := unix.Getpeername(int(fd))
	return addressOf(name).Addr(), err == nil
}

// isReadable reports whether something can be read, or a connection accepted.
func isReadable(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// readable returns how many bytes wait to be read, 0 if the kernel does not say.
func readable(fd int32) int {
	n, _ := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	return n
}

// unacknowledged returns how many bytes that we wrote the peer has not acknowledged, 0 if the kernel does not say.
func unacknowledged(fd int32) int {
	n, _ := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return n
}

// Indexes into the result of SO_MEMINFO; see include/uapi/linux/sock_diag.h.
const (
	memWriteAlloc  = 2 // bytes that the peer has not read, for a unix socket
	memForward     = 4 // memory set aside for more
	memWriteQueued = 5 // bytes that the peer has not acknowledged, for TCP
	memVars        = 9
)

// heldFor returns how many bytes the kernel holds of what was sent, including its own bookkeeping.
func heldFor(fd int32) int32 {
	var held [memVars]uint32
	length := uint32(unsafe.Sizeof(held))
	_, _, err := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&held)), uintptr(unsafe.Pointer(&length)), 0)
	if err != 0 {
		return 0
	}
	queued := max(held[memWriteAlloc], held[memWriteQueued])
	if queued == 0 {
		return 0
	}
	return int32(queued + held[memForward])
}

// setSendBuffer sets the size of a send buffer. It asks for half, since the kernel doubles it.
func setSendBuffer(fd, size int32) {
	_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, int(size/2)) // if it fails, the size stays
}

// forget makes the close of a connection discard what the peer has not acknowledged.
func forget(fd int32) {
	_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// newWake makes an eventfd: a write to it ends its owner's wait.
func newWake() (int, error) { return unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC) }

func wake(fd int) {
	one := [8]byte{1}
	_, _ = unix.Write(fd, one[:]) // if it is full, its owner will wake anyway
}

func clearWake(fd int) {
	var count [8]byte
	_, _ = unix.Read(fd, count[:])
}
