"""K-125, K-127: how lines of the access log are written: in order and whole, and lost if nobody reads them."""

import fcntl
import os
import re
import signal
import threading

import pytest

from runner.access_log import FORMATS, Reader
from runner.metrics import LOST, scrape
from runner.process import listening_port, until
from runner.reload import GET
from runner.wire import Connection

CONTENT = b"Hello, world!\n"
F_SETPIPE_SZ = 1031
each_format = pytest.mark.parametrize("form", FORMATS)
# The start of a line in each format, up to the number of the request, with which its target begins.
NUMBER = {
    "common": re.compile(r'127\.0\.0\.1 - - \[[^]]{26}\] "GET /(\d+)-a* HTTP/1\.1" 200 14'),
    "json": re.compile(
        r'\{"time":"[^"]{20}","peer":"127\.0\.0\.1","method":"GET","target":"/(\d+)-a*","version":"HTTP/1\.1",'
        r'"status":200,"bytes":14\}'
    ),
}


def ask_in_order(address, count, first=0, length=1):
    """Makes this many numbered requests on one connection, some at once; each must get a response."""
    with Connection(address) as connection:
        for start in range(first, first + count, 20):
            numbers = range(start, min(start + 20, first + count))
            targets = [f"/{number}-{'a' * length}".encode() for number in numbers]
            connection.send(b"".join(GET.replace(b" / ", b" %s " % target) for target in targets))
            for _ in numbers:
                assert connection.response().body == CONTENT


def numbers_of(data, form):
    """The numbers of the requests in whole lines; anything else is an error."""
    assert data.endswith(b"\n") or not data, f"half a line at the end: {bytes(data[-200:])!r}"
    matches = [(NUMBER[form].fullmatch(line), line) for line in data.decode().splitlines()]
    assert all(match for match, _ in matches), next(line for match, line in matches if not match)[:300]
    return [int(match[1]) for match, _ in matches]


@pytest.mark.spec("K-125")
@each_format
def test_every_response_has_its_line_in_the_order_of_its_connection(serve, form):
    server = serve("--access-log", form, "--threads", "2", content=CONTENT)
    reader = Reader(server.process.stdout)
    asking = [threading.Thread(target=ask_in_order, args=(server.address, 2000, n * 10000)) for n in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    server.signal()
    assert server.wait(10) == 0
    reader.join()
    numbers = numbers_of(reader.data, form)
    for start in range(0, 40000, 10000):
        mine = [number for number in numbers if start <= number < start + 10000]
        assert mine == list(range(start, start + 2000))


@pytest.mark.spec("K-125", "K-127")
@each_format
def test_at_the_end_what_is_left_is_written(serve, form):
    server = serve("--access-log", form, content=CONTENT)
    ask_in_order(server.address, 100)
    server.signal(signal.SIGTERM)
    assert server.wait(10) == 0
    assert numbers_of(server.process.stdout.read(), form) == list(range(100))


@pytest.mark.spec("K-127", "K-20")
@each_format
@pytest.mark.parametrize("length", [50, 3900])
def test_lines_that_a_full_pipe_does_not_take_are_lost_whole_and_counted(serve, form, length):
    """Every response arrives although nobody reads the log. Once it is read, the lines written and lost add up."""
    server = serve("--access-log", form, "--admin", "127.0.0.1:0", content=CONTENT)
    fcntl.fcntl(server.process.stdout, F_SETPIPE_SZ, 4096)
    count = 20000 if length < 1000 else 4000
    ask_in_order(server.address, count, length=length)
    until(lambda: scrape(server)[LOST] > 0)
    reader = Reader(server.process.stdout)
    until(lambda: reader.lines() + scrape(server)[LOST] == count)
    ask_in_order(server.address, 20, first=count)
    until(lambda: reader.lines() + scrape(server)[LOST] == count + 20)
    lost = scrape(server)[LOST]
    server.signal()
    assert server.wait(10) == 0
    reader.join()
    numbers = numbers_of(reader.data, form)
    assert len(numbers) + lost == count + 20
    assert numbers == sorted(numbers)
    assert numbers[-20:] == list(range(count, count + 20)), "what is read again is written again"


@pytest.mark.spec("K-127", "K-20")
@each_format
def test_a_standard_output_that_is_closed_loses_every_line(serve, form):
    server = serve("--access-log", form, "--admin", "127.0.0.1:0", content=CONTENT)
    server.process.stdout.close()
    ask_in_order(server.address, 1000)
    until(lambda: scrape(server)[LOST] == 1000)
    server.signal()
    assert server.wait(10) == 0


@pytest.mark.spec("K-127", "K-20")
@each_format
def test_a_full_disk_loses_every_line(serve, form):
    """This includes the line of K-15. The admin listener uses IPv6, to be told from the public one."""
    full = os.open("/dev/full", os.O_WRONLY)
    server = serve(
        "--access-log", form, "--admin", "[::1]:0", content=CONTENT, wait=False, preexec_fn=lambda: os.dup2(full, 1)
    )
    os.close(full)
    port = until(lambda: listening_port(server.process.pid))
    ask_in_order(("127.0.0.1", port), 1000)
    until(lambda: scrape(server)[LOST] == 1000)
    server.signal()
    assert server.wait(10) == 0
