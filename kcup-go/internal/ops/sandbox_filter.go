// The system calls that the sandbox allows: conformance/vectors/system_calls.toml; a test compares them.

package ops

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// where is a condition under which a call is allowed: this argument (from 0), masked, equals the value.
type where struct{ argument, mask, value uint32 }

type part struct {
	call  uint32
	where where
}

// wholeCalls are allowed with any arguments. Those of one architecture alone are in separate files.
var wholeCalls = append([]uint32{
	// What is open: files, connections, memory files.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_FSTAT,
	unix.SYS_GETDENTS64, unix.SYS_SENDFILE, unix.SYS_MEMFD_CREATE, unix.SYS_FTRUNCATE,
	// Paths, which Landlock judges.
	sysNewfstatat, unix.SYS_STATX,
	// Connections.
	unix.SYS_ACCEPT4, unix.SYS_RECVFROM, unix.SYS_SHUTDOWN, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME,
	unix.SYS_GETSOCKOPT, unix.SYS_SETSOCKOPT,
	// Events.
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PPOLL,
	// Memory.
	unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK,
	// Threads.
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	// Signals that arrive.
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	// Clocks, random numbers and limits.
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETRANDOM, unix.SYS_GETRLIMIT,
}, wholeCallsHere...)

const (
	allBits = 1<<32 - 1
	writing = unix.O_ACCMODE | unix.O_CREAT | unix.O_TRUNC
)

// partCalls are allowed with some arguments.
var partCalls = append([]part{
	{unix.SYS_OPENAT, where{2, writing, 0}},
	{unix.SYS_SENDTO, where{5, allBits, 0}}, // the length of an address
	{unix.SYS_MMAP, where{2, unix.PROT_EXEC, 0}},
	{unix.SYS_MPROTECT, where{2, unix.PROT_EXEC, 0}},
	{unix.SYS_CLONE, where{0, unix.CLONE_THREAD, unix.CLONE_THREAD}},
	{unix.SYS_TGKILL, where{0, allBits, uint32(os.Getpid())}},
	{unix.SYS_PRLIMIT64, where{0, allBits, 0}},
	{unix.SYS_PRCTL, where{0, allBits, unix.PR_SET_NAME}},
	{unix.SYS_FCNTL, where{1, allBits &^ 7, 0}}, // F_DUPFD to F_SETLKW
	{unix.SYS_FCNTL, where{1, allBits, unix.F_DUPFD_CLOEXEC}},
	{unix.SYS_FCNTL, where{1, allBits, unix.F_ADD_SEALS}},
	{unix.SYS_IOCTL, where{1, allBits, unix.SIOCOUTQ}},
	{unix.SYS_IOCTL, where{1, allBits, unix.SIOCINQ}},
}, partCallsHere...)

// callOfTLS is allowed only with it.
var callOfTLS = part{unix.SYS_SOCKETPAIR, where{0, allBits, unix.AF_UNIX}}

// filter restricts all threads to the calls above. It sets no_new_privs in all of them, which is required.
func filter(tls bool) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	code := program(tls)
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// Before Linux 5.16 a filter would turn mitigations on that protect from untrusted code; there is none here.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return errno
	case thread != 0: // it has a filter that we do not have
		return unix.EBUSY
	}
	return nil
}

// Offsets in struct seccomp_data.
const (
	callAt      = 0
	archAt      = 4
	argumentsAt = 16 // of 8 bytes each, the low ones first
)

const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

// few is the number of calls that are compared one after the other. The kernel runs a new filter for every call there is.
const few = 8

// program is the filter as a program of the kernel's BPF. Other calls fail with ENOSYS: a runtime then falls back to an older
// call, which it would not after EPERM.
func program(tls bool) []unix.SockFilter {
	p := []unix.SockFilter{load(archAt), skip(unix.BPF_JEQ, auditArch, 1, 0), end(unix.SECCOMP_RET_KILL_PROCESS), load(callAt)}
	left := calls(tls)
	for some := range slices.Chunk(slices.Sorted(maps.Keys(left)), few) {
		guard := len(p)
		p = append(p, skip(unix.BPF_JGT, some[len(some)-1], 0, 0))
		for _, call := range some {
			p = judge(p, call, left[call])
		}
		p = append(p, end(refuse))
		p[guard].Jt = uint8(len(p) - guard - 1)
	}
	return append(p, end(refuse))
}

// calls are the allowed calls by number, each without conditions unless it has a where.
func calls(tls bool) map[uint32][]where {
	left := map[uint32][]where{}
	for _, call := range wholeCalls {
		left[call] = nil
	}
	for _, part := range partCalls {
		left[part.call] = append(left[part.call], part.where)
	}
	if tls {
		left[callOfTLS.call] = []where{callOfTLS.where}
	}
	return left
}

// judge adds the instructions that decide on this call, and go on for others.
func judge(p []unix.SockFilter, call uint32, parts []where) []unix.SockFilter {
	guard := len(p)
	p = append(p, skip(unix.BPF_JEQ, call, 0, 0))
	for _, is := range parts {
		p = append(p, load(argumentsAt+8*is.argument), code(unix.BPF_ALU|unix.BPF_AND, is.mask),
			skip(unix.BPF_JEQ, is.value, 0, 1), end(unix.SECCOMP_RET_ALLOW))
	}
	if parts == nil {
		p = append(p, end(unix.SECCOMP_RET_ALLOW))
	} else {
		p = append(p, end(refuse))
	}
	p[guard].Jf = uint8(len(p) - guard - 1)
	return p
}

func load(at uint32) unix.SockFilter { return code(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at) }

func end(how uint32) unix.SockFilter { return code(unix.BPF_RET, how) }

func skip(compare uint16, value uint32, ifSo, ifNot uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | compare, Jt: ifSo, Jf: ifNot, K: value}
}

func code(what uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: what, K: k} }
