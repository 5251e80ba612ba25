"""Who asks while faults happen: some connections, each answer judged, and what came of it counted."""

import contextlib
import hashlib
import threading
import time

from .answers import WireError
from .reload import GET
from .wire import Connection

CONNECTIONS, PIPELINED = 4, 2
PAUSE = 0.002  # between rounds: the faults are to have a share of the machine


class Witness(threading.Thread):
    """Asks on connections that stay open, until it is told to stop.

    `failed` has a line for each answer that is wrong, cut off or not there in time. A connection that ends before an
    answer has begun is opened again, as any client does (R9112-9.3.1), and counted in `reopened`: that should not
    happen unless connections are `expendable`. Once the server is `ending` nobody need listen. `took` has the seconds
    to each first byte.
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
        """The connection, or none when it has to be opened again."""
        begun = False
        try:
            connection = connection or stack.enter_context(Connection(self.address))
            asked = time.monotonic()
            connection.send(GET * PIPELINED)
            connection.pending = connection.receive()
            begun = bool(connection.pending)
            self.took.append(time.monotonic() - asked)
            for _ in range(PIPELINED):
                self.judge(connection.answer())
            return connection
        except (WireError, OSError) as error:
            if connection:
                connection.socket.close()
            if self.ending and isinstance(error, ConnectionRefusedError):
                self.done.set()
            elif connection and not begun and "nothing came" not in str(error):
                self.reopened += 1
            else:
                self.failed.append(str(error))
            return None

    def broken(self):
        """What it saw of promises that were not kept."""
        reopened = [] if self.expendable or self.ending else ["closed before an answer"] * self.reopened
        return self.failed + reopened + ([] if self.answered else ["nothing was answered"])

    def judge(self, answer):
        digest = hashlib.sha256(answer.body).hexdigest()[:32]
        if answer.status != 200 or digest not in self.known or answer.one("etag") != f'"{digest}"':
            raise WireError(f"an answer that is not of one content: {answer.head!r}")
        self.answered += 1
