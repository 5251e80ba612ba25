"""The platforms that images are built for, and how a container of each runs on this machine."""

import platform

import pytest
from debian import program

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
HERE = next(architecture for architecture, machine in MACHINES.items() if machine == platform.machine())


def running(architecture):
    """The arguments of `docker run` before and after the image: an emulator if the machine has another platform."""
    options = ["--platform", f"linux/{architecture}"]
    if architecture == HERE:
        return options, []
    try:
        emulator = program("qemu-user-static", f"usr/bin/qemu-{MACHINES[architecture]}-static")
    except OSError as why:
        pytest.skip(f"{architecture} is not run: {why}")
    return [*options, "--volume", f"{emulator}:/emulator:ro", "--entrypoint", "/emulator"], ["/kcup"]
