package server

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/content"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	// The cost of one silent connection: the kernel's socket, its dentry and its place in an epoll set, and our
	// record. Linux 6.1 charges 1.6 to 2 KiB to the cgroup; 6.12 also the socket
	// object, at accept(2), which makes 3.9 KiB. See docs/adr/0004.
	connectionCost = 4096
	// The program, its runtime and its workers at rest.
	resting = 8 << 20
	// More than this is never kept of incomplete heads; at least two heads for each worker always are.
	mostKept = 64 << 20
	// The bytes that the kernel may hold of responses where nothing limits it.
	unlimitedSockets = 256 << 20
	// So many connections are promised whatever a reload needs (K-104).
	leastConnections = 64
	// Descriptors that are neither connections nor open yet: the listener, what the acceptor, the runtime and each worker
	// wait for, the service manager's socket; of content two old ones and one that is read, with two files each, and the
	// file it is read from.
	descriptors         = 3 + 2 + 2 + 3*2 + 1
	descriptorsOfWorker = 2
	// The same of --admin: its listener, three files of /proc, and its connections.
	descriptorsOfAdmin = 4 + AdminConnections
)

// AdminConnections is how many the admin listener holds (K-115).
const AdminConnections = 64

// envelope is how much this process may hold, so that too many clients never bring the kernel's OOM killer.
// It is computed again with each content that comes and goes (K-89).
type envelope struct {
	maxConnections int
	kept           int64 // bytes of incomplete heads, over all workers
	sockets        int64 // bytes that the kernel may hold for connections, over all workers
	cost           int64 // and how much of that one takes that only is open: nothing where buffers are counted apart
	short          bool  // memory, and not what was asked for or descriptors, decided on maxConnections
	limited        bool  // by a cgroup
	fits           bool  // whether the least that is promised fits (K-104)
}

// surroundings are the limits that we live in.
type surroundings struct {
	memory      int64 // of our cgroups the smallest limit, in bytes; 0 is none
	charged     bool  // to which sockets' buffers count: version 2
	tcp         int64 // where they do not, version 1's limit on them; 0 is none
	descriptors uint64
}

// readSurroundings needs no raising of the limit on descriptors: Go's start does that.
func readSurroundings(m *memory, others uint64) surroundings {
	memory, charged := m.least()
	return surroundings{memory, charged, m.tcp, max(descriptorLimit(), others) - others}
}

func descriptorLimit() uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

// newEnvelope is pure. contents is the size of all bytes and variants that are held, and of those to come.
func newEnvelope(wanted, threads int, contents int64, around surroundings) envelope {
	e := envelope{maxConnections: wanted, kept: mostKept, sockets: unlimitedSockets, fits: true}
	if around.descriptors < uint64(wanted) {
		e.maxConnections = max(int(around.descriptors), 1)
	}
	if around.tcp > 0 {
		e.sockets = around.tcp / 4 * 3
	}
	if around.memory > 0 {
		e.limit(threads, max(around.memory-resting-contents, 0), around.charged)
	}
	e.kept = max(e.kept, int64(threads*2*guard.MaxHead))
	return e
}

// limit divides the free memory. If socket buffers are charged to it, they share it with connections and heads; an eighth
// is left for bytes that come between two looks at the account.
func (e *envelope) limit(threads int, free int64, charged bool) {
	if charged {
		e.cost, e.sockets = connectionCost, free/8*7
	}
	least := min(int64(e.maxConnections), leastConnections)*connectionCost + int64(threads)*leastOfWorker
	affordable := int(max(free/4*3/connectionCost, 1))
	e.limited, e.short, e.fits = true, affordable < e.maxConnections, free >= least
	e.maxConnections = min(e.maxConnections, affordable)
	left := max(free-int64(e.maxConnections)*connectionCost, 0)
	e.kept = min(left/4, mostKept)
}

// reservedDescriptors counts the descriptors that are open before there is a server, and later ones that are no connections.
func reservedDescriptors(threads int, admin bool) uint64 {
	open, _ := os.ReadDir("/proc/self/fd") // without /proc nothing is known of what we were given
	others := uint64(len(open) + descriptors + descriptorsOfWorker*threads)
	if admin {
		others += descriptorsOfAdmin
	}
	return others
}

// tell tells the runtime.
func (e envelope) tell() {
	if e.limited && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(resting + e.kept) // content lies outside of the heap
	}
}

// log says which limits were lowered, and why; the first time it warns where it is memory that is short.
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
