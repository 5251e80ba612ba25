"""K-100 under load: each response belongs to one content, none fails, and old content is freed."""

import contextlib
import hashlib
import re
import signal
from pathlib import Path

import pytest

from runner.process import descriptors, until
from runner.reload import GET, plain, rename_over, serves
from runner.wire import Connection

RELOADS, CONNECTIONS, PIPELINED = 1000, 3, 2
MIB = 1 << 20
# The content of each reload. Keeping all of them would be noticed: 1,000 are 64 MiB.
CONTENTS = [plain(bytes([number]) * (64 * 1024 + number)) for number in (254, 255)]
KNOWN = {content.digest for content in CONTENTS}
# Allocators keep freed memory, Go's until the next collection, and for each worker. Half of what a leak would take.
SLACK = 32 * MIB
WARM = 50


def resident(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


def is_of_one_content(response):
    """Tag, length and bytes belong together, whichever content it is."""
    digest = hashlib.sha256(response.body).hexdigest()[:32]
    return response.status == 200 and response.one("etag") == f'"{digest}"' and digest in KNOWN


@pytest.mark.spec("K-100")
def test_a_thousand_reloads_under_load(serve):
    """Several requests on each connection before the signal, and as many after it; responses are read only then."""
    server = serve("--threads", "2", "--log-level", "warn", content=CONTENTS[0].content)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(Connection(server.address)) for _ in range(CONNECTIONS)]
        for number in range(1, RELOADS + 1):
            new = CONTENTS[number % 2]
            for connection in held:
                connection.send(GET * PIPELINED)
            rename_over(server.directory / "hello.txt", new.content)
            server.signal(signal.SIGHUP)
            for connection in held:
                connection.send(GET * PIPELINED)
            for connection in held:
                responses = [connection.response() for _ in range(2 * PIPELINED)]
                assert all(map(is_of_one_content, responses)), [response.head for response in responses]
            until(lambda: serves(server, new))  # noqa: B023
            if number == WARM:
                warm = resident(server), len(descriptors(server.process.pid))
        assert len(descriptors(server.process.pid)) <= warm[1] + 8, "what was served before is still open"
    assert resident(server) < warm[0] + SLACK
    assert server.stderr() == ""
