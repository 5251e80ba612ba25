"""Intercepted system calls of a server: a thread of the test decides whether each happens or fails."""

import contextlib
import ctypes
import os
import select
import socket
import threading
from dataclasses import dataclass, field
from pathlib import Path

from .kernel import (
    ANSWERED,
    ASKED,
    CONTINUE,
    NOTIF_RECV,
    NOTIF_SEND,
    PR_SET_NO_NEW_PRIVS,
    RET_USER_NOTIF,
    RULESET_VERSION,
    SECCOMP_FILTER_FLAG_NEW_LISTENER,
    SECCOMP_SET_MODE_FILTER,
    SYS_SECCOMP,
    call,
    filter_calls,
    libc,
)
from .process import descriptors

NUMBERS = {
    "x86_64": {
        "sendfile": (40,),
        "epoll_ctl": (233,),
        "epoll_wait": (232, 281, 441),
        "chmod": (90, 91, 268, 452),
        "send": (1, 44),
        "socket": (41,),
        "clone": (56, 435),
        "accept": (43, 288),
        "read": (0,),
        "landlock_create_ruleset": (444,),
    },
    "aarch64": {
        "sendfile": (71,),
        "epoll_ctl": (21,),
        "epoll_wait": (22, 441),
        "chmod": (52, 53, 452),
        "send": (64, 206),
        "socket": (198,),
        "clone": (220, 435),
        "accept": (202, 242),
        "read": (63,),
        "landlock_create_ruleset": (444,),
    },
}[os.uname().machine]
EPOLL_CTL_ADD = 1


class Result(int):
    """The result of a system call that is not made."""


@dataclass
class Watch:
    """Calls `judge(name, arguments)` for each system call of these names. It returns None to let the call happen, a
    number to make it fail with that errno, or a Result that the call returns.

    `preexec_fn=watch.enter` puts a process under the watch."""

    names: tuple
    judge: object
    at_once: bool = False  # judge each call in its own thread, so that one that waits does not delay the others
    thread: int = 0  # of the server, which made the last call
    ours: socket.socket = field(init=False)
    theirs: socket.socket = field(init=False)

    def __post_init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.named = {number: name for name in self.names for number in NUMBERS[name]}
        threading.Thread(target=self.work, daemon=True).start()

    def enter(self):
        notifying = filter_calls(self.named, RET_USER_NOTIF)
        call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        flags = SECCOMP_FILTER_FLAG_NEW_LISTENER
        listener = call(libc.syscall, SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(notifying))
        socket.send_fds(self.theirs, [b"."], [listener])

    def work(self):
        """Runs until the process has ended."""
        _, (listener,), _, _ = socket.recv_fds(self.ours, 1, 1)
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while poll.poll()[0][1] & select.POLLIN:
            with contextlib.suppress(OSError):  # the calling thread was interrupted, or is gone
                asked = ctypes.create_string_buffer(ASKED.size)
                call(libc.ioctl, listener, NOTIF_RECV, asked)
                if self.at_once:
                    threading.Thread(target=self.response, args=(listener, asked), daemon=True).start()
                else:
                    self.response(listener, asked)
        os.close(listener)

    def response(self, listener, asked):
        number, self.thread, _, which, _, _, *arguments = ASKED.unpack(asked.raw)
        with contextlib.suppress(OSError):  # as above
            verdict = self.judge(self.named[which], arguments)
            if isinstance(verdict, Result):
                answered = ANSWERED.pack(number, verdict, 0, 0)
            else:
                answered = ANSWERED.pack(number, 0, -verdict, 0) if verdict else ANSWERED.pack(number, 0, 0, CONTINUE)
            call(libc.ioctl, listener, NOTIF_SEND, ctypes.create_string_buffer(answered, ANSWERED.size))


def first_landlock():
    """Makes the kernel report version 1 of Landlock, which covers files and no sockets."""
    version = [0, 0, RULESET_VERSION]
    return Watch(("landlock_create_ruleset",), lambda _, arguments: Result(1) if arguments[:3] == version else None)


def watching(pid, descriptor):
    """The epoll descriptor of a process that watches this descriptor of it."""
    epolls = [number for number, target in descriptors(pid).items() if target == "anon_inode:[eventpoll]"]
    for epoll in epolls:
        lines = Path(f"/proc/{pid}/fdinfo/{epoll}").read_text().splitlines()
        if any(line.split()[:2] == ["tfd:", str(descriptor)] for line in lines):
            return epoll
    return None
