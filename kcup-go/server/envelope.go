package server

import (
	"bytes"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"kcup/config"
	"kcup/server/guard"
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
	return Envelope{threads, max(held/threads, 2*guard.MaxHead)}
}

const cgroupRoot = "/sys/fs/cgroup"

// grantedCPUs is the smaller of the CPUs we may run on and the quota, rounded down; at least 1.
func grantedCPUs() int {
	cpus := runtime.NumCPU()
	for _, dir := range cgroupDirs("") {
		if quota, period, found := strings.Cut(readText(dir+"/cpu.max"), " "); found {
			cpus = min(cpus, quotaCPUs(quota, period, cpus))
		}
	}
	for _, dir := range cgroupDirs("cpu") {
		cpus = min(cpus, quotaCPUs(readText(dir+"/cpu.cfs_quota_us"), readText(dir+"/cpu.cfs_period_us"), cpus))
	}
	return max(cpus, 1)
}

func quotaCPUs(quota, period string, otherwise int) int {
	q, err := strconv.Atoi(quota)
	p, err2 := strconv.Atoi(period)
	if err != nil || err2 != nil || q <= 0 || p <= 0 {
		return otherwise
	}
	return q / p
}

// memoryLimit is the smallest limit above us, 0 for none. Version 1 says none with a number near 2^63.
func memoryLimit() (least int64) {
	files := make([]string, 0, 16)
	for _, dir := range cgroupDirs("") {
		files = append(files, dir+"/memory.max")
	}
	for _, dir := range cgroupDirs("memory") {
		files = append(files, dir+"/memory.limit_in_bytes")
	}
	for _, file := range files {
		n, err := strconv.ParseInt(readText(file), 10, 64)
		if err == nil && n < 1<<60 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// cgroupDirs lists our directory in a hierarchy and those above it. The empty controller is version 2. Where the
// path is one of the host that a container does not see, its root is all there is.
func cgroupDirs(controller string) (dirs []string) {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(raw) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) < 3 || !hasWord(parts[1], controller) {
			continue
		}
		root := path.Join(cgroupRoot, controller)
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(root, dir))
			if dir == "/" {
				return dirs
			}
		}
	}
	return dirs
}

func hasWord(list, word string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if part == word {
			return true
		}
	}
	return false
}

func readText(file string) string {
	raw, _ := os.ReadFile(file) // a file that is not there says nothing
	return strings.TrimSpace(string(raw))
}

func inMiB(n int64) string { return strconv.FormatInt(n/mib, 10) + " MiB" }
