"""K-10 to K-17: content, and the address at which it is served."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import threading

import pytest

from runner.cases import HttpCase, option_set
from runner.exchange import perform
from runner.process import descriptors, listening_port, unread, until
from runner.syscalls import Watch
from runner.twin import LISTENING, Server
from runner.wire import Connection

HOSTS = [
    *[("127.0.0.2", "127.0.0.2"), ("localhost", "127.0.0.1"), ("0.0.0.0", "0.0.0.0")],
    *[("::1", "[::1]"), ("::", "[::]")],
]
CHANGES = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
F_SEAL_EXEC = 0x20
KERNEL_LOG = "/proc/kmsg"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def get(address):
    with Connection(address) as connection:
        connection.send(GET)
        return connection.response()


@pytest.mark.spec("K-10")
def test_content_is_served_from_memory(serve):
    server = serve(content=b"first")
    path = server.directory / "hello.txt"
    path.write_bytes(b"second, and longer")
    assert get(server.address).body == b"first"
    path.write_bytes(b"")
    assert get(server.address).body == b"first"
    path.unlink()
    assert get(server.address).body == b"first"


@pytest.mark.spec("K-10")
def test_content_in_memory_is_sealed(serve):
    """Even through /proc it cannot be changed or, on kernels that can forbid that, executed."""
    server = serve()
    links = {fd: target for fd, target in descriptors(server.process.pid).items() if target.startswith("/memfd:")}
    assert links
    for number in links:
        with open(f"/proc/{server.process.pid}/fd/{number}", "rb") as file:
            seals = fcntl.fcntl(file, fcntl.F_GET_SEALS)
            assert seals & CHANGES == CHANGES
            assert seals & F_SEAL_EXEC or linux_version() < (6, 3), "it can be made executable"


def linux_version():
    major, minor, *_ = os.uname().release.split(".")
    return int(major), int(minor)


@pytest.mark.spec("K-10", "K-42")
def test_a_fifo_is_read_to_its_end(serve):
    server = serve("--file", "fifo", content=None, wait=False, preexec_fn=lambda: os.mkfifo("fifo"))
    fifo = until(lambda: (server.directory / "fifo").exists() and server.directory / "fifo")
    with open(fifo, "wb", buffering=0) as pipe:
        pipe.write(b"one ")
        until(lambda: unread(pipe.fileno()) == 0)
        pipe.write(b"two")
    server.wait_listening()
    options = option_set("fifo", {"content": "one two", "stdin": True})
    perform(server.address, HttpCase("", (), options, GET, ({"status": 200},), None, False, False))


@pytest.mark.spec("K-10")
def test_standard_input_may_come_in_parts_and_with_any_bytes(twin):
    content = bytes(range(256)) * 1000
    with Server(twin, stdin=content) as server:
        assert get(server.address).body == content


@pytest.mark.spec("K-10", "K-11")
def test_standard_input_begins_where_it_stands(serve, tmp_path):
    """The beginning of the file was read by another program, as in a shell's `{ read line; kcup; } <file`."""
    (tmp_path / "file").write_bytes(b"read before\nleft")
    with open(tmp_path / "file", "rb", buffering=0) as file:
        file.seek(len("read before\n"))
        server = serve("--max-content-bytes", "4", content=None, preexec_fn=lambda: os.dup2(file.fileno(), 0))
    assert get(server.address).body == b"left"


@pytest.mark.spec("K-11")
def test_a_content_as_large_as_allowed_is_served(serve):
    assert get(serve("--max-content-bytes", "5", content=b"12345").address).body == b"12345"


@pytest.mark.spec("K-11", "K-16")
def test_nothing_listens_when_there_is_no_content(twin):
    """If kcup listened before it reads, it would first report the port, which is taken."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = twin.run(["--file", "not-there", "--port", str(taken.getsockname()[1])])
    assert result.stderr.decode() == 'kcup: cannot read content from "not-there": no such file\n'


@pytest.mark.spec("K-11")
@pytest.mark.skipif(not os.access(KERNEL_LOG, os.R_OK), reason="the kernel's log takes root")
def test_a_file_that_makes_its_reader_wait_is_no_regular_one(twin):
    """It claims to be regular and never ends."""
    result = twin.run(["--file", KERNEL_LOG])
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == f'kcup: cannot read content from "{KERNEL_LOG}": it is not a regular file\n'


@pytest.mark.spec("K-13")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT], ids=lambda number: number.name)
def test_a_signal_ends_the_wait_for_standard_input(twin, number):
    reading, writing = os.pipe()
    with open(writing, "wb", buffering=0) as pipe, open(reading, "rb") as stdin:
        process = waiting(twin, stdin, pipe)
        process.send_signal(number)
        assert process.wait(5) == 0
        assert process.stdout.read() == b""
        process.stdout.close()


def waiting(twin, stdin, pipe):
    """A kcup that has read something and waits for more."""
    process = subprocess.Popen([twin.binary, "--port", "0"], env={}, stdin=stdin, stdout=subprocess.PIPE)
    pipe.write(b"the beginning")
    until(lambda: unread(pipe.fileno()) == 0)
    return process


@pytest.mark.spec("K-15")
def test_the_line_is_the_only_one(serve):
    server = serve()
    assert LISTENING.fullmatch(server.line.decode())
    get(server.address)
    server.signal()
    assert server.wait() == 0
    assert server.process.stdout.read() == b""


@pytest.mark.spec("K-15", "K-17", "K-17a")
@pytest.mark.parametrize(("host", "shown"), HOSTS)
def test_the_line_says_where(serve, host, shown):
    server = serve("--host", host)
    assert server.line.decode() == f"kcup listening on http://{shown}:{server.address[1]}/\n"
    assert get(server.address).status == 200


@pytest.mark.spec("K-15", "K-02")
def test_the_address_may_come_from_variables(serve):
    server = serve("--port", "0", env={"HOST": "127.0.0.3", "PORT": "1"})
    assert server.address[0] == "127.0.0.3"
    assert server.address[1] != 1


@pytest.mark.spec("K-15")
def test_the_port_that_is_asked_for_is_had(serve):
    first = serve()
    port = first.address[1]
    first.signal()
    assert first.wait() == 0
    assert serve("--port", str(port)).address[1] == port


@pytest.mark.spec("K-15")
def test_it_listens_when_it_says_so(twin):
    for _ in range(5):
        with Server(twin, stdin=b"Hello") as server:
            assert get(server.address).status == 200


@pytest.mark.spec("K-16")
def test_an_address_in_use(serve, twin):
    host, port = serve().address
    result = twin.run(["--host", host, "--port", str(port), "--log-level", "error"], stdin=b"x")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode() == f"kcup: cannot listen on {host}:{port}: address already in use\n"


@pytest.mark.spec("K-16")
def test_an_address_that_was_in_use_a_moment_ago(serve):
    """Connections that the server closed first remain in TIME_WAIT; a restart must not fail because of them."""
    first = serve()
    port = first.address[1]
    with Connection(first.address) as connection:
        connection.send(b"GET / HTTP/1.0\r\n\r\n")
        connection.response()
        connection.expect_end()
    first.process.kill()
    first.wait()
    assert get(serve("--port", str(port)).address).status == 200


@pytest.mark.spec("K-17")
def test_all_addresses_take_both_kinds(serve):
    port = serve("--host", "::").address[1]
    assert get(("::1", port)).status == 200
    assert get(("127.0.0.1", port)).status == 200


@pytest.mark.spec("K-17", "K-17a")
def test_all_addresses_of_a_kernel_without_ipv6(serve):
    lacking = Watch(("socket",), lambda _, asked: errno.EAFNOSUPPORT if asked[0] == socket.AF_INET6 else None)
    server = serve("--host", "::", "--admin", ":0", preexec_fn=lacking.enter)
    assert server.line.decode() == f"kcup listening on http://0.0.0.0:{server.address[1]}/\n"
    assert [server.admin[0], get(server.address).status] == ["0.0.0.0", 200]


@pytest.mark.spec("K-20", "K-15")
@pytest.mark.parametrize("target", ["closed", "full"])
def test_a_standard_output_that_takes_nothing_does_not_end_it(twin, target):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with open("/dev/full" if target == "full" else write_end, "wb") as stdout:
        process = subprocess.Popen([twin.binary, "--port", "0"], env={}, stdin=subprocess.PIPE, stdout=stdout)
    process.stdin.write(b"Hello")
    process.stdin.close()
    try:
        port = until(lambda: listening_port(process.pid))
        assert get(("127.0.0.1", port)).body == b"Hello"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.spec("K-15")
def test_many_may_come_at_the_first_moment(serve):
    server = serve()
    responses = []
    threads = [threading.Thread(target=lambda: responses.append(get(server.address))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [response.status for response in responses] == [200] * 50
