package server

import (
	"runtime"
	"runtime/debug"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"
)

const (
	// What one silent connection costs: the kernel's socket, its dentry and its place in an epoll set, and our
	// record. Measured with 16,384 connections in a memory cgroup; see docs/adr/0004.
	connectionCost = 2048
	// The program, its runtime and its workers at rest.
	resting = 12 << 20
	// Both variants of the largest content that has any, twice during a reload.
	variants = 4 << 20
	// More than this is never kept of incomplete heads; at least two heads always are.
	mostKept  = 64 << 20
	leastKept = 32 << 10
	// Descriptors that are not connections: standard streams, listener, signals, what waits for events, cgroups' files,
	// the content's while it is read, the service manager's socket; and those of each worker; and what --admin has, some
	// connections among them.
	descriptors         = 24
	descriptorsOfWorker = 2
	descriptorsOfAdmin  = 16
)

// envelope is how much this process may hold, decided once, so that the answer to too many peers is never the
// kernel's OOM killer.
type envelope struct {
	maxConnections int
	kept           int  // bytes of incomplete heads, over all workers
	short          bool // memory, and not what was asked for or descriptors, decided on maxConnections
	limited        bool // by a cgroup
}

// surroundings are the limits that we live in.
type surroundings struct {
	memory      int64 // of our cgroups the smallest limit, in bytes; 0 is none
	descriptors uint64
}

// readSurroundings needs no raising of the limit on descriptors: Go's start does that.
func readSurroundings(m memory, admin bool) surroundings {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		limit.Cur = unix.RLIM_INFINITY
	}
	if admin {
		limit.Cur = max(limit.Cur, descriptorsOfAdmin) - descriptorsOfAdmin
	}
	return surroundings{m.least(), limit.Cur}
}

// newEnvelope is pure. content is the size of the bytes and their variants.
func newEnvelope(wanted, threads int, content int64, around surroundings) envelope {
	others := uint64(descriptors + descriptorsOfWorker*threads)
	connections := wanted
	if available := max(around.descriptors, others+1) - others; available < uint64(wanted) {
		connections = int(available)
	}
	if around.memory == 0 {
		return envelope{maxConnections: connections, kept: mostKept}
	}
	// A reload needs room for new content besides: where there is none it fails (K-104).
	free := max(around.memory-resting-content, 0)
	affordable := max(int(free/4*3/connectionCost), 1)
	most := min(connections, affordable)
	left := max(free-int64(most)*connectionCost, 0)
	return envelope{most, int(min(max(left/4, leastKept), mostKept)), affordable < connections, true}
}

// apply tells the runtime, and says what was decided; it warns where it is memory that is short.
func (e envelope) apply(wanted, threads int, log *logrus.Logger) {
	// One more than there are workers: the acceptor and signals should not wait for a worker's time slice.
	runtime.GOMAXPROCS(threads + 1)
	if e.limited {
		// The content lies outside of the heap; its variants do not.
		debug.SetMemoryLimit(resting + variants + int64(e.kept))
	}
	kept := e.kept / 1024
	if e.short {
		log.Warnf("memory for %d connections, not --max-connections %d; %d KiB for incomplete heads", e.maxConnections, wanted, kept)
	} else {
		log.Infof("at most %d connections, %d KiB for incomplete heads", e.maxConnections, kept)
	}
}
