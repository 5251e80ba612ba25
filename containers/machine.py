"""A system that systemd-nspawn boots from this machine's own /usr. Or from another system's, whose directory
KCUP_MACHINE names:

    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl,numactl trixie DIRECTORY
"""

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path

URL = "http://127.0.0.1:5000/.well-known/mta-sts.txt"
ONE_TEXT = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


class Machine:
    def __init__(self, leader):
        self.inside = ["nsenter", f"--target={leader}", "--all", "--"]

    def run(self, *command, check=True):
        done = subprocess.run([*self.inside, *command], **ONE_TEXT, timeout=30, check=False)
        assert done.returncode == 0 or not check, f"{' '.join(command)}: {done.stdout}\n{self.journal()}"
        return done.stdout  # text, with CRLF read as LF

    def journal(self, *options):
        return self.run("journalctl", "--no-pager", *(options or ["--lines=20"]), check=False)

    def ask(self):
        return self.run("curl", "--silent", "--show-error", "--fail", "--max-time", "10", URL)

    def show(self, unit, name):
        return self.run("systemctl", "show", "--property", name, "--value", unit).strip()


def wait_for_boot(notifications):
    """Waits for systemd-nspawn's messages, as in sd_notify(3): the process id of PID 1 inside, and that it is up."""
    told = {}
    while told.get("READY") != "1":
        told |= dict(line.split("=", 1) for line in notifications.recv(4096).decode().splitlines())
    return told["X_NSPAWN_LEADER_PID"]


@contextlib.contextmanager
def alone():
    """Two machines at the same time would be in one control group."""
    with Path(tempfile.gettempdir(), "kcup-machine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def booted(directory, *mounts):
    """The process id of the system's PID 1. It has nothing of this machine's /etc and /var. It ends with the block."""
    options = [
        "--quiet",
        f"--directory={os.environ.get('KCUP_MACHINE', '/')}",
        "--volatile=yes",
        "--boot",
        "--register=no",
        "--keep-unit",
        "--private-network",
        f"--machine=kcup-{uuid.uuid4().hex[:8]}",
        "--console=pipe",
        "--notify-ready=yes",
        "--system-call-filter=landlock_create_ruleset landlock_add_rule landlock_restrict_self",
        *mounts,
    ]
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as notifications:
        notifications.bind(str(directory / "notify"))
        notifications.settimeout(60)
        boot = ["systemd-nspawn", *options, "systemd.unit=basic.target"]
        nspawn = subprocess.Popen(boot, stdin=subprocess.DEVNULL, env={"NOTIFY_SOCKET": str(directory / "notify")})
        try:
            yield wait_for_boot(notifications)
        finally:
            nspawn.send_signal(signal.SIGTERM)  # halts the system inside
            nspawn.wait(timeout=30)
