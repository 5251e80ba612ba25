// Whether content fits into the memory limits (K-104), and we into that on descriptors (K-85b).
// Sibling: kcup-rust/src/server/fits.rs

package server

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
	"gitlab.com/kcup/kcup/kcup-go/internal/server/guard"
)

const (
	// What must be left beside the content for each worker: two heads and a response.
	leastOfWorker = 2*guard.MaxHead + leastShare
	// What the process takes besides, from before it reads its content until it serves.
	starting = 2 << 20
	// Descriptors without which nothing is begun: more than are open at rest, so that some are left for connections.
	leastDescriptors         = 32
	leastDescriptorsOfWorker = 2
)

// HasRoom says, before there is a server, whether so many bytes more may be taken for content. It is asked until close.
func HasRoom(cfg *config.Config) (has func(needed int64) bool, close func()) {
	m, least := openMemory(), starting+least(threads(cfg))
	return func(needed int64) bool { return m.has(needed + least) }, m.close
}

// MayHaveDescriptors says what is wrong with the limit on them, if anything is: the runtime gives up then, stacks and all.
// It took as many as may be had when it started.
func MayHaveDescriptors(cfg *config.Config) error {
	needed := uint64(leastDescriptors + leastDescriptorsOfWorker*threads(cfg))
	if cfg.Admin.IsValid() {
		needed += AdminConnections
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur >= needed {
		return nil
	}
	return fmt.Errorf("cannot start: %d descriptors are needed, and %d are allowed (raise the limit on open files)", needed, limit.Cur)
}

// has looks twice, since what is garbage counts as used.
func (m *memory) has(needed int64) bool {
	if m.room() >= needed {
		return true
	}
	debug.FreeOSMemory()
	return m.room() >= needed
}

func least(threads int) int64 {
	return leastConnections*connectionCost + int64(threads)*leastOfWorker
}

func threads(cfg *config.Config) int {
	if cfg.Threads == 0 {
		return grantedCPUs()
	}
	return cfg.Threads
}
