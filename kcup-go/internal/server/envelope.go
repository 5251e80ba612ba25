package server

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	// The cost of one silent connection: the kernel's socket, its dentry and its place in an epoll set, and our record.
	// Linux 6.1 charges 1.6 to 2 KiB to the cgroup; 6.12 also charges the socket object, at accept(2): 3.9 KiB. See
	// docs/adr/0004.
	connectionCost = 4096
	// The program, its runtime and its workers at rest.
	resting = 8 << 20
	// The most bytes kept of incomplete heads; two heads for each worker always are.
	mostKept = 64 << 20
	// What the kernel may hold of responses if there is no limit.
	unlimitedSockets = 256 << 20
	// This many connections are guaranteed whatever a reload needs (K-104).
	leastConnections = 64
	// Descriptors that are neither connections nor open yet: the listener; what the acceptor, the runtime and each
	// worker wait on; the service manager's socket; of content two old ones and one that is read, with two files each,
	// and the file it is read from.
	descriptors         = 3 + 2 + 2 + 3*2 + 1
	descriptorsOfWorker = 2
	// The same with TLS (K-158): of a connection its socket and a pair; its memory, with what the runtime has for it; the part
	// of that in our heap; and the descriptors of each terminator, with a pair that waits.
	descriptorsWithTLS      = 3
	connectionCostWithTLS   = 24576
	heapOfTLS               = 15 << 10
	descriptorsOfTerminator = 2
	descriptorsOfTLS        = 2
)

// AdminConnections is the most connections of the admin listener (K-115).
const AdminConnections = 64

// envelope has the limits of this process, so that too many clients never lead to the kernel's OOM killer. It is
// computed again whenever content comes or goes (K-89).
type envelope struct {
	maxConnections int
	heap           int64 // bytes that TLS takes of it
	kept           int64 // bytes of incomplete heads, over all workers
	sockets        int64 // bytes that the kernel may hold for connections, over all workers
	cost           int64 // the part of it that an open connection takes: 0 if buffers have a limit of their own
	short          bool  // memory decided on maxConnections, rather than the option or descriptors
	limited        bool  // by a cgroup
	fits           bool  // whether the least that is promised fits (K-104)
}

// surroundings are the limits set from outside.
type surroundings struct {
	memory      int64 // the smallest limit of our cgroups, in bytes; 0: none
	charged     bool  // whether socket buffers count: version 2
	tcp         int64 // if they do not, version 1's limit on them; 0: none
	descriptors uint64
	tls         bool
}

// each is what a connection takes.
func (s surroundings) each() (descriptors uint64, memory int64) {
	if s.tls {
		return descriptorsWithTLS, connectionCostWithTLS
	}
	return 1, connectionCost
}

// readSurroundings need not raise the limit on descriptors: Go does that at its start.
func readSurroundings(m *memory, others uint64, tls bool) surroundings {
	memory, charged := m.least()
	return surroundings{memory, charged, m.tcp, max(descriptorLimit(), others) - others, tls}
}

func descriptorLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

// newEnvelope computes the limits. contents is the size of all versions of the content that are held, or will be. Pure.
func newEnvelope(wanted, threads int, contents int64, around surroundings) envelope {
	e := envelope{maxConnections: wanted, kept: mostKept, sockets: unlimitedSockets, fits: true}
	descriptors, cost := around.each()
	if around.descriptors/descriptors < uint64(wanted) {
		e.maxConnections = max(int(around.descriptors/descriptors), 1)
	}
	if around.tcp > 0 {
		e.sockets = around.tcp / 4 * 3
	}
	if around.memory > 0 {
		e.limit(threads, max(around.memory-resting-contents, 0), cost, around.charged)
	}
	if around.tls {
		e.heap = int64(e.maxConnections)*heapOfTLS + e.kept // as much again as for heads is for large records
	}
	e.kept = max(e.kept, int64(threads*2*guard.MaxHead))
	return e
}

// limit divides the free memory. If socket buffers are charged to it, they share it with connections and heads; an
// eighth is left for bytes that come between two looks at the account.
func (e *envelope) limit(threads int, free, cost int64, charged bool) {
	if charged {
		e.cost, e.sockets = cost, free/8*7
	}
	least := min(int64(e.maxConnections), leastConnections)*cost + int64(threads)*leastOfWorker
	affordable := int(max(free/4*3/cost, 1))
	e.limited, e.short, e.fits = true, affordable < e.maxConnections, free >= least
	e.maxConnections = min(e.maxConnections, affordable)
	left := max(free-int64(e.maxConnections)*cost, 0)
	e.kept = min(left/4, mostKept)
}

// reservedDescriptors returns the number of descriptors that are open before there is a server, and of later ones that
// are not connections.
func reservedDescriptors(threads int, cfg *config.Config) uint64 {
	open, _ := os.ReadDir("/proc/self/fd") // without /proc the descriptors that we were given are not known
	others := uint64(len(open) + descriptors + descriptorsOfWorker*threads)
	if cfg.Admin.IsValid() {
		others += AdminConnections
	}
	if cfg.TLSCert != "" {
		others += uint64(descriptorsOfTLS + descriptorsOfTerminator*threads)
	}
	return others
}

// tell tells the runtime the memory limit.
func (e envelope) tell() {
	if e.limited && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(resting + e.kept + e.heap) // content is outside of the heap
	}
}

// log logs the limits that were lowered, and why; the first time it warns if memory is short.
func (e envelope) log(wanted int, first bool, log *logrus.Logger) {
	connections := content.Counted(int64(e.maxConnections), "connection")
	switch {
	case e.short && first:
		log.Warnf("at most %s, not %d: the memory limit allows no more", connections, wanted)
	case e.short:
		log.Infof("at most %s, not %d: the memory limit allows no more", connections, wanted)
	case e.maxConnections < wanted:
		log.Infof("at most %s, not %d: the limit on open files allows no more", connections, wanted)
	case !first:
		log.Infof("at most %s again", connections)
	}
	log.Debugf("limits: %s, %d KiB for incomplete heads, %d KiB for what the kernel holds", connections, e.kept/1024, e.sockets/1024)
}
