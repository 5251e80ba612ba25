"""The machine: its name, and both versions of control groups, as trees of files."""

import machine
import pytest
from cgroup import Group


@pytest.mark.parametrize(
    ("cpu", "slug"),
    [
        ("Intel(R) Xeon(R) Platinum 8581C CPU @ 2.10GHz", "intel-xeon-platinum-8581c-2cpu"),
        ("AMD EPYC 7B13 64-Core Processor", "amd-epyc-7b13-64-core-2cpu"),
    ],
)
def test_a_machine_is_named_by_its_processor(cpu, slug):
    assert machine.slug({"cpu": cpu, "cpus": 2}) == slug


QUIET = {"busy_before": 0.0, "stolen": 0.0}


def test_a_client_that_sets_the_pace_is_a_doubt():
    loads = [{"load_cpus": 0.97, "load_cpus_had": 1}, {"load_cpus": 0.4, "load_cpus_had": 1}]
    records = [{"contender": "nginx", **load} for load in loads]
    assert "in 1 of 2 measurements" in machine.doubts_of(QUIET, records)[0]
    assert not machine.doubts_of(QUIET, records[1:])


def test_others_the_host_and_errors_are_doubts():
    records = [{"contender": "nginx", "errors": 2}, {"contender": "caddy", "errors": 0}]
    others, host, failed = machine.doubts_of({"busy_before": 0.2, "stolen": 0.02}, records)
    assert "shared" in others and "host" in host and failed == "Requests failed: nginx 2."


def test_one_that_was_killed_is_named_and_counts_for_nothing_else():
    dead = {"contender": "caddy", "killed": True, "load_cpus": 1, "load_cpus_had": 1, "errors": 1000}
    (told,) = machine.doubts_of(QUIET, [dead, {"contender": "caddy", "killed": False}])
    assert told == "Killed by the kernel or ended, so without a result: caddy 1 of 2."


def group(path, **files):
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return Group(dict.fromkeys(["cpuacct", "cpu", "memory"], path))


def test_version_1_of_control_groups(tmp_path):
    one = group(
        tmp_path,
        cpuacct__usage="1500000000\n",
        memory__usage_in_bytes="42\n",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
        memory__limit_in_bytes="",
        cpu__cfs_quota_us="",
    )
    one.limit(1.5, 100)
    assert (one.cpu_seconds(), one.memory(), one.kills()) == (1.5, 42, 3)
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "150000"
    assert (tmp_path / "memory.limit_in_bytes").read_text() == "100000000"


def test_version_2_of_control_groups(tmp_path):
    one = group(
        tmp_path,
        cpu__stat="usage_usec 2500000\nuser_usec 1\n",
        memory__current="42\n",
        memory__events="low 0\noom 1\noom_kill 1\n",
        memory__max="max",
        cpu__max="max 100000",
    )
    one.limit(2, 256)
    assert (one.cpu_seconds(), one.memory(), one.kills()) == (2.5, 42, 1)
    assert (tmp_path / "cpu.max").read_text() == "200000 100000"
    assert (tmp_path / "memory.max").read_text() == "256000000"
