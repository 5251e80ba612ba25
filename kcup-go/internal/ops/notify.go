// Notifications to the service manager (K-142).

package ops

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// notifyTimeout is the time that the manager has to accept a notification.
const notifyTimeout = 1 // seconds

const stopping = "STOPPING=1"

// Notifier sends notifications to the service manager, as sd_notify(3) does (K-142). Without a manager it does nothing.
type Notifier struct {
	socket int // -1: none
	mutex  sync.Mutex
	over   bool // STOPPING=1 has been sent, after which nothing follows
}

// NewNotifier connects to the manager, which the sandbox forbids later.
func NewNotifier() *Notifier {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" || name[0] != '/' && name[0] != '@' {
		return &Notifier{socket: -1}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &Notifier{socket: -1}
	}
	timeout := unix.Timeval{Sec: notifyTimeout}
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)
	_ = unix.Connect(fd, &unix.SockaddrUnix{Name: name}) // without a connection nothing is sent
	return &Notifier{socket: fd}
}

// Ready is sent when we listen, and when a reload is over.
func (n *Notifier) Ready() { n.tell("READY=1") }

// Reloading is sent when a reload begins.
func (n *Notifier) Reloading() {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // this clock always exists
	n.tell(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", now.Nano()/1000))
}

// Stopping is sent when the drain begins.
func (n *Notifier) Stopping() { n.tell(stopping) }

// tell sends nothing after STOPPING=1, even if another goroutine began before.
func (n *Notifier) tell(state string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.socket < 0 || n.over {
		return
	}
	_ = unix.Sendto(n.socket, []byte(state), unix.MSG_NOSIGNAL, nil)
	n.over = state == stopping
}
