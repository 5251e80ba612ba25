"""K-115, K-119: many clients of the admin listener, active and silent."""

import contextlib
import os
import resource
import selectors
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from runner.metrics import AdminConnection, ask, page, samples
from runner.peers import ADMIN, is_open
from runner.process import descriptors, until

HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
MOST = 64
# Less than the 10 seconds after which a silent connection is closed, and Kubernetes' timeout for a probe.
AT_ONCE = 1


@pytest.mark.spec("K-115")
def test_with_64_open_who_has_not_asked_for_longest_makes_room(serve):
    server = serve(*ADMIN)
    before = len(descriptors(server.process.pid))
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(AdminConnection(server.admin)) for _ in range(MOST)]
        held[0].send(b"GET /healthz HTTP/1.1\r\n")  # a part of a head does not protect a connection
        until(lambda: len(descriptors(server.process.pid)) == before + MOST)
        assert all(is_open(connection) for connection in held)
        for _ in range(3):
            held.append(stack.enter_context(AdminConnection(server.admin)))
            held[0].socket.settimeout(AT_ONCE)
            held.pop(0).expect_end()
            assert all(is_open(connection) for connection in held)
        until(lambda: len(descriptors(server.process.pid)) == before + MOST)
        held[-1].send(HEALTHZ)
        assert held.pop().response().body == b"ok"
        assert all(is_open(connection) for connection in held)


@contextlib.contextmanager
def silent(address, count):
    """Keeps this many silent connections open; each that is closed is opened again."""
    over = threading.Event()

    def stay(selector):
        with contextlib.closing(socket.socket()) as peer:
            peer.setblocking(False)
            peer.connect_ex(address)
            selector.register(peer.detach(), selectors.EVENT_READ)

    def come_back():
        with selectors.DefaultSelector() as selector:
            for _ in range(count):
                stay(selector)
            while not over.is_set():
                for key, _ in selector.select(0.1):
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    stay(selector)
            for key in list(selector.get_map().values()):
                os.close(key.fd)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(come_back)
        try:
            yield
        finally:
            over.set()
            done.result()


@pytest.mark.spec("K-115", "K-116")
def test_peers_that_stay_silent_and_come_back_keep_no_probe_waiting(serve):
    server = serve(*ADMIN)
    before = len(descriptors(server.process.pid))
    with silent(server.admin, 4 * MOST):
        until(lambda: len(descriptors(server.process.pid)) >= before + MOST - 1)
        took = []
        for _ in range(9):
            began = time.monotonic()
            assert ask(server.admin, "/healthz").body == b"ok"
            took.append(time.monotonic() - began)
        assert sorted(took)[4] < AT_ONCE, took


@pytest.mark.spec("K-115")
def test_who_has_asked_is_answered_before_another_takes_the_place(serve):
    """All clients send their requests before the first is accepted, and none leaves after its response."""
    server = serve(*ADMIN)
    server.signal(signal.SIGSTOP)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(AdminConnection(server.admin)) for _ in range(4 * MOST)]
        for connection in held:
            connection.send(HEALTHZ)
        server.signal(signal.SIGCONT)
        for connection in held:
            assert connection.response().body == b"ok"
            connection.expect_end()


@pytest.mark.spec("K-115")
def test_who_was_answered_makes_room_before_who_has_not_asked(serve):
    server = serve(*ADMIN)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(AdminConnection(server.admin)) for _ in range(MOST - 1)]
        for _ in range(MOST):
            asking = stack.enter_context(AdminConnection(server.admin))
            asking.send(HEALTHZ)
            assert asking.response().body == b"ok"
            asking.expect_end()
        assert all(is_open(connection) for connection in held)


@pytest.mark.spec("K-115", "K-119")
def test_a_scrape_costs_no_more_where_many_descriptors_are_open(serve):
    """Listing that many descriptors would take over ten times as long as the rest of a scrape."""
    many = min(8000, resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 500)

    def open_many():
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        for number in range(100, 100 + many):
            os.dup2(0, number, inheritable=True)

    server = serve(*ADMIN, preexec_fn=open_many, close_fds=False)
    assert samples(page(server))["process_open_fds"] >= many
    before = server.cpu_seconds()
    for _ in range(100):
        page(server)
    assert (server.cpu_seconds() - before) / 100 < 0.002
