"""Landlock: which version this kernel knows; and, for preexec_fn, kernels without a part of the sandbox. How a filter
of system calls is written."""

import ctypes
import errno
import os
import struct

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}.get(os.uname().machine)
SYS_CAPSET = {"x86_64": 126, "aarch64": 91}.get(os.uname().machine)
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER = 1, 8
RET_ALLOW, RET_ERRNO, RET_USER_NOTIF = 0x7FFF0000, 0x00050000, 0x7FC00000
LOAD_NUMBER, IS, IS_AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
CREATE_RULESET, RESTRICT_SELF, RULESET_VERSION = 444, 446, 1
NOTIF_RECV, NOTIF_SEND = 0xC0502100, 0xC0182101
# struct seccomp_notif and struct seccomp_notif_resp
ASKED, ANSWERED = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
CONTINUE = 1
libc = ctypes.CDLL(None, use_errno=True)


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def program(*instructions):
    """Of instructions that are: what to do, how many to skip if so, and if not so, the operand."""
    return Program(len(instructions), b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions))


def call(function, *arguments):
    result = function(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def landlock_version():
    """0 where there is none."""
    return max(0, libc.syscall(CREATE_RULESET, None, ctypes.c_ulong(0), RULESET_VERSION))


def without(first, last, reason):
    """The system calls with these numbers fail."""
    refusing = program(
        (LOAD_NUMBER, 0, 0, 0),
        (IS_AT_LEAST, 0, 2, first),
        (IS_AT_LEAST, 1, 0, last + 1),
        (RETURN, 0, 0, RET_ERRNO | reason),
        (RETURN, 0, 0, RET_ALLOW),
    )
    call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call(libc.prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(refusing))


def without_landlock(reason=errno.ENOSYS):
    """ENOSYS is a kernel that was built without it, EOPNOTSUPP one that was started without it."""
    without(CREATE_RULESET, RESTRICT_SELF, reason)


def without_seccomp():
    without(SYS_SECCOMP, SYS_SECCOMP, errno.ENOSYS)


def without_capset():
    without(SYS_CAPSET, SYS_CAPSET, errno.EPERM)


def without_either():
    without_landlock()
    without_seccomp()
