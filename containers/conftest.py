"""pytest containers --twin rust --twin go: the images kcup-rust and kcup-go in the running Docker engine."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "conformance"))  # for runner.page
POLICY = ROOT / "deploy" / "examples" / "mta-sts.txt"
VERSION = (ROOT / "VERSION").read_text().strip()


def pytest_addoption(parser):
    parser.addoption("--twin", action="append", choices=["rust", "go"], help="image to test; default both")


def pytest_generate_tests(metafunc):
    if "twin" in metafunc.fixturenames:
        twins = metafunc.config.getoption("--twin") or ["rust", "go"]
        metafunc.parametrize("twin", twins, scope="session")


def docker(*args, check=True, **options):
    """Runs docker; its output is text, and a failure is shown in the test's report."""
    done = subprocess.run(["docker", *args], capture_output=True, text=True, timeout=60, check=False, **options)
    assert done.returncode == 0 or not check, f"docker {' '.join(args)}: {done.stderr}"
    return done


def commit_time():
    """The time that the images have if they were built from this commit, in seconds since 1970."""
    told = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return int(told or subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)


@pytest.fixture(scope="session")
def image(twin):
    return f"kcup-{twin}"


@pytest.fixture
def settings(image):
    """The image's settings, from `docker inspect`."""
    return json.loads(docker("inspect", image).stdout)[0]


@pytest.fixture
def new_name():
    """new_name(): a name for a container, which is removed when the test ends."""
    names = []

    def make():
        names.append(f"kcup-test-{uuid.uuid4().hex[:12]}")
        return names[-1]

    yield make
    for name in names:
        docker("rm", "--force", name, check=False)


@pytest.fixture
def start(image, new_name):
    """start(docker arguments, kcup arguments..., of=another image): the name of a detached container."""

    def run(options, *args, of=image):
        name = new_name()
        docker("run", "--detach", "--name", name, *options, of, *args)
        return name

    return run
