// The kernel's numbers on this process, for the metrics process_*.

package ops

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Usage has the values of the metrics process_*.
type Usage struct {
	CPU, StartTime                uint64 // hundredths of a second
	OpenFDs, MaxFDs               uint64
	VirtualMemory, ResidentMemory uint64 // bytes
}

// Process reads files that stay open, since the sandbox lets none be opened later.
type Process struct {
	mutex     sync.Mutex // for the descriptors
	stat      *os.File
	fds       descriptors
	startTime uint64 // hundredths of a second since 1970
}

// OpenProcess opens the files. Without /proc all numbers are 0.
func OpenProcess() *Process {
	p := &Process{}
	p.stat, _ = os.Open("/proc/self/stat")
	p.fds.directory, _ = os.Open("/proc/self/fd")
	p.fds.status, _ = os.Open("/proc/self/status")
	system, _ := os.ReadFile("/proc/stat")
	p.startTime = bootTime(string(system))*ticksPerSecond + p.fields()[startTicks]
	return p
}

// ticksPerSecond is USER_HZ, which is 100 for every program on Linux: a tick is a hundredth of a second.
const ticksPerSecond = 100

// Fields of /proc/PID/stat, counted from the first after the program's name; see proc_pid_stat(5).
const (
	userTicks   = 14 - 3
	systemTicks = 15 - 3
	startTicks  = 22 - 3
	vsize       = 23 - 3
	rss         = 24 - 3
)

// fields reads the numbers of stat; a field that is not a number is 0.
func (p *Process) fields() (fields [rss + 1]uint64) {
	var b [1024]byte
	n, _ := p.stat.ReadAt(b[:], 0)
	words := strings.Fields(string(b[bytes.LastIndexByte(b[:n], ')')+1 : n]))
	for i := range min(len(fields), len(words)) {
		fields[i], _ = strconv.ParseUint(words[i], 10, 64)
	}
	return fields
}

// bootTime is when the system started, in seconds since 1970.
func bootTime(system string) (seconds uint64) {
	for line := range strings.Lines(system) {
		if text, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, _ = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		}
	}
	return seconds
}

// descriptorsAge is the greatest age of their number (K-119).
const descriptorsAge = time.Second

// descriptors has the directory with an entry for each descriptor, the file with the number of their slots, and the
// result of the last count.
type descriptors struct {
	directory, status *os.File
	counted           time.Time
	found             uint64
}

// count returns the directory's size, which since Linux 6.2 is the number of descriptors. Before it is 0, and each slot
// is probed, which takes too long for every request. The directory is never listed: that would leave 900 bytes in the
// kernel for each descriptor, charged to our control group.
func (d *descriptors) count() uint64 {
	if info, err := d.directory.Stat(); err == nil && info.Size() > 0 {
		return uint64(info.Size())
	}
	if now := time.Now(); now.Sub(d.counted) >= descriptorsAge {
		d.counted, d.found = now, d.countSlots()
	}
	return d.found
}

func (d *descriptors) countSlots() (found uint64) {
	var b [1024]byte
	n, _ := d.status.ReadAt(b[:], 0)
	_, behind, _ := strings.Cut(string(b[:n]), "FDSize:")
	size, _, _ := strings.Cut(behind, "\n")
	slots, _ := strconv.Atoi(strings.TrimSpace(size))
	for slot := range slots {
		if _, err := unix.FcntlInt(uintptr(slot), unix.F_GETFD, 0); err == nil {
			found++
		}
	}
	return found
}

// Usage reads the current numbers.
func (p *Process) Usage() Usage {
	p.mutex.Lock()
	open := p.fds.count()
	p.mutex.Unlock()
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	fields := p.fields()
	return Usage{
		CPU: fields[userTicks] + fields[systemTicks], StartTime: p.startTime,
		OpenFDs: open, MaxFDs: limit.Cur,
		VirtualMemory: fields[vsize], ResidentMemory: fields[rss] * uint64(os.Getpagesize()),
	}
}
