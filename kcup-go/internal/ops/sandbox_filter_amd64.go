package ops

import "golang.org/x/sys/unix"

const (
	auditArch     = unix.AUDIT_ARCH_X86_64
	sysNewfstatat = unix.SYS_NEWFSTATAT
)

// Calls that only this architecture has.
var (
	wholeCallsHere = []uint32{unix.SYS_STAT, unix.SYS_EPOLL_WAIT, unix.SYS_POLL}
	partCallsHere  = []part{{unix.SYS_OPEN, where{1, writing, 0}}}
)
