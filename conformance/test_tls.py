"""K-150, K-151, K-155a: what a client with a certificate of a private CA gets."""

import json
import re
import socket
import ssl
import subprocess

import pytest

from runner.access_log import next_lines
from runner.cases import http_cases
from runner.exchange import perform
from runner.metrics import ask, closed, scrape, until_grown
from runner.peers import ADMIN, BIG, GET, MIB
from runner.process import descriptors, until
from runner.reload import GET as REQUEST
from runner.responses import WireError
from runner.tls import TLS, TlsConnection, get, issuer, make_pair, pair, renew, trusting
from runner.twin import Server
from test_sockets import activated

KEYS = ["P-256", "P-384", "RSA", "Ed25519"]
SETS = ("text", "mib", "fields", "big", "path")
CASES = [case for case in http_cases() if case.set.name in SETS]
each_version = pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])


@pytest.mark.spec("K-150", "K-15")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_line_says_https(serve_tls, host):
    name = f"[{host}]" if ":" in host else host
    server = serve_tls("--host", host)
    assert server.line.decode() == f"kcup listening on https://{name}:{server.address[1]}/\n"
    assert get(server.address).body == b"Hello\n"
    server = serve_tls("--host", host, "--access-log", "json")
    assert json.loads(server.line)["listening"] == f"https://{name}:{server.address[1]}/"


@pytest.mark.spec("K-150", "K-140")
def test_a_unix_socket_speaks_tls(serve_tls):
    server = serve_tls("--host", "unix:socket")
    assert server.line == b"kcup listening on unix:socket\n"
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-150", "K-141")
def test_a_listener_that_was_passed_speaks_tls(serve):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        server = activated(serve, listener.fileno(), *TLS, files=pair().files)
    assert server.line.decode() == f"kcup listening on https://{host}:{port}/\n"
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-150", "K-115")
def test_the_variables_do_too_and_the_admin_listener_speaks_no_tls(serve):
    server = serve(*ADMIN, env={"TLS_CERT": "x.pem", "TLS_KEY": "x.key"}, files=pair().files)
    assert get(server.address).body == b"Hello\n"
    assert ask(server.admin, "/healthz").body == b"ok"


@pytest.mark.spec("K-150", "K-155a", "K-158")
@pytest.mark.parametrize("name", SETS)
def test_every_exchange_is_the_same(twin, name):
    """The cases of these sets: pipelining, ranges, refusals, with the same checks. The end is close_notify."""
    cases = [case for case in CASES if case.set.name == name]

    def with_tls(program, args, env=None, files=(), stdin=None):
        return Server(program, [*TLS, *args], env, [*pair().files, *files], stdin)

    with cases[0].set.start(with_tls, twin) as server:
        for case in cases:
            try:
                perform(server.address, case, connect=TlsConnection)
            except (WireError, AssertionError) as error:
                raise AssertionError(f"{case.name}: {error}") from error


@pytest.mark.spec("K-151", "K-152")
@each_version
@pytest.mark.parametrize("kind", KEYS)
def test_versions_and_keys(serve_tls, kind, version):
    server = serve_tls(pair=pair(kind), content=BIG)
    assert get(server.address, context=trusting(minimum_version=version, maximum_version=version)).body == BIG


@pytest.mark.spec("K-151")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_older_version(serve_tls):
    server = serve_tls()
    context = trusting(minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match=r"(?i)protocol.version|handshake.failure"):
        TlsConnection(server.address, context)


@pytest.mark.spec("K-151")
@each_version
@pytest.mark.parametrize(("offered", "chosen"), [
    (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), ([], None),
])  # fmt: skip
def test_the_protocol(serve_tls, version, offered, chosen):
    context = trusting(minimum_version=version, maximum_version=version)
    if offered:
        context.set_alpn_protocols(offered)
    with TlsConnection(serve_tls().address, context) as connection:
        assert connection.tls.selected_alpn_protocol() == chosen
        connection.expect_open()


@pytest.mark.spec("K-151")
@each_version
def test_no_other_protocol(serve_tls, version):
    context = trusting(minimum_version=version, maximum_version=version)
    context.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match=r"(?i)no.application.protocol"):
        TlsConnection(serve_tls().address, context)


def s_client(server, *args, send=REQUEST):
    """What OpenSSL's client reports, after it has sent this."""
    host, port = server.address
    command = ["openssl", "s_client", "-connect", f"{host}:{port}", "-servername", "localhost", *args]
    result = subprocess.run(command, input=send, capture_output=True, timeout=30, check=False)
    return (result.stdout + result.stderr).decode(errors="replace")


@pytest.mark.spec("K-151")
@each_version
def test_what_openssl_reports(serve_tls, version):
    """No certificate is asked for, nothing is compressed, and no early data is allowed."""
    flag = "-tls1_2" if version is ssl.TLSVersion.TLSv1_2 else "-tls1_3"
    closing = REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    said = s_client(serve_tls(), flag, "-ign_eof", send=closing)
    assert "\r\n\r\nHello\n" in said
    assert "No client certificate CA names sent" in said
    assert "Compression: NONE" in said
    assert re.findall(r"Max Early Data: (\d+)", said) in ([], ["0"], ["0", "0"])
    assert "Early data was not sent" in said or flag == "-tls1_2"


@pytest.mark.spec("K-151")
def test_no_renegotiation(serve_tls):
    """After a line that begins with R, OpenSSL's client asks for another handshake. The server goes on for others."""
    server = serve_tls()
    said = s_client(server, "-tls1_2", send=b"R\n" + REQUEST)
    assert "RENEGOTIATING" in said
    assert "no renegotiation" in said.lower() or "unexpected message" in said.lower(), said
    assert "Hello\n" not in said
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-151")
@each_version
def test_sessions_are_resumed_until_the_certificate_changes(serve_tls, version):
    server = serve_tls()
    context = trusting(minimum_version=version, maximum_version=version)
    first = session(server, context)
    assert not first.tls.session_reused
    assert session(server, context, first.tls.session).tls.session_reused
    renew(server, make_pair())
    assert not session(server, context, first.tls.session).tls.session_reused


def session(server, context, before=None):
    """A connection that has had a response, and with it the tickets of TLS 1.3."""
    with TlsConnection(server.address, context, before) as connection:
        connection.expect_open()
    return connection


@pytest.mark.spec("K-155a", "K-72")
@each_version
def test_the_end_is_close_notify(serve_tls, version):
    """Also behind a whole MiB, which comes byte for byte, to a client that has sent more than is read."""
    server = serve_tls(content=BIG[:MIB])
    context = trusting(minimum_version=version, maximum_version=version)
    with TlsConnection(server.address, context) as connection:
        connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30000\r\n\r\n" + bytes(30000))
        assert connection.response().status == 404
        connection.expect_end()
    with TlsConnection(server.address, context) as connection:
        connection.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert connection.response().body == BIG[:MIB]
        connection.expect_end()


@pytest.mark.spec("K-155a")
@each_version
@pytest.mark.parametrize("how", ["half_close", "cut"])
def test_a_client_that_ends_its_side_gets_its_responses(serve_tls, how, version):
    """With close_notify and without: requests before the end get responses, and what is pending comes whole."""
    server = serve_tls(*ADMIN, content=BIG)
    before = scrape(server)
    context = trusting(minimum_version=version, maximum_version=version)
    with TlsConnection(server.address, context) as connection:
        connection.send(GET + GET)
        getattr(connection, how)()
        assert connection.response().body == BIG
        assert connection.response().body == BIG
        connection.expect_end()
    until(lambda: scrape(server)[closed("peer")] == before[closed("peer")] + 1)


@pytest.mark.spec("K-155a", "K-119")
@pytest.mark.parametrize("how", ["close_notify", "FIN", "reset", "garbage"])
def test_a_client_that_goes_during_a_response_is_let_go(serve_tls, how):
    """Its descriptors are free at once, and no other connection is affected."""
    server = serve_tls(*ADMIN, content=BIG * 2)
    with TlsConnection(server.address) as other:
        other.expect_open()
        rest = len(descriptors(server.process.pid))
        before = scrape(server)
        gone = TlsConnection(server.address, receive_buffer=4096)
        gone.send(GET)
        gone.receive(1)
        if how == "close_notify":
            gone.half_close()
        elif how == "garbage":
            gone.socket.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
        elif how == "reset":
            gone.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        gone.socket.close()
        until(lambda: scrape(server)[closed("peer")] == before[closed("peer")] + 1)
        until(lambda: len(descriptors(server.process.pid)) == rest)
        other.expect_open()


@pytest.mark.spec("K-150", "K-125")
@pytest.mark.parametrize(("host", "peer"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("unix:socket", "unix:")])
def test_the_access_log_has_the_peer(serve_tls, host, peer):
    server = serve_tls("--host", host, "--access-log", "json")
    get(server.address)
    assert json.loads(next_lines(server, 1)[0])["peer"] == peer


@pytest.mark.spec("K-150", "K-119")
def test_the_log_of_ends_has_the_peer(serve_tls):
    server = serve_tls("--log-level", "debug", "--log-format", "json")
    get(server.address)
    until(lambda: "connection from 127.0.0.1 closed: peer" in server.events("debug"))


@pytest.mark.spec("K-154", "K-119")
def test_what_is_counted(serve_tls):
    server = serve_tls(*ADMIN)
    before = scrape(server)
    for _ in range(3):
        get(server.address)
    size = len(get(server.address).head) + len(b"Hello\n")
    expected = {'kcup_http_requests_total{method="GET",code="200"}': 4, "kcup_http_response_bytes_total": 4 * size}
    until_grown(server, before, {**expected, "kcup_connections_accepted_total": 4, closed("peer"): 4})


@pytest.mark.spec("K-150")
def test_curl_is_served(serve_tls, tmp_path):
    """With keep-alive, a range, and 1 MiB byte for byte."""
    server = serve_tls(content=BIG[:MIB])
    trusted = tmp_path / "ca.pem"
    trusted.write_bytes(issuer().pem)
    url = f"https://127.0.0.1:{server.address[1]}/"
    command = ["curl", "--silent", "--show-error", "--fail", "--cacert", trusted]
    assert subprocess.run([*command, url, url], check=True, capture_output=True).stdout == BIG[:MIB] * 2
    assert subprocess.run([*command, "-r", "5-9", url], check=True, capture_output=True).stdout == BIG[5:10]
