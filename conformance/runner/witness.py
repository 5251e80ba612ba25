"""A client that makes requests while faults happen, checks each response, and counts what went wrong."""

import contextlib
import hashlib
import threading
import time

from .reload import GET
from .responses import WireError
from .wire import Connection, TimedOut

CONNECTIONS, PIPELINED = 4, 2
PAUSE = 0.002  # between rounds, which leaves a share of the machine to the faults


class Witness(threading.Thread):
    """Makes requests on connections that stay open, until it is left as a context.

    `failed` has a line for each response that is wrong, cut off or late. A connection that ends before a response has
    begun is opened again, as any client does (R9112-9.3.1), and counted in `reopened`: that should not happen unless
    connections are `expendable`. Once the server is `ending`, it may refuse connections. `took` has the seconds from
    each request to the first byte of its response.
    """

    def __init__(self, address, contents, pause=PAUSE):
        super().__init__(daemon=True)
        self.pause, self.took = pause, []
        self.address, self.known = address, {hashlib.sha256(content).hexdigest()[:32] for content in contents}
        self.done, self.ending, self.expendable = threading.Event(), False, False
        self.answered, self.reopened, self.failed = 0, 0, []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    def run(self):
        with contextlib.ExitStack() as stack:
            held = [None] * CONNECTIONS
            while not self.done.is_set():
                for index, connection in enumerate(held):
                    held[index] = self.ask(stack, connection)
                time.sleep(self.pause)

    def ask(self, stack, connection):
        """Makes requests on this connection or a new one. Returns the connection, or None if it has ended."""
        connection = connection or self.connect(stack)
        if connection is None:
            return None
        begun = False
        try:
            asked = time.monotonic()
            connection.send(GET * PIPELINED)
            connection.pending = connection.receive()
            begun = bool(connection.pending)
            self.took.append(time.monotonic() - asked)
            for _ in range(PIPELINED):
                self.judge(connection.response())
            return connection
        except (WireError, OSError) as error:
            connection.socket.close()
            if begun or isinstance(error, TimedOut):
                self.failed.append(str(error))
            else:
                self.reopened += 1
            return None

    def connect(self, stack):
        try:
            return stack.enter_context(Connection(self.address))
        except OSError as error:
            if self.ending and isinstance(error, ConnectionRefusedError):
                self.done.set()
            else:
                self.failed.append(str(error))
            return None

    def broken(self):
        """A line for each broken promise."""
        reopened = [] if self.expendable or self.ending else ["closed before a response"] * self.reopened
        return self.failed + reopened + ([] if self.answered else ["nothing was answered"])

    def judge(self, response):
        digest = hashlib.sha256(response.body).hexdigest()[:32]
        if response.status != 200 or digest not in self.known or response.one("etag") != f'"{digest}"':
            raise WireError(f"a response that is not of one content: {response.head!r}")
        self.answered += 1
