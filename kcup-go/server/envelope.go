package server

import (
	"runtime"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"kcup/config"
)

// Envelope is what the cgroup leaves us, decided once at the start.
type Envelope struct {
	threads  int
	heldMost int // bytes each worker may keep of unfinished heads
}

const (
	mib = 1 << 20
	// What a silent connection costs the kernel, which the cgroup pays too.
	kernelPerConnection = 1536
	// What the program and its runtime take before the first connection.
	atRest = 12 * mib
)

// Decide sizes the process by the CPUs and the memory of its cgroup, and says so in one line.
func Decide(cfg *config.Config, content int, log *logrus.Logger) Envelope {
	threads := cfg.Threads
	if threads == 0 {
		threads = grantedCPUs()
	}
	// One more than there are workers: the acceptor and signals should not wait for a worker's time slice.
	runtime.GOMAXPROCS(threads + 1)

	debug.FreeOSMemory() // compressors need more than serving does
	limit := memoryLimit()
	held := 64 * mib
	if limit > 0 {
		left := limit - int64(atRest+content) - int64(cfg.MaxConnections)*kernelPerConnection
		held = int(min(max(left/4, mib), 64*mib))
		debug.SetMemoryLimit(max(limit/4, int64(atRest+content+held)))
	}
	memory := "no memory limit"
	if limit > 0 {
		memory = "memory limit " + inMiB(limit)
	}
	log.Infof("%d threads, %s, at most %d connections, content %d bytes, unfinished heads at most %s",
		threads, memory, cfg.MaxConnections, content, inMiB(int64(held)))
	return Envelope{threads, max(held/threads, 2*maxHead)}
}
