"""K-130, K-131: what kcup gives up, seen from outside, and that it can still do everything it has to."""

import contextlib
import errno
import os
import re
import resource
import signal
import socket
import time
from pathlib import Path

import pytest

from runner.access_log import next_lines
from runner.kernel import (
    landlock_version,
    without_capset,
    without_either,
    without_landlock,
    without_seccomp,
)
from runner.metrics import ask, reloads, scrape
from runner.process import until, write_fifo
from runner.reload import GET, STAYS, become, get, plain, reload, rename_over, serves, warned
from runner.syscalls import first_landlock
from runner.twin import Server, Twin
from runner.wire import Connection
from test_notify import Manager, told_of_a_reload
from test_sockets import activated

SECRET = "/etc/passwd"
CANNOT = "cannot enter the sandbox: the kernel does not offer "
DENIED = 'cannot read content from "hello.txt": permission denied' + STAYS
with_landlock = pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user has no capabilities")
each_way_in = pytest.mark.parametrize("sandbox", ["auto", "required"])


NO_CAPABILITY = dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapAmb"), "0000000000000000")


def privileges(status):
    """What the kernel reports about a thread that a sandbox changes, including all filters."""
    fields = dict(re.findall(r"(\w+):\s+(\w+)", status))
    return {name: fields.get(name) for name in ("NoNewPrivs", "Seccomp_filters", *NO_CAPABILITY)}


OURS = privileges(Path("/proc/self/status").read_text())
SEALED = {"NoNewPrivs": "1", "Seccomp_filters": str(int(OURS["Seccomp_filters"]) + 1), **NO_CAPABILITY}


def threads(server):
    """The privileges of every thread, without duplicates."""
    told = []
    for path in Path(f"/proc/{server.process.pid}/task").glob("*/status"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended in the meantime
            told.append(privileges(path.read_text()))
    return [one for place, one in enumerate(told) if one not in told[:place]]


def core_limit(server):
    return resource.prlimit(server.process.pid, resource.RLIMIT_CORE)


@with_landlock
@pytest.mark.spec("K-130")
@each_way_in
def test_privileges_capabilities_calls_and_core_dumps_are_given_up(serve, sandbox):
    """In all threads that exist when it reports that it listens, and in later ones."""
    server = serve("--sandbox", sandbox, "--threads", "3", "--admin", "127.0.0.1:0", "--reload-interval-seconds", "1")
    assert (threads(server), core_limit(server)) == ([SEALED], (0, 0))
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    reload(server, new)
    assert ask(server.admin, "/readyz").status == 200
    assert (threads(server), core_limit(server)) == ([SEALED], (0, 0))


@pytest.mark.spec("K-130", "K-131")
def test_off_gives_nothing_up(serve):
    """It has the same privileges as this process, which started it."""
    server = serve("--sandbox", "off")
    assert threads(server) == [OURS]
    assert core_limit(server) == resource.getrlimit(resource.RLIMIT_CORE)


@with_landlock
@pytest.mark.spec("K-130")
@each_way_in
@pytest.mark.parametrize("link", ["to a file", "to a file behind two links", "to a directory above"])
def test_files_elsewhere_cannot_be_read(serve, sandbox, link):
    """Somebody who can swap a link in the content's directory cannot have another file served."""
    server = serve("--sandbox", sandbox, "--log-format", "json")
    target = SECRET
    if link == "to a file behind two links":
        target = "second"
        (server.directory / target).symlink_to(SECRET)
    elif link == "to a directory above":
        (server.directory / "up").symlink_to("/etc")
        target = "up/passwd"
    become(server.directory / "hello.txt", {"link": target})
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [DENIED]
    assert get(server.address).body == b"Hello\n"
    new = plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    reload(server, new)


@pytest.mark.spec("K-130")
def test_files_elsewhere_can_be_read_without_it(serve):
    server = serve("--sandbox", "off", "--log-format", "json")
    become(server.directory / "hello.txt", {"link": SECRET})
    reload(server, plain(Path(SECRET).read_bytes()))
    assert server.events("warn", "error") == []


@with_landlock
@pytest.mark.spec("K-130")
def test_the_directory_of_the_file_that_a_link_led_to_may_be_read(serve, tmp_path):
    (tmp_path / "first").write_bytes(b"first")
    (tmp_path / "second").write_bytes(b"second")
    server = serve("--sandbox=required", "--file", "link", content=None, preexec_fn=lambda: link_to(tmp_path / "first"))
    assert get(server.address).body == b"first"
    link_to(tmp_path / "second", server.directory)
    reload(server, plain(b"second"))


def link_to(target, directory=Path()):
    (directory / "new").symlink_to(target)
    (directory / "new").rename(directory / "link")


@with_landlock
@pytest.mark.spec("K-130")
@pytest.mark.skipif(os.geteuid() != 0, reason="a root directory of one's own takes root")
def test_where_the_directory_is_the_root_only_the_file_may_be_read(twin):
    """In a root directory that contains kcup, the content, and another file."""

    def enter():
        os.chmod("kcup", 0o755)
        os.chroot(".")
        os.chdir("/")

    files = [("kcup", twin.binary.read_bytes(), None), ("content", b"first", None), ("secret", b"secret", None)]
    args = ["--file", "/content", "--sandbox", "required", "--log-format", "json"]
    with Server(Twin(twin.name, Path("/kcup")), args, files=files, preexec_fn=enter) as server:
        path, new = server.directory / "content", plain(b"second")
        path.write_bytes(new.content)
        reload(server, new)
        become(path, {"link": "secret"})
        server.signal(signal.SIGHUP)
        assert warned(server, 1) == [f'cannot read content from "/content": permission denied{STAYS}']
        assert serves(server, new)


@with_landlock
@pytest.mark.spec("K-130", "K-115", "K-125", "K-18")
def test_all_that_it_has_to_do_is_done_within(serve, twin):
    """A policy, its reload, metrics, the access log, a health check, and the drain."""
    policy = plain(b"version: STSv1\r\nmode: none\r\nmax_age: 604800\r\n")
    args = ("--sandbox", "required", "--admin", "127.0.0.1:0", "--access-log", "common", "--preset", "mta-sts")
    server = serve(*args, content=policy.content.replace(b"604800", b"86400"))
    target = "/.well-known/mta-sts.txt"
    rename_over(server.directory / "hello.txt", policy.content)
    reload(server, policy, target)
    until(lambda: scrape(server)[reloads("ok")] == 1)
    numbers = scrape(server)
    assert numbers["process_open_fds"] > 3
    assert numbers["process_resident_memory_bytes"] > 1 << 16
    assert twin.run(["healthcheck", "--preset=mta-sts", f"-p{server.address[1]}"]).returncode == 0
    assert b'"GET /.well-known/mta-sts.txt HTTP/1.1" 200' in next_lines(server, 1)[0]
    with Connection(server.address) as connection:
        connection.send(GET)
        connection.response()
        server.signal()
        connection.expect_end()
    assert server.wait(10) == 0


@with_landlock
@pytest.mark.spec("K-130", "K-141", "K-142")
def test_a_service_manager_and_its_socket_from_within(serve, tmp_path):
    """It is notified from within the sandbox, and the passed listener is served."""
    manager = Manager(f"{tmp_path}/notify")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        env = {"NOTIFY_SOCKET": manager.name}
        server = activated(serve, listener.fileno(), "--sandbox", "required", "--admin", "127.0.0.1:0", env=env)
    assert manager.told(0) == {"READY": "1"}
    assert ask(server.admin, "/readyz").body == b"ready"
    began, new = time.monotonic(), plain(b"new\n")
    rename_over(server.directory / "hello.txt", new.content)
    server.signal(signal.SIGHUP)
    told_of_a_reload(manager, began)
    assert serves(server, new)
    server.signal()
    assert manager.told() == {"STOPPING": "1"}
    manager.socket.close()


@with_landlock
@pytest.mark.spec("K-130")
@pytest.mark.parametrize("source", ["standard input", "a FIFO"])
def test_content_that_is_no_file_takes_no_files(serve, source):
    args = ("--sandbox", "required", "--admin", "127.0.0.1:0")
    if source == "standard input":
        server = serve(*args, content=None, stdin=b"Hello\n")
    else:
        server = serve(*args, "--file", "f", content=None, wait=False, preexec_fn=lambda: os.mkfifo("f"))
        write_fifo(server.directory / "f", b"Hello\n")
        server.wait_listening()
    assert get(server.address).body == b"Hello\n"
    assert scrape(server)["process_open_fds"] > 3
    assert threads(server) == [SEALED]


@with_landlock
@as_root
@pytest.mark.spec("K-130")
def test_what_only_a_capability_let_it_read_is_not_read_again(serve):
    server = serve("--sandbox", "required", "--log-format", "json", preexec_fn=lambda: os.chown("hello.txt", 65534, -1))
    (server.directory / "hello.txt").chmod(0)
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [DENIED]
    assert get(server.address).body == b"Hello\n"


@with_landlock
@pytest.mark.spec("K-130")
def test_a_service_manager_may_forbid_to_drop_what_is_not_there(serve, as_nobody):
    server = serve("--sandbox", "required", preexec_fn=without_capset, **as_nobody)
    assert get(server.address).body == b"Hello\n"


@with_landlock
@as_root
@pytest.mark.spec("K-131")
def test_capabilities_that_stay_are_missing(serve):
    server = serve("--sandbox", "required", "--log-level", "error", wait=False, preexec_fn=without_capset)
    assert (server.wait(), server.stderr()) == (1, f"kcup: {CANNOT}capset\n")


# For preexec_fn: simulates a kernel that lacks this.
KERNELS = {"Landlock": without_landlock, "seccomp": without_seccomp, "Landlock, seccomp": without_either}
each_kernel = pytest.mark.parametrize("lacking", KERNELS, ids=lambda lacking: lacking.replace(", ", "-and-"))


@pytest.mark.spec("K-131")
@each_kernel
def test_required_ends_it_on_such_a_kernel(serve, lacking):
    server = serve("--sandbox", "required", "--log-level", "error", wait=False, preexec_fn=KERNELS[lacking])
    assert server.wait() == 1
    assert (server.process.stdout.read(), server.stderr()) == (b"", f"kcup: {CANNOT}{lacking}\n")


@pytest.mark.spec("K-131")
def test_a_landlock_that_was_not_started_is_none(serve):
    def enter():
        without_landlock(errno.EOPNOTSUPP)

    server = serve("--sandbox", "required", "--log-level", "error", wait=False, preexec_fn=enter)
    assert (server.wait(), server.stderr()) == (1, f"kcup: {CANNOT}Landlock\n")


@pytest.mark.spec("K-131")
@each_kernel
def test_auto_names_what_is_missing_and_takes_the_rest(serve, lacking):
    server = serve("--sandbox=auto", "--log-format=json", "--max-connections=99", preexec_fn=KERNELS[lacking])
    (warning,) = server.events("warn")
    assert warning.endswith(f"the kernel does not offer {lacking}")
    assert "cannot" not in warning
    assert get(server.address).body == b"Hello\n"
    assert core_limit(server) == (0, 0)
    (told,) = threads(server)
    filters = int(told.pop("Seccomp_filters")) - int(OURS["Seccomp_filters"])
    assert filters == len(lacking.split(", ")) + ("seccomp" not in lacking)  # the simulation's, and kcup's
    assert told == {name: SEALED[name] for name in told}


@with_landlock
@pytest.mark.spec("K-131")
@each_way_in
def test_the_first_landlock_is_enough(serve, sandbox):
    """The filter forbids what the first version does not know about sockets and truncation."""
    args = ("--sandbox", sandbox, "--log-format", "json", "--max-connections=99")
    server = serve(*args, preexec_fn=first_landlock().enter)
    assert server.events("warn", "error") == []
    become(server.directory / "hello.txt", {"link": SECRET})
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [DENIED]


@pytest.mark.spec("K-131")
def test_off_does_not_ask_the_kernel(serve):
    server = serve("--sandbox", "off", "--log-format", "json", "--max-connections=99", preexec_fn=without_landlock)
    assert server.events("warn", "error") == []
