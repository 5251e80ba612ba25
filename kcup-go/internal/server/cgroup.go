package server

import (
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	membership = "/proc/self/cgroup"
)

// grantedCPUs returns the smaller of the CPUs we may run on and the quota, rounded down; at least 1.
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
	q, _ := strconv.Atoi(quota) // what is no number is 0
	p, _ := strconv.Atoi(period)
	if q <= 0 || p <= 0 {
		return otherwise
	}
	return q / p
}

// memory has the cgroups that limit our memory: ours and those above it that have a limit.
type memory struct {
	groups []memoryGroup
	tcp    int64 // version 1's smallest limit on socket buffers, which its other limit does not include; 0: none
}

// memoryGroup is a cgroup with a limit. Its files stay open, since the sandbox lets none be opened later.
type memoryGroup struct {
	charged            bool // whether socket buffers count: version 2
	limit, usage, stat int
	cache              [2]string // parts of the usage that the kernel reclaims if memory is short, named as in stat
}

func openMemory() *memory { return findMemory(cgroupRoot, membership) }

func findMemory(root, membership string) *memory {
	m := &memory{}
	for _, dir := range dirsOf(root, membership, "") {
		m.add(dir, true, "memory.max", "memory.current", "")
	}
	for _, dir := range dirsOf(root, membership, "memory") {
		// Without "total_" it would be that of this group alone.
		m.add(dir, false, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
		if n, ok := limitOf(path.Join(dir, "memory.kmem.tcp.limit_in_bytes")); ok && (m.tcp == 0 || n < m.tcp) {
			m.tcp = n
		}
	}
	return m
}

// add adds a group that has a limit.
func (m *memory) add(dir string, charged bool, limit, usage, prefix string) {
	if _, ok := limitOf(path.Join(dir, limit)); !ok {
		return
	}
	open := func(name string) int {
		fd, _ := unix.Open(path.Join(dir, name), unix.O_RDONLY|unix.O_CLOEXEC, 0) // if it fails, reading fails too
		return fd
	}
	m.groups = append(m.groups, memoryGroup{charged, open(limit), open(usage), open("memory.stat"),
		[2]string{prefix + "inactive_file", prefix + "active_file"}})
}

func (m *memory) close() {
	for _, group := range m.groups {
		for _, fd := range []int{group.limit, group.usage, group.stat} {
			_ = unix.Close(fd)
		}
	}
}

// limitOf reads a limit. Version 1 writes "no limit" as a number near 2^63.
func limitOf(file string) (n int64, ok bool) {
	n, err := strconv.ParseInt(readText(file), 10, 64)
	return n, err == nil && n < 1<<60
}

// least returns the smallest limit, 0 for none.
func (m *memory) least() (least int64, charged bool) {
	for _, group := range m.groups {
		if n, ok := readNumber(group.limit); ok && (least == 0 || n < least) {
			least, charged = n, group.charged
		}
	}
	return least, charged
}

// available returns the number of bytes that may still be used, as far as is known.
func (m *memory) available() int64 {
	least := int64(math.MaxInt64)
	for _, group := range m.groups {
		limit, limited := readNumber(group.limit)
		used, known := readNumber(group.usage)
		if !limited || !known {
			continue
		}
		stat := readAgain(group.stat)
		for _, name := range group.cache {
			used -= statOf(stat, name)
		}
		least = min(least, limit-used)
	}
	return least
}

// statOf returns a line of memory.stat, 0 without one.
func statOf(stat, name string) int64 {
	for line := range strings.Lines(stat) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

func readNumber(fd int) (n int64, ok bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(readAgain(fd)), 10, 64)
	return n, err == nil
}

// readAgain reads a file of the kernel from its start, since the kernel writes it again for each reading.
func readAgain(fd int) string {
	b := make([]byte, 16384)
	n, _ := unix.Pread(fd, b, 0) // it fails if there is no such file
	return string(b[:max(n, 0)])
}

func cgroupDirs(controller string) []string { return dirsOf(cgroupRoot, membership, controller) }

// dirsOf lists our directory in a hierarchy and those above it. The empty controller is version 2. Where the
// path is one of the host that a container does not see, its root is all there is.
func dirsOf(root, membership, controller string) (dirs []string) {
	for line := range strings.Lines(readText(membership)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		root := path.Join(root, controller)
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			dirs = append(dirs, path.Join(root, dir))
			if dir == "/" {
				return dirs
			}
		}
	}
	return dirs
}

// readText does not use os.ReadFile, which starts the runtime's poller: without a free descriptor that ends the
// process.
func readText(file string) string {
	fd, _ := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0) // it fails if there is no such file
	defer unix.Close(fd)
	return strings.TrimSpace(readAgain(fd))
}
