"""K-88, K-119, K-07: a worker's loop when the kernel refuses, and how long one response may occupy it."""

import errno
import signal
import socket
import threading

import pytest

from runner.metrics import ACCEPTED, HOT, PARKED, closed, scrape
from runner.peers import ADMIN, BIG, GET, MIB, asked
from runner.process import descriptors, frozen, until
from runner.syscalls import EPOLL_CTL_ADD, Watch, watching
from runner.wire import Connection

TURN = MIB
OF_ONE_CONNECTION = [
    errno.ECONNABORTED, errno.EPERM, errno.EPROTO, errno.ENETDOWN, errno.ENOPROTOOPT, errno.EHOSTDOWN, errno.ENONET,
    errno.EHOSTUNREACH, errno.EOPNOTSUPP, errno.ENETUNREACH,
]  # fmt: skip
LARGE = BIG[: 15 * MIB] * 4


class FastReader:
    """Reads everything before the next part is sent, so that no socket is ever full. Notes what arrives between two
    waits."""

    def __init__(self):
        self.peer, self.since, self.turns, self.waste = None, 0, [], bytearray(16 * MIB)

    def judge(self, name, _):
        if self.peer and name == "sendfile":
            self.read()
        elif self.peer:
            self.read()
            self.turns.append(self.since)
            self.since = 0

    def read(self):
        """Reads everything there is: over the loopback device, data has arrived when the call that sent it returns."""
        try:
            while more := self.peer.socket.recv_into(self.waste, 0, socket.MSG_DONTWAIT | socket.MSG_TRUNC):
                self.since += more
        except BlockingIOError:
            pass


@pytest.mark.spec("K-88")
def test_a_reader_that_is_as_fast_as_the_server_has_a_turn_at_a_time(serve):
    reader = FastReader()
    watch = Watch(("sendfile", "epoll_wait"), reader.judge)
    server = serve("--threads", "1", content=LARGE, preexec_fn=watch.enter)
    with Connection(server.address) as peer:
        peer.socket.setblocking(False)
        reader.peer = peer
        peer.send(GET)
        until(lambda: sum(reader.turns) > len(LARGE), 60)
        assert max(reader.turns) <= 2 * TURN, f"{max(reader.turns) / MIB:.1f} MiB in one turn"


@pytest.mark.spec("K-119")
def test_connections_that_the_kernel_refuses_to_watch_are_shed(serve):
    """As when fs.epoll.max_user_watches is reached. Each is counted; the log says so, but not for each."""
    refusing = threading.Event()

    def judge(_, arguments):
        return errno.ENOSPC if refusing.is_set() and arguments[1] == EPOLL_CTL_ADD else 0

    server = serve(*ADMIN, preexec_fn=Watch(("epoll_ctl",), judge).enter)
    known = asked(server.address)
    refusing.set()
    for _ in range(100):
        with Connection(server.address) as connection:
            assert connection.receive() == b""
    refusing.clear()
    known.send(GET)
    assert known.response().status == 200
    until(lambda: scrape(server)[closed("shed")] == 100)
    seen = scrape(server)
    assert seen[ACCEPTED] == 101
    assert seen[HOT] + seen[PARKED] == 1
    assert asked(server.address)
    warnings = [line for line in server.stderr().splitlines() if "warn" in line.lower()]
    assert 1 <= len(warnings) <= 5, f"{len(warnings)} lines in the log"
    assert warnings[0].endswith("cannot watch a connection: no space left on device")


@pytest.mark.spec("K-85a")
@pytest.mark.parametrize("when", ["serving", "draining"])
def test_an_error_of_one_connection_is_nothing_to_others(serve, when):
    """The errors of accept(2) that do not concern the listener cause no pause and no log line, and the backlog is
    served."""
    errors = []
    watch = Watch(("accept",), lambda *_: errors.pop() if errors else 0)
    server = serve("--shutdown-timeout-seconds", "60", preexec_fn=watch.enter)
    frozen(server)
    waiting = [Connection(server.address) for _ in range(3)]
    for connection in waiting:
        connection.send(GET)
    errors += OF_ONE_CONNECTION
    if when == "draining":
        server.signal()
    server.signal(signal.SIGCONT)
    for connection in waiting:
        assert connection.response().status == 200
    assert not errors
    assert "cannot accept" not in server.stderr()


@pytest.mark.spec("K-07", "K-08")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_worker_that_cannot_go_on_ends_the_process(serve, threads):
    """Half a server would be worse: the status is 1, and one line says why."""
    failing = set()
    watch = Watch(("epoll_wait",), lambda _, arguments: errno.EINVAL if arguments[0] in failing else 0)
    server = serve("--threads", str(threads), preexec_fn=watch.enter)
    pid = server.process.pid
    before = set(descriptors(pid))
    connection, other = asked(server.address), asked(server.address)
    (taken, *_) = sorted(set(descriptors(pid)) - before)
    failing.add(until(lambda: watching(pid, taken)))
    for peer in (connection, other):
        peer.send(GET)
    assert server.wait(10) == 1
    last = server.stderr().splitlines()[-1]
    assert last.startswith("kcup: "), last
    assert "panic" not in server.stderr()
    assert "goroutine" not in server.stderr()
