"""More faults for test_soak.py, which complete TROUBLES: fatal signals, little memory, a clock that steps."""

from .cgroup import memory_group
from .process import until
from .reload import GET, get
from .stepped_clock import SteppedClock
from .troubles import TROUBLES, trouble
from .twin import START_LIMIT, read_line
from .wire import Connection

__all__ = ["TROUBLES"]
MIB = 1 << 20
SECOND_SIGNAL = "kcup: stopped by a second signal before the drain was over"


@trouble("SIGTERM under load")
def _(run):
    """No response that has begun is cut, and no connection that could get one is left without."""
    ends = 0
    for _ in run.rounds(0):
        server = run.start()
        with run.asking(server) as witness:
            until(lambda: witness.answered > 100)
            witness.ending = True
            run.ends_well(server)
        ends += 1
    return f"{ends} drains, each with status 0"


@trouble("a storm of SIGTERM")
def _(run):
    ends = 0
    for _ in run.rounds(0):
        server = run.start("--shutdown-timeout-seconds", "1", content=bytes(16 * MIB))
        with Connection(server.address, receive_buffer=4096) as slow:
            slow.send(GET)
            slow.receive(100)
            status = signalled_until_it_ends(server)
        said = server.stderr().splitlines()[-1:]
        run.promise((status, said) == (1, [SECOND_SIGNAL]), f"status {status}: {said}")
        ends += 1
    return f"{ends} ends, each by a second signal during the drain"


def signalled_until_it_ends(server):
    """The server's exit status."""
    until(lambda: server.signal() or server.process.poll() is not None)
    return server.wait()


@trouble("the memory limit is twice the memory at rest")
def _(run):
    """In a cgroup: kcup survives, or ends cleanly with a reason; the kernel never kills it."""
    with memory_group(256 * MIB) as group:
        server = run.start(preexec_fn=group.enter)
        get(server.address)
        resting = group.used()
        run.ends_well(server)
    with memory_group(2 * resting) as group:
        server = run.start("--log-level", "error", wait=False, preexec_fn=group.enter)
        server.line = read_line(server.process.stdout, START_LIMIT)
        if server.line:
            crowd(run, server)
        else:
            run.promise(server.wait(10) == 1, f"it ended with status {server.process.returncode}")
            run.promise(server.stderr().count("\nkcup: ") + server.stderr().startswith("kcup: ") == 1, server.stderr())
        run.promise(group.kills() == 0, "the kernel killed it")
        server.stop()
    return f"{2 * resting // 1024} KiB: " + ("it goes on" if server.line else "it does not start, and says why")


def crowd(run, server):
    """Many silent connections and half heads. A silent client may have to make room, and wait until they are gone."""
    server.wait_listening()
    with run.asking(server) as witness:
        witness.expendable = True
        many = []
        for number in range(500):
            many.append(Connection(server.address))
            many[-1].send(b"" if number % 10 else GET[:9] + b"a" * 8000)
        run.last()
        for connection in many:
            connection.socket.close()
        answered = witness.answered
        until(lambda: witness.answered > answered + 50)
    run.ends_well(server)


@trouble("the clock steps a day forward and back")
def _(run):
    with SteppedClock() as clock:
        server = run.start(**clock.options)
        with run.asking(server):
            for days in (1, 0, -1, 0):
                modified, date = clock.follow(server, days)
                run.promise(modified <= date, "last-modified is later than date")
                run.last(0.25)
        run.ends_well(server)
    return "date followed each step, last-modified was never later"
