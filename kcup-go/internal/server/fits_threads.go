// Whether the runtime may have its threads; a part of fits.go. kcup-rust makes its own few when it starts.

package server

import (
	"fmt"
	"math"
	"path"

	"golang.org/x/sys/unix"

	"gitlab.com/kcup/kcup/kcup-go/internal/config"
)

// The runtime makes threads while we serve, and ends the process, stacks and all, when it may not. With everything that
// can be going on at once (reloads, the admin listener, the access log, the collector) up to 10 were seen with one worker,
// and 12 with two.
const (
	threadsOfRuntime = 8
	threadsOfWorker  = 2
)

// MayHaveThreads says what is wrong with the limits on threads, if anything is.
func MayHaveThreads(cfg *config.Config) error {
	needed, limit := int64(threadsOfRuntime+threadsOfWorker*threads(cfg)), threadLimit()
	if limit >= needed {
		return nil
	}
	return fmt.Errorf("cannot start: %d threads are needed, and %d are allowed (raise the limit on processes, or lower --threads)", needed, limit)
}

// threadLimit is the least that our cgroups allow, and, unless we may do anything, our user.
func threadLimit() int64 {
	least := int64(math.MaxInt64)
	for _, controller := range []string{"", "pids"} {
		for _, dir := range cgroupDirs(controller) {
			if n, is := limitOf(path.Join(dir, "pids.max")); is {
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
