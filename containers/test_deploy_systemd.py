"""All of deploy/systemd under systemd as PID 1."""

import shutil
import subprocess

import pytest
from conftest import ROOT, docker
from machine import ONE_TEXT, URL, Machine, alone, booted
from runner.page import commands

SCALING = ROOT / "docs" / "scaling.md"
THERE = "/opt/kcup"
POLICY = ROOT / "deploy" / "examples" / "mta-sts.txt"
# Of 100; `systemd-analyze security` calls anything below 10 SAFE.
EXPOSURE = "5"
OLDER = "before-253.conf"


class ByHand(Machine):
    """With kcup installed by hand; `settings` is its /etc/default, and `policy` the policy that it serves."""

    def __init__(self, leader, settings, policy):
        super().__init__(leader)
        self.settings, self.policy = settings, policy

    def install(self):
        """As the first lines of kcup.service say."""
        there, units = "/etc/systemd/system/", f"{THERE}/deploy/systemd"
        self.run("install", "-m", "644", f"{units}/kcup.service", f"{units}/kcup.socket", there)
        if self.is_old():
            for name in ("kcup", "kcup@"):
                self.run("install", "-D", "-m", "644", "-t", f"{there}{name}.service.d", f"{units}/{OLDER}")
        self.run("systemctl", "daemon-reload")

    def is_old(self):
        return int(self.run("systemctl", "--version").split()[1]) < 253

    def verify(self, *units):
        """The objections of systemd-analyze, but for the one that the drop-in for an older systemd answers."""
        found = self.run("systemd-analyze", "verify", "--man=no", *units).splitlines()
        return [line for line in found if not (self.is_old() and "service type, ignoring: notify-reload" in line)]


def mounts(directory):
    """What is mounted in the machine: the program, the policy, the settings, and deploy/."""
    yield f"{directory / 'kcup'}:/usr/local/bin/kcup"
    yield f"{directory / 'policy'}:/etc/kcup"
    yield f"{directory / 'default'}:/etc/default"
    yield f"{ROOT / 'deploy'}:{THERE}/deploy"


@pytest.fixture(scope="module")
def machine(image, tmp_path_factory):
    directory = tmp_path_factory.mktemp("machine")
    (directory / "policy").mkdir()
    (directory / "default").mkdir()
    shutil.copy(POLICY, directory / "policy/mta-sts.txt")
    container = docker("create", image).stdout.strip()
    docker("cp", f"{container}:/kcup", str(directory / "kcup"))
    docker("rm", container)
    bound = [f"--bind-ro={mount}" for mount in mounts(directory)]
    with alone(), booted(directory, "--tmpfs=/usr/local/bin", *bound) as leader:
        machine = ByHand(leader, directory / "default/kcup", directory / "policy/mta-sts.txt")
        machine.install()
        yield machine


@pytest.fixture(autouse=True)
def as_new(machine):
    yield
    machine.run("systemctl", "stop", "kcup*.socket", "kcup*.service")
    machine.run("systemctl", "reset-failed")
    machine.settings.unlink(missing_ok=True)
    shutil.copy(POLICY, machine.policy)


def test_the_units_are_valid(machine):
    assert machine.verify("kcup.service", "kcup.socket") == []


def test_the_service_is_locked_in(machine):
    unit = "/etc/systemd/system/kcup.service"
    machine.run("systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE}", unit)


def test_a_reload_is_over_when_systemctl_returns(machine):
    """Which is what the type notify-reload adds; before systemd 253 a signal is sent, and nobody waits."""
    assert machine.show("kcup.service", "Type") == ("notify" if machine.is_old() else "notify-reload")
    if machine.is_old():
        return
    machine.run("systemctl", "start", "kcup.service")
    machine.policy.write_text(POLICY.read_text().replace("testing", "none"))
    machine.run("systemctl", "reload", "kcup.service")
    assert "mode: none" in machine.ask()


def test_it_is_limited_and_starts_again(machine):
    machine.run("systemctl", "start", "kcup.service")
    limits = {"MemoryMax": {str(256 << 20)}, "TasksMax": {"512"}, "IPAddressDeny": {"0.0.0.0/0", "::/0"}}
    for name, limit in limits.items():
        assert set(machine.show("kcup.service", name).split()) == limit
    began = machine.show("kcup.service", "MainPID")
    machine.run("systemctl", "kill", "--signal=KILL", "kcup.service")
    assert "mode: testing" in machine.ask()  # the connection waits in the socket
    assert machine.show("kcup.service", "MainPID") not in ("0", began)
    assert machine.show("kcup.service", "NRestarts") == "1"


def test_the_first_request_starts_it(machine):
    machine.run("systemctl", "start", "kcup.socket")
    assert machine.show("kcup.service", "ActiveState") == "inactive"
    assert machine.ask() == POLICY.read_text()
    assert machine.show("kcup.service", "ActiveState") == "active"


def test_kcups_own_sandbox_works_inside(machine):
    machine.settings.write_text("SANDBOX=required\n")
    machine.run("systemctl", "start", "kcup.service")
    assert "mode: testing" in machine.ask()


def test_a_reload_publishes_a_new_policy(machine):
    machine.run("systemctl", "start", "kcup.service")
    began = machine.show("kcup.service", "MainPID")
    machine.policy.write_text(POLICY.read_text().replace("testing", "enforce"))
    machine.run("systemctl", "reload", "kcup.service")
    while "mode: enforce" not in machine.ask():
        pass
    machine.policy.write_text("version: STSv1\n")
    machine.run("systemctl", "reload", "kcup.service")
    while "the last good content stays" not in machine.journal("--unit=kcup.service"):
        pass
    assert "mode: enforce" in machine.ask()
    assert machine.show("kcup.service", "MainPID") == began


def test_no_request_fails_twice_while_it_is_started_anew(machine):
    """The socket stays, so no connection is refused. An accepted connection that has sent nothing is closed (K-18)."""
    machine.run("systemctl", "start", "kcup.service")
    began = machine.show("kcup.service", "MainPID")
    ask = f"curl --silent --show-error --fail --output /dev/null --max-time 10 {URL}"
    script = f"for i in $(seq 100); do {ask} || {ask} || echo failed twice; done"
    with subprocess.Popen([*machine.inside, "bash", "-c", script], **ONE_TEXT) as client:
        for _ in range(3):
            machine.run("systemctl", "restart", "kcup.service")
        said = client.stdout.read()
    closed = ("curl: (52) Empty reply from server", "curl: (56) Recv failure: Connection reset by peer")
    assert set(said.splitlines()) <= set(closed)
    assert machine.show("kcup.service", "MainPID") != began


def test_what_must_not_be_published_is_not_served(machine):
    machine.policy.write_text("version: STSv1\nmode: enforce\n")
    machine.run("systemctl", "start", "kcup.service", check=False)
    assert machine.show("kcup.service", "ActiveState") != "active"
    assert 'cannot publish the policy from "/etc/kcup/mta-sts.txt"' in machine.journal("--unit=kcup.service")


def test_one_process_for_each_node_shares_the_port(machine):
    """As in docs/scaling.md. Node 0 also stands in for node 1, since there may be only one."""
    node_1 = "/run/systemd/system/kcup@1.service.d"
    lines = "[Service]\\nExecStart=\\nExecStart=/usr/bin/numactl --cpunodebind=0 --membind=0 /usr/local/bin/kcup\\n"
    machine.run("bash", "-c", f"mkdir -p {node_1} && printf '{lines}' >{node_1}/test.conf")
    page = [command for command, _ in commands(SCALING.read_text())]
    machine.run("env", f"KCUP={THERE}", "bash", "-euc", "\n".join(page))
    assert machine.verify("kcup@0.service", "kcup@0.socket") == []
    while {machine.show(f"kcup@{node}.service", "ActiveState") for node in (0, 1)} != {"active"}:
        assert "mode: testing" in machine.ask()
    main = machine.show("kcup@0.service", "MainPID")
    assert "bind:0" in machine.run("cat", f"/proc/{main}/numa_maps")
    machine.run("systemctl", "stop", "kcup@1.service")
    for _ in range(20):  # a connection for the one that ended starts it again
        assert "mode: testing" in machine.ask()
