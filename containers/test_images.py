"""Each image, used as its users run it."""

import json
import os
import re
import subprocess
import tarfile
import time
from datetime import UTC, datetime

import pytest
from asking import PUBLISH, ask, connect, wait_until_listening
from conftest import POLICY, ROOT, VERSION, commit_time, docker

PROJECT = re.search(r"PROJECT_URL=(.*)", (ROOT / "project.env").read_text())[1]
MOUNT = ["--volume", f"{POLICY}:/policy.txt:ro", "--env", "FILE=/policy.txt"]
DRAIN_LIMIT = 5


def wait_until_running(name):
    """When `docker run` has been started in the foreground, its container does not exist yet."""
    until = time.monotonic() + 10
    while docker("inspect", "--format", "{{.State.Running}}", name, check=False).stdout.strip() != "true":
        assert time.monotonic() < until, f"{name} does not run"


def fetch(name, path="/.well-known/mta-sts.txt"):
    response = ask(name, path)
    return response.status, response.body


def state(name):
    return json.loads(docker("inspect", "--format", "{{json .State}}", name).stdout)


def test_serves_a_mounted_file(start):
    assert fetch(start([*MOUNT, *PUBLISH])) == (200, POLICY.read_bytes())


def test_serves_a_file_named_by_an_option(start):
    name = start(["--volume", f"{POLICY}:/policy.txt:ro", *PUBLISH], "--file", "/policy.txt")
    assert fetch(name) == (200, POLICY.read_bytes())


def test_serves_what_is_piped_into_it(image, new_name):
    name = new_name()
    command = ["docker", "run", "--interactive", "--name", name, *PUBLISH, image]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as client:
        client.stdin.write(b"piped\n")
        client.stdin.close()
        wait_until_running(name)
        assert fetch(name, "/") == (200, b"piped\n")
        docker("stop", name)
    assert client.returncode == 0


def test_serves_when_locked_in(start):
    locked = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    name = start([*MOUNT, *PUBLISH, *locked, "--cpus", "2", "--memory", "100mb"])
    assert fetch(name) == (200, POLICY.read_bytes())
    assert not state(name)["OOMKilled"]


def test_stops_cleanly_as_pid_1(start):
    name = start([*MOUNT, *PUBLISH])
    wait_until_listening(name)
    began = time.monotonic()
    docker("stop", name)
    assert time.monotonic() - began < DRAIN_LIMIT
    assert state(name)["ExitCode"] == 0


def test_a_silent_connection_does_not_hold_up_the_end(start):
    name = start([*MOUNT, *PUBLISH])
    with connect(name) as connection:
        connection.request("GET", "/")
        assert connection.getresponse().read() == POLICY.read_bytes()
        began = time.monotonic()
        docker("stop", name)
    assert time.monotonic() - began < DRAIN_LIMIT
    assert state(name)["ExitCode"] == 0


@pytest.mark.parametrize("signal", ["TERM", "INT"])
def test_ends_while_it_waits_for_standard_input(image, new_name, signal):
    name = new_name()
    with subprocess.Popen(["docker", "run", "--interactive", "--name", name, image], stdin=subprocess.PIPE):
        wait_until_running(name)
        # Repeatedly: until kcup has its handlers, the kernel drops signals for PID 1.
        while state(name)["Running"]:
            docker("kill", "--signal", signal, name, check=False)
        assert state(name)["ExitCode"] == 0


def test_a_missing_mount_source_is_named(image, tmp_path):
    missing = tmp_path / "missing.txt"
    done = docker("run", "--rm", "--volume", f"{missing}:/x", "--env", "FILE=/x", image, check=False)
    reason = "it is a directory (Docker creates one when the source of a mount is missing)"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'kcup: cannot read content from "/x": {reason}\n'


def test_a_usage_error_is_status_2(image):
    done = docker("run", "--rm", image, "--port", "70000", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == 'kcup: --port: "70000" is not a whole number from 0 to 65535\n'


def test_tells_its_version(image, twin):
    assert docker("run", "--rm", image, "--version").stdout == f"kcup {VERSION} ({twin})\n"


def test_holds_one_file(image, new_name, tmp_path):
    name, archive = new_name(), tmp_path / "image.tar"
    docker("create", "--name", name, image)
    docker("export", "--output", str(archive), name)
    with tarfile.open(archive) as files:
        # Without the files that the engine itself adds to every container.
        held = {file.name.split("/")[0] for file in files} - {"dev", "etc", "proc", "sys", ".dockerenv"}
    assert held == {"kcup"}


def test_is_described(settings, image):
    config = settings["Config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/kcup"] and not config["Cmd"]
    assert config["ExposedPorts"] == {"5000/tcp": {}}
    assert config["StopSignal"] == "SIGTERM"
    assert "HOST=0.0.0.0" in config["Env"]
    assert not config.get("Healthcheck")
    labels = {key.removeprefix("org.opencontainers.image."): value for key, value in config["Labels"].items()}
    assert labels["title"] == image
    assert labels["version"] == VERSION
    assert labels["licenses"] == "MIT"
    assert labels["created"] == datetime.fromtimestamp(commit_time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    # containers/test_pipeline.py checks those of a release.
    assert labels["url"] == labels["source"] == os.environ.get("CI_PROJECT_URL", PROJECT)
    assert all(labels[name] for name in ("authors", "description", "revision", "documentation"))
