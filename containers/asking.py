"""Requests to a container that serves, over a port of this machine."""

import contextlib
import re
import subprocess
from http.client import HTTPConnection
from typing import NamedTuple

from conftest import docker

PUBLISH = ["--publish", "127.0.0.1::5000"]
LISTENING = re.compile(r"kcup listening on http://0\.0\.0\.0:5000/\n")


class Response(NamedTuple):
    """A response without `date`, so that two with the same content are equal."""

    status: int
    fields: dict
    body: bytes


def wait_until_listening(name):
    """Follows the container's standard output up to the line of K-15; the container may also end before it."""
    with subprocess.Popen(["docker", "logs", "--follow", name], stdout=subprocess.PIPE, text=True) as logs:
        line = logs.stdout.readline()
        logs.terminate()
    assert LISTENING.fullmatch(line), f"{line!r}: {docker('logs', name).stderr}"


@contextlib.contextmanager
def connect(name):
    """A connection to a container that was started with PUBLISH."""
    wait_until_listening(name)
    host, port = docker("port", name, "5000/tcp").stdout.split("\n")[0].rsplit(":", 1)
    with contextlib.closing(HTTPConnection(host, int(port), timeout=10)) as connection:
        yield connection


def ask(name, path="/.well-known/mta-sts.txt", **fields):
    with connect(name) as connection:
        connection.request("GET", path, headers=fields)
        response = connection.getresponse()
        told = {key: value for key, value in response.getheaders() if key != "date"}
        return Response(response.status, told, response.read())
