"""K-152, K-153, K-156: the two files, at the start and at a reload."""

import os
import signal
import threading
import time

import pytest

from runner.metrics import reloads, scrape
from runner.peers import ADMIN
from runner.process import until
from runner.reload import become, config_map, rename_over, warned
from runner.tls import CERT, KEY, STAYS, TLS, TlsConnection, get, make_pair, pair, renew, shown

BAD_CERT = f'cannot use the certificate in "{CERT}": '
BAD_KEY = f'cannot use the key in "{KEY}": '
JSON = ("--log-format", "json")
EXPIRY = "kcup_tls_certificate_expiry_timestamp_seconds"


def pem(label, data="AAAA"):
    return f"-----BEGIN {label}-----\n{data}\n-----END {label}-----\n"


def refused_files():
    """What a file may be (the keys of `become`), and the line that says why it cannot be used."""
    other = pair("P-384")
    expired = make_pair(seconds=-1)
    directory = "it is a directory (Docker creates one when the source of a mount is missing)"
    for name, line in ((CERT, BAD_CERT), (KEY, BAD_KEY)):
        yield "no file", name, {}, line + "no such file"
        yield "a directory", name, {"directory": True}, line + directory
        yield "a FIFO", name, {"fifo": True}, line + "it is not a regular file"
        yield "an empty file", name, {"content": ""}, line + "it is empty"
        yield "a large file", name, {"content": "x" * 65537}, line + "it is larger than 65536 bytes"
    for what, content in (("text", "x"), ("a key", pair().key.decode())):
        yield f"{what} for a certificate", CERT, {"content": content}, BAD_CERT + "it has no certificate"
    for what, content in (
        ("not DER", pem("CERTIFICATE")),
        ("not Base64", pem("CERTIFICATE", "!!!!")),
    ):
        yield f"a certificate that is {what}", CERT, {"content": content}, BAD_CERT + "it is not a valid certificate"
    yield "an expired one", CERT, {"content": expired.chain.decode()}, f"{BAD_CERT}it expired on {expired.end}"
    for what, content in (("text", "x"), ("a certificate", pair().chain.decode())):
        yield f"{what} for a key", KEY, {"content": content}, BAD_KEY + "it has no private key"
    for what, content in (
        ("not DER", pem("PRIVATE KEY")),
        ("of EC, and not DER", pem("EC PRIVATE KEY")),
        ("of RSA, and not DER", pem("RSA PRIVATE KEY")),
    ):
        yield f"a key that is {what}", KEY, {"content": content}, BAD_KEY + "it is not a usable key"
    for kind in ("RSA-1024", "P-521"):
        weak = make_pair(kind=kind)
        yield f"a key of {kind}", KEY, {"content": weak.key.decode()}, BAD_KEY + "it is not a usable key"
    yield "another key", KEY, {"content": make_pair().key.decode()}, BAD_KEY + "it does not fit the certificate"
    yield "a key of another kind", KEY, {"content": other.key.decode()}, BAD_KEY + "it does not fit the certificate"
    yield "another certificate", CERT, {"content": other.chain.decode()}, BAD_KEY + "it does not fit the certificate"


REFUSED = [pytest.param(*values, id=f"{name}-{values[0]}".replace(" ", "-")) for name, *values in refused_files()]


@pytest.mark.spec("K-152")
@pytest.mark.parametrize(("name", "file", "line"), REFUSED)
def test_what_cannot_be_used_ends_kcup(twin, tmp_path, name, file, line):
    """Before the content is read, of which there is none, and before anything listens."""
    for place, content, _ in pair().files:
        (tmp_path / place).write_bytes(content)
    become(tmp_path / name, file)
    result = twin.run([*TLS, "--file", "absent", "--port", "0"], cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr.decode()) == (1, b"", f"kcup: {line}\n")


@pytest.mark.spec("K-152", "K-156")
@pytest.mark.parametrize(("name", "file", "line"), REFUSED)
def test_what_cannot_be_used_is_not_loaded(serve_tls, name, file, line):
    """The last good pair stays, the content is loaded nevertheless, and the reload has failed."""
    server = serve_tls(*ADMIN, *JSON)
    become(server.directory / name, file)
    new = b"new\n"
    (server.directory / "hello.txt").write_bytes(new)
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [line + STAYS]
    until(lambda: get(server.address).body == new)
    assert shown(server.address) == pair().der
    until(lambda: (scrape(server)[reloads("ok")], scrape(server)[reloads("failed")]) == (0, 1))
    fresh = make_pair()
    if (server.directory / name).is_dir():
        (server.directory / name).rmdir()
    else:
        (server.directory / name).unlink(missing_ok=True)
    renew(server, fresh)
    assert get(server.address).body == new


@pytest.mark.spec("K-152", "K-156")
@pytest.mark.parametrize(("name", "line"), [(CERT, BAD_CERT), (KEY, BAD_KEY)])
def test_a_file_that_may_not_be_read(serve_tls, as_nobody, name, line):
    server = serve_tls(*JSON, **as_nobody)
    (server.directory / name).chmod(0)
    server.signal(signal.SIGHUP)
    assert warned(server, 1) == [line + "permission denied" + STAYS]
    assert shown(server.address) == pair().der


@pytest.mark.spec("K-152")
@pytest.mark.parametrize(("kind", "form"), [
    ("RSA", "PKCS8"), ("RSA", "PKCS1"), ("P-256", "PKCS8"), ("P-256", "SEC1"), ("P-384", "PKCS8"), ("P-384", "SEC1"),
    ("Ed25519", "PKCS8"),
])  # fmt: skip
def test_forms_of_keys(serve_tls, kind, form):
    assert get(serve_tls(pair=make_pair(kind=kind, form=form)).address).body == b"Hello\n"


@pytest.mark.spec("K-152")
def test_blocks_of_other_kinds_are_ignored(serve):
    """What OpenSSL writes before a key of SEC 1, text between blocks, and lines that end with CR."""
    good = make_pair(form="SEC1")
    other = pem("EC PARAMETERS", "BggqhkjOPQMBBw==").encode()
    chain = b"Bag Attributes\n" + pem("X509 CRL").encode() + good.chain.replace(b"\n", b"\r\n")
    files = [(CERT, chain, None), (KEY, other + good.key + good.chain, None)]
    server = serve(*TLS, files=files)
    assert get(server.address).body == b"Hello\n"


@pytest.mark.spec("K-152")
def test_both_may_be_in_one_file(serve):
    server = serve("--tls-cert", "both", "--tls-key", "both", files=[("both", pair().key + pair().chain, None)])
    assert shown(server.address) == pair().der


@pytest.mark.spec("K-153")
@pytest.mark.parametrize(("names", "said"), [
    (["example.com"], "example.com"),
    (["b.example", "192.0.2.1", "*.a.example", "2001:db8::1"], "b.example, 192.0.2.1, *.a.example, 2001:db8::1"),
    ([f"n{n}" for n in range(10)], ", ".join(f"n{n}" for n in range(10))),
    ([f"n{n}" for n in range(12)], ", ".join(f"n{n}" for n in range(10)) + " and 2 more"),
    (["a\x1b[1m"], "?"),
    ([], "no name"),
])  # fmt: skip
def test_the_names_and_the_end_are_logged(serve, names, said):
    """Before the content; how a byte that cannot be printed is escaped is not promised, but it is."""
    new = make_pair(names)
    server = serve(*TLS, *JSON, files=new.files)
    about, serving = server.events("info")[-2:]
    assert serving.startswith("serving hello.txt")
    assert about == f"TLS for {said} until {new.end}" or said == "?"
    assert about.isprintable()
    assert server.events("warn") == []


@pytest.mark.spec("K-153", "K-154")
def test_a_reload_says_it_if_the_certificate_is_another(serve_tls):
    server = serve_tls(*ADMIN, *JSON)
    assert scrape(server)[EXPIRY] == int(pair().until.timestamp())
    server.signal(signal.SIGHUP)
    until(lambda: scrape(server)[reloads("ok")] == 1)
    new = make_pair(["other.example"], days=30)
    renew(server, new)
    assert [event for event in server.events("info") if event.startswith("TLS")] == [
        f"TLS for localhost, 127.0.0.1 until {pair().end}", f"TLS for other.example until {new.end}",
    ]  # fmt: skip
    assert scrape(server)[EXPIRY] == int(new.until.timestamp())


@pytest.mark.spec("K-153")
@pytest.mark.parametrize(("left", "days"), [
    ({"days": 14, "hours": 1}, None), ({"days": 13, "hours": 12}, "13 days"), ({"days": 1, "hours": 12}, "1 day"),
    ({"hours": 12}, "0 days"),
])  # fmt: skip
def test_an_end_that_is_near_is_a_warning(serve, left, days):
    new = make_pair(**left)
    server = serve(*TLS, *JSON, files=new.files)
    assert server.events("warn") == ([f"the certificate expires on {new.end}: in {days}"] if days else [])


@pytest.mark.spec("K-156", "K-150")
def test_connections_keep_what_they_began_with(serve_tls):
    """And get the new content like all others."""
    server = serve_tls()
    with TlsConnection(server.address) as connection:
        connection.expect_open()
        rename_over(server.directory / "hello.txt", b"new\n")
        renew(server, make_pair())
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.response().body == b"new\n"
        assert connection.tls.getpeercert(binary_form=True) == pair().der


@pytest.mark.spec("K-156")
def test_content_that_cannot_be_loaded_does_not_keep_the_pair(serve_tls):
    server = serve_tls(*ADMIN, *JSON)
    (server.directory / "hello.txt").unlink()
    renew(server, make_pair())
    assert warned(server, 1) == ['cannot read content from "hello.txt": no such file; the last good content stays']
    assert get(server.address).body == b"Hello\n"
    until(lambda: scrape(server)[reloads("failed")] == 1)


@pytest.mark.spec("K-156")
@pytest.mark.parametrize("first", [KEY, CERT])
def test_a_pair_that_is_half_written_is_read_again(serve_tls, first):
    """The reload comes after the first file, and the second file within the second of the ten attempts."""
    new = make_pair()
    contents = {CERT: new.chain, KEY: new.key}

    def renewed():
        server = serve_tls(*JSON)
        began = time.monotonic()
        rename_over(server.directory / first, contents[first])
        server.signal(signal.SIGHUP)
        time.sleep(0.3)
        second = KEY if first == CERT else CERT
        rename_over(server.directory / second, contents[second])
        if time.monotonic() - began > 0.8:
            return False
        until(lambda: shown(server.address) == new.der)
        assert server.events("warn") == []
        return True

    assert any(renewed() for _ in range(10)), "this machine was too slow, ten times"


@pytest.mark.spec("K-156", "K-102")
def test_a_link_is_swapped_and_a_poll_finds_it(serve):
    """As cert-manager's secrets are mounted: both files change at once. Nobody sends a signal."""

    def mounted():
        config_map(CERT)
        os.rename(KEY, f"..0/{KEY}")
        os.symlink(f"..data/{KEY}", KEY)

    server = serve(*TLS, *JSON, "--reload-interval-seconds", "1", files=pair().files, preexec_fn=mounted)
    new = make_pair()
    version = server.directory / "..1"
    version.mkdir()
    (version / CERT).write_bytes(new.chain)
    (version / KEY).write_bytes(new.key)
    (server.directory / "..data_tmp").symlink_to("..1")
    (server.directory / "..data_tmp").rename(server.directory / "..data")
    until(lambda: shown(server.address) == new.der)
    assert server.events("warn") == []


@pytest.mark.spec("K-156", "K-151")
def test_renewals_under_requests(serve_tls):
    """Every handshake gets a certificate and its own key: the client would refuse anything else."""
    server, done = serve_tls(), threading.Event()
    failures = []

    def ask_on():
        while not done.is_set():
            try:
                with TlsConnection(server.address) as connection:
                    connection.expect_open()
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for kind in ("P-384", "P-256", "Ed25519", "P-256", "RSA"):
            renew(server, make_pair(kind=kind))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
