"""deploy/swarm/stack.yaml and route.yaml in a real Swarm of one node, under load, while image and policy change.

The fleet is of both programs on the way from one to the other. What a client may count on: no request fails twice (one
retry of a GET, RFC 9110 section 9.2.2), a response is of one policy, and a tag of one program is good at the other."""

import contextlib
import functools
import hashlib
import json
import re
import shutil
import signal
import subprocess
import time
import uuid

import pytest
import yaml
from conftest import ROOT, docker
from e2e import PATH, until
from e2e.clients import Clients
from e2e.edge import HOST, Edge, environment, make_traefik

STACK = ROOT / "deploy" / "swarm" / "stack.yaml"
TRAEFIK = yaml.safe_load(STACK.read_text())["services"]["traefik"]
VERSION = (ROOT / "VERSION").read_text().strip()
# An update changes three replicas, each with a health check, a delay and a time during which it is monitored.
PATIENCE = 90
WRK = ["wrk", "-t1", "-c4", f"-d{4 * PATIENCE}", "--header", f"Host: {HOST}"]
POLICIES = {
    "testing": b"version: STSv1\r\nmode: testing\r\nmx: mx1.example.com\r\nmax_age: 604800\r\n",
    "enforce": b"version: STSv1\r\nmode: enforce\r\nmx: mx1.example.com\r\nmax_age: 604800\r\n",
    "wrong": b"version: STSv1\r\nmode: enforce\r\nmax_age: 604800\r\n",
}


def tag(content):
    return f'"{hashlib.sha256(content).hexdigest()[:32]}"'


class Fleet(Edge):
    """A stack in its own directory, deployed with the one command at the top of stack.yaml."""

    def __init__(self, directory):
        super().__init__(directory, [HOST])
        make_traefik(TRAEFIK["image"])
        self.directory, self.name = directory, f"kcup-test-{uuid.uuid4().hex[:8]}"
        (directory / "policy").mkdir()
        for file in STACK.parent.iterdir():
            shutil.copy(file, directory)
        overlay = {"version": "3.9", "services": {"traefik": self.overlay(TRAEFIK)}}
        (directory / "test.yaml").write_text(json.dumps(overlay))

    def deploy(self, image, content):
        (self.directory / "policy/mta-sts.txt").write_bytes(content)
        variables = {"HTTPS_PORT": "0", "POLICY_ID": hashlib.sha256(content).hexdigest()[:12]}
        files = ["--compose-file", "stack.yaml", "--compose-file", "test.yaml"]
        docker(
            "stack",
            "deploy",
            "--resolve-image",
            "never",
            *files,
            self.name,
            cwd=self.directory,
            env=environment(image) | variables,
        )

    def update(self, image, content):
        """Deploys, and waits until the Swarm has finished. Returns its result, and the images that ran side by side."""
        before, together = self.state(), set()
        self.deploy(image, content)
        until(self.state, lambda seen: seen.get("StartedAt") != before.get("StartedAt"))
        end = time.monotonic() + PATIENCE
        while (state := self.state()["State"]) in ("updating", "rollback_started") and time.monotonic() < end:
            together = max(together, set(self.images()), key=len)
            time.sleep(0.3)
        return state, together

    def state(self):
        shown = docker("service", "inspect", "--format", "{{json .UpdateStatus}}", f"{self.name}_kcup").stdout
        return json.loads(shown) or {}

    def images(self, service="kcup"):
        """The image of each container of a service."""
        return self.containers("{{.Image}}", service).split()

    def containers(self, show, service="kcup"):
        label = f"label=com.docker.swarm.service.name={self.name}_{service}"
        return docker("ps", "--filter", label, "--format", show).stdout

    @functools.cached_property
    def published(self):
        ports = until(lambda: self.containers("{{.Ports}}", "traefik"), lambda ports: "->" in ports, PATIENCE)
        return "127.0.0.1", int(ports.split("->")[0].rsplit(":", 1)[1])


@pytest.fixture
def swarm():
    """The engine as a Swarm; an engine that is not one becomes one, and leaves it at the end."""
    if docker("info", "--format", "{{.Swarm.LocalNodeState}}").stdout.strip() == "active":
        yield
        return
    bridge = docker("network", "inspect", "docker_gwbridge", check=False).returncode
    docker("swarm", "init", "--advertise-addr", "127.0.0.1")
    yield
    docker("swarm", "leave", "--force")
    if bridge:
        docker("network", "rm", "docker_gwbridge")


@pytest.fixture
def fleet(swarm, tmp_path):
    fleet = Fleet(tmp_path)
    yield fleet
    docker("stack", "rm", fleet.name)
    label = f"label=com.docker.stack.namespace={fleet.name}"
    until(lambda: docker("ps", "--all", "--quiet", "--filter", label).stdout, lambda left: left == "", PATIENCE)
    docker("volume", "rm", f"{fleet.name}_acme")


@contextlib.contextmanager
def load(fleet):
    """wrk, during the block."""
    url = "https://{}:{}{}".format(*fleet.published, PATH)
    with subprocess.Popen([*WRK, url], stdout=subprocess.PIPE, text=True) as wrk:
        yield
        wrk.send_signal(signal.SIGINT)
        assert int(re.search(r"(\d+) requests in", wrk.stdout.read())[1]) > 1000


def test_no_request_fails_twice_while_image_and_policy_change(fleet, pytestconfig):
    twins = pytestconfig.getoption("--twin") or ["rust", "go"]
    first, second = f"kcup-{twins[0]}:latest", f"kcup-{twins[-1]}:{VERSION}"
    fleet.deploy(first, POLICIES["testing"])
    until(fleet.status, lambda status: status == 200, PATIENCE)
    until(fleet.images, lambda images: images == [first] * 3, PATIENCE)
    with load(fleet), Clients(fleet, {tag(policy): policy for policy in POLICIES.values()}) as clients:
        assert fleet.update(second, POLICIES["testing"]) == ("completed", {first, second})
        assert set(clients.responses) == {(200, tag(POLICIES["testing"])), (304, tag(POLICIES["testing"]))}
        assert fleet.update(second, POLICIES["enforce"])[0] == "completed"
        assert fleet.update(second, POLICIES["wrong"])[0] == "rollback_completed"
        clients.responses.clear()
        until(lambda: sum(clients.responses.values()), lambda count: count > 100)
        assert set(clients.responses) == {(200, tag(POLICIES["enforce"])), (304, tag(POLICIES["enforce"]))}
    assert clients.failures == []


class Response:
    """A response as http.client returns it, and its connection."""

    def __init__(self, status, etag, body):
        self.status, self.headers, self.body = status, {"etag": etag}, body

    def request(self, *_, **__):
        pass

    def getresponse(self):
        return self

    def read(self):
        return self.body


@pytest.mark.parametrize(
    ("response", "right"),
    [
        (Response(200, "a", b"A"), True),
        (Response(200, "b", b"B"), True),
        (Response(304, "a", b""), True),
        (Response(200, "a", b"B"), False),
        (Response(200, "a", b""), False),
        (Response(304, "b", b""), False),
        (Response(404, None, b"No such resource"), False),
    ],
)
def test_the_clients_find_a_response_that_is_mixed(response, right):
    clients = Clients(None, {"a": b"A", "b": b"B"})
    clients.ask(response, {"If-None-Match": "a"}, "a")
    assert (clients.failures == []) is right
