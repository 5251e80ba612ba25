"""Landlock's version; kernels that lack a part of the sandbox, for preexec_fn; and filters of system calls (BPF)."""

import ctypes
import errno
import os
import struct

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(os.uname().machine)
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}.get(os.uname().machine)
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER = 1, 8
RET_ALLOW, RET_ERRNO, RET_USER_NOTIF = 0x7FFF0000, 0x00050000, 0x7FC00000
# What a filter does in a step: BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K and BPF_RET | BPF_K.
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
LANDLOCK_CALLS = (444, 445, 446)  # landlock_create_ruleset, landlock_add_rule, landlock_restrict_self
RULESET_VERSION = 1
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
# struct seccomp_notif and struct seccomp_notif_resp
ASKED, ANSWERED = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
CONTINUE = 1
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    """struct sock_fprog: how many steps, and struct sock_filter for each."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def filter_calls(numbers, verdict):
    """A filter with this verdict for the system calls with these numbers; all others are allowed.

    The kernel runs it for every system call. For the numbers 90 and 91 its steps are:

        load the number of the call
        if it is 90, skip 0 steps, otherwise 1
        return the verdict
        if it is 91, skip 0 steps, otherwise 1
        return the verdict
        return "allowed"
    """
    steps = [(LOAD_NUMBER, 0, 0, 0)]
    for number in numbers:
        steps += [(IF_EQUAL, 0, 1, number), (RETURN, 0, 0, verdict)]
    steps += [(RETURN, 0, 0, RET_ALLOW)]
    return Program(len(steps), b"".join(struct.pack("=HBBI", *step) for step in steps))


def call(function, *arguments):
    result = function(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock_version():
    """0 if the kernel has no Landlock."""
    return max(0, libc.syscall(LANDLOCK_CALLS[0], None, ctypes.c_ulong(0), RULESET_VERSION))


def without(numbers, error):
    """The system calls with these numbers fail with this error."""
    refusing = filter_calls(numbers, RET_ERRNO | error)
    call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(refusing))


def without_landlock(error=errno.ENOSYS):
    """With ENOSYS a kernel that was built without Landlock, with EOPNOTSUPP one that was started without it."""
    without(LANDLOCK_CALLS, error)


def without_seccomp():
    without([SYS_SECCOMP], errno.ENOSYS)


def without_capset():
    without([SYS_CAPSET], errno.EPERM)


def without_either():
    without_landlock()
    without_seccomp()
