"""K-154, K-155, K-157, K-158: handshakes that fail or never end, who asks with healthcheck, limits and the sandbox."""

import contextlib
import resource
import signal
import socket
import ssl
import threading
import time

import pytest

from runner.access_log import next_lines
from runner.clock import Span, experiment, experiments, hold_to_limit
from runner.kernel import landlock_version
from runner.metrics import ACCEPTED, HOT, PARKED, closed, hold_to_format, page, samples, scrape
from runner.peers import ADMIN, BIG, GET, MIB, is_reset
from runner.process import descriptors, until
from runner.reload import warned
from runner.responses import WireError
from runner.tls import CERT, KEY, STAYS, TLS, TlsConnection, get, hello, make_pair, pair, shown
from runner.twin import Server
from runner.wire import GONE, Connection
from test_healthcheck import HEALTHY, outcome, unhealthy, where

HANDSHAKES = "kcup_tls_handshakes_total"
OK, FAILED, TIMEOUT = (f'{HANDSHAKES}{{result="{result}"}}' for result in ("ok", "failed", "timeout"))
NEVER_TLS = {
    "a request in plain HTTP": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "a record of no kind": b"\x00" * 64,
    "a record that is too long": b"\x16\x03\x01\xff\xff" + bytes(200),
    "a handshake that is none": b"\x16\x03\x01\x00\x08" + b"\xff" * 8,
    "an alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "data before the handshake": b"\x17\x03\x03\x00\x04" + bytes(4),
    "a hello of SSL 2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
}


def rest_of(connection):
    """Everything until the end, however it comes."""
    received = b""
    with contextlib.suppress(WireError, *GONE):
        while data := connection.receive():
            received += data
    return received


def limited(twin, *args):
    seconds = ["--header-timeout-seconds", "1", "--idle-timeout-seconds", "100", "--shutdown-timeout-seconds", "100"]
    return Server(twin, [*TLS, *ADMIN, *seconds, "--text", "x", *args], files=pair().files)


def hold_until_the_end(connection, before, after):
    assert rest_of(connection) in (b"", b"\x15\x03\x01\x00\x02\x02\x28"), "neither nothing nor an alert"
    return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-155")
def a_handshake_that_never_begins_is_closed(twin):
    with limited(twin) as server:
        before = time.monotonic()
        with Connection(server.address) as connection:
            span = hold_until_the_end(connection, before, time.monotonic())
        until(lambda: (found := scrape(server))[TIMEOUT] == 1 and found[closed("peer")] == 1)
        return span


@experiment("K-155")
def a_handshake_that_trickles_is_closed(twin):
    """From accept(2) on, whatever comes."""
    with limited(twin) as server:
        before = time.monotonic()
        with Connection(server.address) as connection:
            after = time.monotonic()
            for byte in hello()[:20]:
                connection.socket.sendall(bytes([byte]))
                time.sleep(0.02)
            span = hold_until_the_end(connection, before, after)
        until(lambda: scrape(server)[TIMEOUT] == 1)
        return span


@experiment("K-155")
def a_handshake_that_stops_before_its_last_flight_is_closed(twin):
    with limited(twin) as server:
        before = time.monotonic()
        with Connection(server.address) as connection:
            after = time.monotonic()
            connection.send(hello())
            assert connection.receive(1) == b"\x16", "the server's hello"
            rest_of(connection)
            return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-155", span=False)
def a_connection_that_has_shaken_hands_may_be_silent(twin):
    with limited(twin) as server, TlsConnection(server.address) as connection:
        time.sleep(3)
        connection.expect_open()


@experiment("K-155", "K-80")
def a_head_has_its_own_time_afterwards(twin):
    with limited(twin) as server, TlsConnection(server.address) as connection:
        before = time.monotonic()
        connection.send(GET[:10])
        after = time.monotonic()
        connection.expect_end()
        return Span(time.monotonic() - before, time.monotonic() - after)


@experiment("K-155", span=False)
def many_that_never_finish_do_not_hinder_one_that_does(twin):
    with limited(twin) as server, contextlib.ExitStack() as stack:
        begun = hello()
        for number in range(300):
            held = stack.enter_context(Connection(server.address))
            held.send(begun[: number % len(begun)])
            if number % 100 == 99:
                assert get(server.address).body == b"x"
        until(lambda: (found := scrape(server))[HOT] + found[PARKED] == 0)
        assert scrape(server)[TIMEOUT] == 300


@pytest.mark.xdist_group("tls_handshake")
@pytest.mark.parametrize("name", experiments(__name__))
def test_time(twin, name, outcomes):
    hold_to_limit(__name__, name, outcomes[twin.name, name])


@pytest.mark.spec("K-155", "K-154")
@pytest.mark.parametrize("what", NEVER_TLS)
def test_what_is_no_tls_gets_no_response(serve_tls, what):
    """An alert at most, and other connections are served on."""
    server = serve_tls(*ADMIN)
    with TlsConnection(server.address) as other:
        with Connection(server.address) as connection:
            connection.send(NEVER_TLS[what])
            connection.half_close()
            received = rest_of(connection)
        assert b"HTTP" not in received
        assert received[:1] in (b"", b"\x15")
        until(lambda: (found := scrape(server))[FAILED] == 1 and found[closed("peer")] == 1)
        other.expect_open()


@pytest.mark.spec("K-154", "K-118")
def test_the_metrics(serve_tls, serve):
    """Only with TLS, in the table's order."""
    server = serve_tls(*ADMIN)
    get(server.address)
    with Connection(server.address) as connection:
        connection.send(hello())
        connection.receive(1)
    until(lambda: samples(page(server))[FAILED] == 1)
    hold_to_format(page(server), tls=True)
    assert [scrape(server)[key] for key in (OK, FAILED, TIMEOUT)] == [1, 1, 0]
    assert HANDSHAKES not in page(serve(*ADMIN))


@pytest.mark.spec("K-154", "K-155", "K-84a")
def test_a_handshake_counts_as_silent_and_makes_room(serve_tls):
    """One that kcup closes has neither failed nor run out of time."""
    server = serve_tls(*ADMIN, "--max-connections", "2", "--threads", "1")
    with Connection(server.address) as waiting:
        until(lambda: scrape(server)[PARKED] == 1)
        time.sleep(0.3)
        with TlsConnection(server.address) as first, TlsConnection(server.address) as second:
            assert rest_of(waiting) == b""
            first.expect_open()
            second.expect_open()
    until(lambda: (found := scrape(server))[HOT] + found[PARKED] == 0)
    found = scrape(server)
    assert [found[key] for key in (OK, FAILED, TIMEOUT, closed("evicted"), ACCEPTED)] == [2, 0, 0, 1, 3]


@pytest.mark.spec("K-158", "K-84c")
def test_one_that_makes_room_while_silent_gets_close_notify(serve_tls):
    server = serve_tls("--max-connections", "1", "--threads", "1")
    with TlsConnection(server.address) as first:
        first.expect_open()
        with TlsConnection(server.address) as second:
            second.expect_open()
            first.expect_end()


@pytest.mark.spec("K-158", "K-84")
def test_three_descriptors_each(serve_tls):
    """As many connections as the limit on descriptors allows are held, and one more makes room."""

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))

    server = serve_tls("--threads", "1", "--log-format", "json", preexec_fn=limit)
    most = [event for event in server.events("info") if "the limit on open files" in event]
    number = int(most[0].split()[2])
    assert 40 <= number <= 62
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(TlsConnection(server.address)) for _ in range(number)]
        for connection in held:
            connection.expect_open()
        assert len(descriptors(server.process.pid)) >= 3 * number
        assert get(server.address).body == b"Hello\n"
    assert server.events("warn") == []


@pytest.mark.spec("K-158", "K-82")
def test_a_peer_that_takes_nothing_is_reset(serve_tls):
    server = serve_tls(*ADMIN, "--write-timeout-seconds", "1", content=BIG)
    with TlsConnection(server.address, receive_buffer=4096) as connection:
        connection.send(GET)
        until(lambda: scrape(server)[closed("write_timeout")] == 1)
        until(lambda: is_reset(connection))
    until(lambda: scrape(server)[HOT] == 0)


@pytest.mark.spec("K-158", "K-82")
def test_a_slow_reader_gets_everything(serve_tls):
    """A response of a MiB in small bites, with the end right behind it."""
    server = serve_tls("--write-timeout-seconds", "2", content=BIG[:MIB])
    with TlsConnection(server.address, receive_buffer=16384) as connection:
        connection.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = b""
        while data := connection.receive(8192):
            received += data
            time.sleep(0.01)
        assert received.endswith(BIG[:MIB])


@pytest.mark.spec("K-158", "K-60", "K-72")
def test_a_refused_request_is_heard(serve_tls):
    """The response to a head that is too large is not lost, although more has been sent."""
    with TlsConnection(serve_tls().address) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 60000)
        assert connection.response().status == 431
        connection.expect_end()


@pytest.mark.spec("K-158", "K-18", "K-18a", "K-18b")
def test_a_drain(serve_tls):
    """A request that was sent is responded to, a silent connection ends with close_notify, a handshake may end."""
    server = serve_tls("--shutdown-timeout-seconds", "60", content=BIG)
    silent, asking = TlsConnection(server.address), TlsConnection(server.address, receive_buffer=4096)
    silent.expect_open()
    asking.send(GET)
    asking.receive(1)
    begun = Connection(server.address)
    begun.send(hello()[:10])
    server.signal()
    silent.expect_end()
    received = 1
    with contextlib.suppress(WireError):
        while data := asking.receive():
            received += len(data)
    assert received > len(BIG)
    rest_of(begun)
    for connection in (silent, asking, begun):
        connection.socket.close()
    assert server.wait(30) == 0


@pytest.mark.spec("K-158", "K-19")
def test_the_end_of_a_drain_cuts(serve_tls):
    server = serve_tls("--shutdown-timeout-seconds", "1", "--log-format", "json", content=BIG)
    with TlsConnection(server.address, receive_buffer=4096) as connection:
        connection.send(GET)
        connection.receive(1)
        server.signal()
        assert server.wait(20) == 0
        assert "the drain is over after 1 second: 1 connection cut" in server.events("warn")


@pytest.mark.spec("K-130", "K-156")
@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("sandbox", ["auto", "required"])
def test_the_sandbox_leaves_both_files_readable(serve, sandbox, tmp_path):
    """In directories of their own, beside the content's, and nothing else."""
    cert, key = tmp_path / "certs" / CERT, tmp_path / "keys" / KEY
    for path, (_, content, _) in zip((cert, key), pair().files, strict=True):
        path.parent.mkdir()
        path.write_bytes(content)
    server = serve("--tls-cert", str(cert), "--tls-key", str(key), "--sandbox", sandbox, "--log-format", "json")
    new = make_pair()
    for path, (_, content, _) in zip((cert, key), new.files, strict=True):
        path.write_bytes(content)
    server.signal(signal.SIGHUP)
    until(lambda: shown(server.address) == new.der)
    cert.unlink()
    cert.symlink_to("/etc/passwd")
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [f'cannot use the certificate in "{cert}": permission denied{STAYS}']
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-157", "K-110")
def test_healthcheck_of_a_kcup(twin, serve_tls):
    server = serve_tls("--access-log", "json")
    assert outcome(twin, *where(server), *TLS, cwd=server.directory) == HEALTHY
    get(server.address)
    assert next_lines(server, 1), "only the other request has a line (K-125a)"
    status, said = outcome(twin, *where(server), cwd=server.directory)
    assert (status, said) == unhealthy("no response")


@pytest.mark.spec("K-157")
@pytest.mark.parametrize("kind", ["P-256", "RSA", "Ed25519"])
def test_healthcheck_asks_for_exactly_this_certificate(twin, serve, kind, tmp_path):
    """Signed by whomever, for whatever name; its key is not read."""
    new = make_pair(["elsewhere.example"], kind=kind)
    server = serve(*TLS, files=new.files)
    (tmp_path / CERT).write_bytes(new.chain)
    assert outcome(twin, *where(server), *TLS, cwd=tmp_path) == HEALTHY
    (tmp_path / CERT).write_bytes(make_pair(["elsewhere.example"], key=new.private).chain)
    assert outcome(twin, *where(server), *TLS, cwd=tmp_path) == unhealthy("the certificate is not that of --tls-cert")


@pytest.mark.spec("K-157", "K-152")
def test_healthcheck_without_a_certificate(twin, serve_tls, tmp_path):
    server = serve_tls()
    status, said = outcome(twin, *where(server), *TLS, cwd=tmp_path)
    assert (status, said) == (1, f'kcup: cannot use the certificate in "{CERT}": no such file\n')


@pytest.mark.spec("K-157")
def test_healthcheck_of_a_server_without_tls(twin, serve, tmp_path):
    (tmp_path / CERT).write_bytes(pair().chain)
    assert outcome(twin, *where(serve()), *TLS, cwd=tmp_path) == unhealthy("no response")


@pytest.mark.spec("K-157")
def test_healthcheck_of_a_certificate_that_has_expired(twin, tmp_path):
    """kcup does not start with one, but may outlive its end."""
    old = make_pair(seconds=-1)
    for name, content, _ in old.files:
        (tmp_path / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / CERT, tmp_path / KEY)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def respond():
            with context.wrap_socket(listener.accept()[0], server_side=True) as client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=respond)
        thread.start()
        port = str(listener.getsockname()[1])
        assert outcome(twin, "--port", port, *TLS, cwd=tmp_path) == HEALTHY
        thread.join()
