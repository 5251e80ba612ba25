"""The platforms that images are made for, and how a container of each runs on this machine."""

import platform

import pytest
from debian import program

MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
HERE = next(architecture for architecture, machine in MACHINES.items() if machine == platform.machine())


def running(architecture):
    """What `docker run` needs before the image, and behind it: an emulator where the machine is another one."""
    options = ["--platform", f"linux/{architecture}"]
    if architecture == HERE:
        return options, []
    try:
        emulator = program("qemu-user-static", f"usr/bin/qemu-{MACHINES[architecture]}-static")
    except OSError as why:
        pytest.skip(f"{architecture} is not run: {why}")
    return [*options, "--volume", f"{emulator}:/emulator:ro", "--entrypoint", "/emulator"], ["/kcup"]
