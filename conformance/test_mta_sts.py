"""Section 9: each vector with lint, txt and new; and what is served and logged with the preset."""

import functools
import json
import os
import signal
import subprocess

import pytest

from runner.cases import vectors
from runner.cgroup import memory_group
from runner.parts import to_bytes
from runner.process import unread, until
from runner.reload import STAYS, get, rename_over, warned
from runner.twin import write_file
from runner.wire import Connection

VECTORS = vectors("mta_sts")
GET = b"GET /.well-known/mta-sts.txt HTTP/1.1\r\nHost: a\r\n\r\n"
POLICY = b"version: STSv1\nmode: none\r\nmax_age: 60"
SERVED = b"version: STSv1\r\nmode: none\r\nmax_age: 60"


def each(table):
    """The vectors with a policy: an empty file is not content (K-11)."""
    chosen = [vector for vector in VECTORS[table] if "policy" not in vector or to_bytes(vector["policy"])]
    return pytest.mark.parametrize("vector", chosen, ids=lambda vector: vector["name"].replace(" ", "-"))


def outcome(result):
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def usage_error(vector):
    return 2, "", f"kcup: {vector['refused']}\n"


@pytest.mark.spec("K-93", "K-94", "K-95", "K-96")
@each("case")
def test_lint(twin, vector, tmp_path):
    policy = to_bytes(vector["policy"])
    write_file(tmp_path / "p", policy)
    status = 0 if "id" in vector else 1
    found = told(vector)
    assert outcome(twin.run(["mta-sts", "lint", "p"], cwd=tmp_path)) == (status, listed("p", vector), "")
    result = twin.run(["mta-sts", "lint", "--format", "json"], stdin=policy)
    findings = json.loads(result.stdout)
    assert [finding.get("rule") for finding in findings] == [rule for rule, _ in found]
    assert [as_text(finding) for finding in findings] == [line for _, line in found]
    compact = json.dumps(findings, separators=(",", ":"))
    assert outcome(result) == (status, vector.get("json", compact) + "\n", "")


def told(vector):
    """The rule and the line of each finding, and the line for those that are left out."""
    found = []
    for finding in vector["findings"]:
        number, text = finding["text"].split(":", 1)
        found += [(finding["rule"], f"{int(number) + line}:{text}") for line in range(finding.get("times", 1))]
    return [*found, (None, f"and {vector['more']} more")] if "more" in vector else found


def listed(file, vector):
    """The lines of K-93."""
    return "".join(f"{file}:{line if rule else ' ' + line}\n" for rule, line in told(vector))


def as_text(finding):
    if "more" in finding:
        return "and {more} more".format(**finding)
    assert finding["file"] == "<stdin>"
    breaks = f"; breaks: {', '.join(finding['breaks'])}" if finding["breaks"] else ""
    return "{line}:{column}: {severity}: {message} (RFC 8461 section {section})".format(**finding) + breaks


@pytest.mark.spec("K-97", "K-92")
@each("case")
def test_txt_of_every_policy(twin, vector):
    """The id if there is no error, otherwise the findings."""
    policy = to_bytes(vector["policy"])
    refused = "kcup: cannot publish the policy from standard input\n" + listed("<stdin>", vector)
    want = (0, f"v=STSv1; id={vector['id']};\n", "") if "id" in vector else (1, "", refused)
    assert outcome(twin.run(["mta-sts", "txt"], stdin=policy)) == want


@pytest.mark.spec("K-97")
@each("txt")
def test_txt(twin, vector, tmp_path):
    write_file(tmp_path / "p", vector["policy"].encode())
    result = outcome(twin.run(["mta-sts", "txt", "p", *vector["args"]], cwd=tmp_path))
    if "findings" in vector:
        refused = ['kcup: cannot publish the policy from "p"', *(f"p:{finding}" for finding in vector["findings"])]
        assert result == (1, "", "\n".join([*refused, ""]))
    else:
        assert result == (usage_error(vector) if "refused" in vector else (0, vector["printed"], ""))


@pytest.mark.spec("K-98")
@each("new")
def test_new(twin, vector):
    result = outcome(twin.run(["mta-sts", "new", *vector["args"]]))
    if "refused" in vector:
        assert result == usage_error(vector)
        return
    assert result == (0, vector["policy"], "")
    assert twin.run(["mta-sts", "lint"], stdin=vector["policy"].encode()).returncode == 0


@pytest.mark.spec("K-99")
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP], ids=lambda one: one.name
)
def test_a_signal_ends_a_verdict_as_it_ends_any_program(twin, number):
    command, pipe = [twin.binary, "mta-sts", "lint"], subprocess.PIPE
    # A shell has its background jobs ignore some.
    reset = functools.partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={}, preexec_fn=reset) as process:
        os.write(process.stdin.fileno(), b"version")
        until(lambda: unread(process.stdin) == 0)
        process.send_signal(number)
        assert (process.wait(20), process.stdout.read(), process.stderr.read()) == (-number, b"", b"")


@pytest.mark.spec("K-98")
def test_a_new_policy_that_is_too_long_is_refused(twin):
    hosts = [f"--mx={'a.' * 126}b"] * 253
    result = twin.run(["mta-sts", "new", "--mode=testing", "--max-age=86400", *hosts])
    assert outcome(result) == (2, "", "kcup: mta-sts new: the policy is over 65536 bytes\n")


@pytest.mark.spec("K-90", "K-94")
def test_every_line_end_is_served_as_crlf_and_nothing_is_added(serve):
    server = serve("--preset", "mta-sts", content=POLICY)
    with Connection(server.address) as connection:
        connection.send(GET)
        response = connection.response()
    assert (response.status, response.body) == (200, SERVED)


@pytest.mark.spec("K-92", "K-97")
def test_warnings_and_the_record_are_logged_before_the_address(serve, twin):
    record = twin.run(["mta-sts", "txt"], stdin=POLICY).stdout.decode().strip()
    server = serve("--preset", "mta-sts", "--log-format", "json", "--max-connections", "100", content=POLICY)
    events = [json.loads(line) for line in server.stderr().splitlines()]
    logged = [(event["level"], event["msg"]) for event in events if not event["msg"].startswith("serving")]
    findings = twin.run(["mta-sts", "lint", "hello.txt"], cwd=server.directory).stdout.decode().splitlines()
    assert len(findings) == 2
    assert logged == [
        *(("warn", finding) for finding in findings),
        ("info", f"mta-sts: publish {record} as the TXT record of _mta-sts.DOMAIN"),
    ]


@pytest.mark.spec("K-98", "K-90")
def test_a_new_policy_can_be_piped_into_a_server(serve, twin):
    args = ["--mode", "enforce", "--mx", "mx1.example.com", "--max-age", "604800"]
    policy = twin.run(["mta-sts", "new", *args]).stdout
    server = serve("--preset", "mta-sts", "--log-level", "warn", content=None, stdin=policy)
    with Connection(server.address) as connection:
        connection.send(GET)
        response = connection.response()
    assert (response.status, response.body, server.stderr()) == (200, policy, "")


TARGET = "/.well-known/mta-sts.txt"
MIB = 1 << 20


@pytest.mark.spec("K-95", "K-101")
@pytest.mark.parametrize("line", [b"\n", b"x: y\n", b"2026-11-21 07:00:00 a line of somebody's log\n", b"x"], ids=repr)
def test_a_wrong_file_costs_a_policy_server_nothing(serve, line):
    """A file as long as a few hundred policies takes the memory of a few."""
    with memory_group(32 * MIB) as group:
        server = serve(
            "--preset=mta-sts", "--log-format=json", "--max-connections=9", content=POLICY, preexec_fn=group.enter
        )
        begun, used = len(server.events("warn")), group.used()
        path = server.directory / "hello.txt"
        rename_over(path, line * (8 * MIB // len(line)))
        server.signal(signal.SIGHUP)
        refused, finding = warned(server, begun + 2)[begun:]
        assert refused == 'cannot publish the policy from "hello.txt"' + STAYS
        assert finding.endswith("chasquid") and ": error: the policy is over 65536 bytes (" in finding
        assert get(server.address, TARGET).body == SERVED
        until(lambda: group.used() < used + MIB)
        server.stop()
        assert group.kills() == 0


@pytest.mark.spec("K-95", "K-92", "K-101")
def test_a_reload_warns_of_a_hundred_findings_and_of_how_many_more_there_are(serve):
    server = serve("--preset=mta-sts", "--log-format=json", content=POLICY)
    begun = len(server.events("warn"))
    rename_over(server.directory / "hello.txt", POLICY + b"\n" * 1000)
    server.signal(signal.SIGHUP)
    refused, *found = warned(server, begun + 102)[begun:]
    assert refused == 'cannot publish the policy from "hello.txt"' + STAYS
    assert (len(found), found[-1]) == (101, "hello.txt: and 901 more")


@pytest.mark.spec("K-95")
@pytest.mark.parametrize(
    "args", [["--preset=mta-sts", "--file=p"], ["mta-sts", "lint", "p"], ["mta-sts", "txt"]], ids=str
)
def test_what_is_no_policy_is_not_loaded(twin, args, tmp_path):
    """A file of 60 MB, within the memory that a policy needs."""
    write_file(tmp_path / "p", b"x: y\n" * (60 * MIB // 5))
    with memory_group(16 * MIB) as group, open(tmp_path / "p", "rb") as stdin:
        ran = subprocess.run(
            [twin.binary, *args],
            stdin=stdin,
            cwd=tmp_path,
            env={},
            preexec_fn=group.enter,
            capture_output=True,
            timeout=20,
            check=False,
        )
        assert (ran.returncode, group.kills()) == (1, 0)
    *_, finding = (ran.stdout + ran.stderr).splitlines()
    assert b":10923:1: error: the policy is over 65536 bytes" in finding
    assert (len(ran.stdout.splitlines()), len(ran.stderr.splitlines())) == ((1, 0) if "lint" in args else (0, 2))
