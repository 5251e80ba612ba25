// Whether content fits into the memory limits (K-104), and the process into those on descriptors (K-85b) and threads.

package server

import (
	"fmt"
	"math"
	"path"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	// The memory that content must leave for each worker: two heads and a response.
	leastOfWorker = 2*guard.MaxHead + leastShare
	// The memory that the process itself takes between reading its content and serving.
	starting = 2 << 20
	// The descriptors needed to start: more than are open at rest, so that some are left for connections.
	leastDescriptors         = 32
	leastDescriptorsOfWorker = 2
)

// HasMemory reports, before there is a server, whether content may take this many bytes more, until close is called.
func HasMemory(cfg *config.Config) (has func(needed int64) bool, close func()) {
	m, least := openMemory(), starting+least(threads(cfg), surroundings{tls: cfg.TLSCert != ""})
	return func(needed int64) bool { return m.has(needed + least) }, m.close
}

// MayHaveDescriptors fails if the limit on descriptors is too low, since the runtime would end the process and print
// its stacks. It has raised the limit as far as allowed when it started.
func MayHaveDescriptors(cfg *config.Config) error {
	needed := uint64(leastDescriptors + leastDescriptorsOfWorker*threads(cfg))
	if cfg.Admin.IsValid() {
		needed += AdminConnections
	}
	if cfg.TLSCert != "" {
		needed += uint64(descriptorsOfTerminator * threads(cfg))
	}
	if limit := descriptorLimit(); limit < needed {
		return fmt.Errorf("cannot start: %d descriptors are needed, and %d are allowed (raise the limit on open files)", needed, limit)
	}
	return nil
}

// has looks again after a garbage collection, since garbage counts as used.
func (m *memory) has(needed int64) bool {
	if m.available() >= needed {
		return true
	}
	debug.FreeOSMemory()
	return m.available() >= needed
}

func least(threads int, around surroundings) int64 {
	_, cost := around.each()
	return leastConnections*cost + int64(threads)*leastOfWorker
}

func threads(cfg *config.Config) int {
	if cfg.Threads == 0 {
		return grantedCPUs()
	}
	return cfg.Threads
}

// The runtime starts threads while we serve, and ends the process, printing its stacks, if it may not. With everything
// at once (reloads, the admin listener, the access log, the collector) up to 10 were seen with one worker, and 12 with
// two.
const (
	threadsOfRuntime = 8
	threadsOfWorker  = 2
)

// MayHaveThreads fails if the limits on threads are too low.
func MayHaveThreads(cfg *config.Config) error {
	needed := int64(threadsOfRuntime + threadsOfWorker*threads(cfg))
	if cfg.TLSCert != "" {
		needed += int64(threads(cfg)) // the terminators
	}
	if limit := threadLimit(); limit < needed {
		return fmt.Errorf("cannot start: %d threads are needed, and %d are allowed (raise the limit on processes, or lower --threads)", needed, limit)
	}
	return nil
}

// threadLimit returns the least that our cgroups allow and, unless we may exceed it, our user.
func threadLimit() int64 {
	least := int64(math.MaxInt64)
	for _, controller := range []string{"", "pids"} {
		for _, dir := range cgroupDirs(controller) {
			if n, ok := limitOf(path.Join(dir, "pids.max")); ok {
				least = min(least, n)
			}
		}
	}
	var limit unix.Rlimit
	if unix.Getuid() != 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil && limit.Cur < math.MaxInt64 {
		least = min(least, int64(limit.Cur))
	}
	return least
}
