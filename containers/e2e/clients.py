"""Clients that check every response while the servers change."""

import http.client
import itertools
import threading
from collections import Counter

from e2e import PATH

THREADS = 3


class Clients:
    """Clients that make one request after another, every second one conditional, and check each response."""

    def __init__(self, edge, contents):
        self.edge, self.contents, self.ended = edge, contents, threading.Event()
        self.responses, self.retries, self.failures = Counter(), 0, []
        self.threads = [threading.Thread(target=self.ask_on) for _ in range(THREADS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def ask_on(self):
        connection, known = None, next(iter(self.contents))
        for number in itertools.count():
            if self.ended.is_set():
                return
            conditional = {"If-None-Match": known} if number % 2 else {}
            for attempt in (1, 2):
                try:
                    connection = connection or self.edge.connect()
                    known = self.ask(connection, conditional, known)
                    break
                except (OSError, http.client.HTTPException) as error:
                    connection = None
                    self.retries += 1
                    if attempt == 2:
                        self.failures.append(f"failed twice: {error!r}")

    def ask(self, connection, conditional, known):
        """The response's tag. A 200 is a whole content with its own tag; a 304 is for the tag that was sent."""
        connection.request("GET", PATH, headers=conditional)
        response = connection.getresponse()
        body, seen = response.read(), response.headers.get("etag")
        if response.status >= 500:
            raise http.client.HTTPException(response.status)
        self.responses[response.status, seen] += 1
        whole = response.status == 200 and self.contents.get(seen) == body
        unchanged = response.status == 304 and conditional and (seen, body) == (known, b"")
        if not (whole or unchanged):
            self.failures.append((response.status, seen, body))
        return seen
