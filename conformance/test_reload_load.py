"""K-100 under load: each answer is of one content, none fails, and what was served before is given back."""

import hashlib
import re
import signal
import threading
from pathlib import Path

import pytest

from runner.process import until
from runner.reload import GET, plain, rename_over, serves
from runner.wire import Connection

RELOADS, CLIENTS, PIPELINED = 1000, 2, 8
MIB = 1 << 20
# What each reload loads. One that is kept for each of them would be seen: 1,000 of them are 64 MiB.
CONTENTS = [plain(bytes([number]) * (64 * 1024 + number)) for number in (254, 255)]
# Allocators keep what was freed, Go's until the next collection, and this for each worker. Half of what a leak takes.
SLACK = 32 * MIB
WARM = 50


def resident(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def is_of_one_content(answer):
    """Tag, length and bytes belong together, whichever content it is."""
    digest = hashlib.sha256(answer.body).hexdigest()[:32]
    return answer.status == 200 and answer.one("etag") == f'"{digest}"' and digest in KNOWN


KNOWN = {content.digest for content in CONTENTS}


class Client(threading.Thread):
    """Asks without a pause on one connection, several requests at once, and keeps what is wrong."""

    def __init__(self, address):
        super().__init__()
        self.address, self.done, self.answers, self.wrong = address, threading.Event(), 0, []

    def run(self):
        try:
            with Connection(self.address) as connection:
                while not self.done.is_set():
                    connection.send(GET * PIPELINED)
                    for _ in range(PIPELINED):
                        answer = connection.answer()
                        self.answers += 1
                        if not is_of_one_content(answer):
                            self.wrong.append(answer.head)
        except (AssertionError, OSError) as error:
            self.wrong.append(error)


@pytest.mark.spec("K-100")
def test_a_thousand_reloads_under_load(serve):
    server = serve("--threads", "2", "--log-level", "warn", content=CONTENTS[0].content)
    clients = [Client(server.address) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        for number in range(1, RELOADS + 1):
            rename_over(server.directory / "hello.txt", CONTENTS[number % 2].content)
            server.signal(signal.SIGHUP)
            until(lambda new=CONTENTS[number % 2]: serves(server, new))
            if number == WARM:
                warm = resident(server)
    finally:
        for client in clients:
            client.done.set()
            client.join()
    assert [client.wrong for client in clients] == [[]] * CLIENTS
    assert all(client.answers for client in clients)
    assert resident(server) < warm + SLACK
    assert server.stderr() == ""
