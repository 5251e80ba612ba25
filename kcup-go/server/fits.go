// Whether content fits into the memory limits (K-104). Sibling: kcup-rust/src/server/fits.rs

package server

import (
	"runtime/debug"

	"kcup/config"
	"kcup/server/guard"
)

const (
	// What must be left beside the content for each worker: two heads and a response.
	leastOfWorker = 2*guard.MaxHead + leastShare
	// What the process takes besides, from before it reads its content until it serves.
	starting = 2 << 20
)

// HasRoom says, before there is a server, whether so many bytes more may be taken for content. It is asked until close.
func HasRoom(cfg *config.Config) (has func(needed int64) bool, close func()) {
	m, least := openMemory(), starting+least(threads(cfg))
	return func(needed int64) bool { return m.has(needed + least) }, m.close
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
