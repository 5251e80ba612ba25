package ops

import "golang.org/x/sys/unix"

const (
	auditArch     = unix.AUDIT_ARCH_AARCH64
	sysNewfstatat = unix.SYS_FSTATAT
)

// Calls that only this architecture has.
var (
	wholeCallsHere []uint32
	partCallsHere  []part
)
