"""System calls of a server that a thread of ours sees before the kernel does: it lets them happen, or fail."""

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
    IS,
    LOAD_NUMBER,
    NOTIF_RECV,
    NOTIF_SEND,
    PR_SET_NO_NEW_PRIVS,
    RET_ALLOW,
    RET_USER_NOTIF,
    RETURN,
    RULESET_VERSION,
    SECCOMP_FILTER_FLAG_NEW_LISTENER,
    SECCOMP_SET_MODE_FILTER,
    SYS_SECCOMP,
    call,
    libc,
    program,
)
from .process import descriptors

NUMBERS = {
    "x86_64": {
        "sendfile": (40,),
        "epoll_ctl": (233,),
        "epoll_wait": (232, 281, 441),
        "chmod": (90, 91, 268, 452),
        "send": (1, 44),
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
        "clone": (220, 435),
        "accept": (202, 242),
        "read": (63,),
        "landlock_create_ruleset": (444,),
    },
}[os.uname().machine]
EPOLL_CTL_ADD = 1


class Result(int):
    """What a system call returns without being made."""


@dataclass
class Watch:
    """`judge(name, arguments)` is asked of each call of these names: nothing lets it happen, a number is its errno, a
    Result its result.

    `preexec_fn=watch.enter` puts a process under it."""

    names: tuple
    judge: object
    at_once: bool = False  # each call is judged by a thread of its own: one that is held up holds no other up
    thread: int = 0  # which asked last
    ours: socket.socket = field(init=False)
    theirs: socket.socket = field(init=False)

    def __post_init__(self):
        self.ours, self.theirs = socket.socketpair()
        self.named = {number: name for name in self.names for number in NUMBERS[name]}
        threading.Thread(target=self.work, daemon=True).start()

    def enter(self):
        rows = [(LOAD_NUMBER, 0, 0, 0)]
        for number in self.named:
            rows += [(IS, 0, 1, number), (RETURN, 0, 0, RET_USER_NOTIF)]
        asking = program(*rows, (RETURN, 0, 0, RET_ALLOW))
        call(libc.prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        flags = SECCOMP_FILTER_FLAG_NEW_LISTENER
        listener = call(libc.syscall, SYS_SECCOMP, SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(asking))
        socket.send_fds(self.theirs, [b"."], [listener])

    def work(self):
        """Until the process has ended."""
        _, (listener,), _, _ = socket.recv_fds(self.ours, 1, 1)
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while poll.poll()[0][1] & select.POLLIN:
            with contextlib.suppress(OSError):  # whoever asked was interrupted, or is gone
                asked = ctypes.create_string_buffer(ASKED.size)
                call(libc.ioctl, listener, NOTIF_RECV, asked)
                if self.at_once:
                    threading.Thread(target=self.answer, args=(listener, asked), daemon=True).start()
                else:
                    self.answer(listener, asked)
        os.close(listener)

    def answer(self, listener, asked):
        number, self.thread, _, which, _, _, *arguments = ASKED.unpack(asked.raw)
        verdict = self.judge(self.named[which], arguments)
        if isinstance(verdict, Result):
            answered = ANSWERED.pack(number, verdict, 0, 0)
        else:
            answered = ANSWERED.pack(number, 0, -verdict, 0) if verdict else ANSWERED.pack(number, 0, 0, CONTINUE)
        with contextlib.suppress(OSError):
            call(libc.ioctl, listener, NOTIF_SEND, ctypes.create_string_buffer(answered, ANSWERED.size))


def first_landlock():
    """Landlock of version 1, which knows files and no sockets: so we answer when its version is asked."""
    version = [0, 0, RULESET_VERSION]
    return Watch(("landlock_create_ruleset",), lambda _, arguments: Result(1) if arguments[:3] == version else None)


def watching(pid, descriptor):
    """The epoll descriptor of a process that this descriptor of it is watched by."""
    epolls = [number for number, target in descriptors(pid).items() if target == "anon_inode:[eventpoll]"]
    for epoll in epolls:
        lines = Path(f"/proc/{pid}/fdinfo/{epoll}").read_text().splitlines()
        if any(line.split()[:2] == ["tfd:", str(descriptor)] for line in lines):
            return epoll
    return None
