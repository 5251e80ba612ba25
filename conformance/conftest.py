"""pytest conformance --rust bin/kcup-rust --go bin/kcup-go (if one of them is left out, only the other is tested)."""

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from runner.cgroup import memory_group
from runner.clock import run_together
from runner.tls import TLS
from runner.tls import pair as shared_pair
from runner.twin import Server, Twin

# Reasons for which a case may be skipped. A skip for any other reason fails.
LACKING = re.compile(
    "no memory cgroup can be made here|nothing here steps the clock for one process"
    "|another user does not get to the program|root reads everything|another user has no capabilities"
    "|a process namespace takes root|a (root directory|network) of one's own takes root|the kernel's log takes root"
    "|this kernel has no (Landlock|urgent bytes on unix sockets)"
)
ROOT = Path(__file__).resolve().parent.parent
TWINS = ("rust", "go")
NOBODY = 65534


def pytest_addoption(parser):
    for name in TWINS:
        parser.addoption(f"--{name}", type=Path, help=f"path of kcup-{name}; without --rust and --go: both, in bin/")


def chosen(config):
    """The programs to test. A path that was given and does not exist is an error, never a skip."""
    given = {name: config.getoption(f"--{name}") for name in TWINS if config.getoption(f"--{name}")}
    paths = given or {name: ROOT / "bin" / f"kcup-{name}" for name in TWINS}
    for path in paths.values():
        if not path.is_file():
            raise pytest.UsageError(f"{path} does not exist (make build, or say where with --rust and --go)")
    return [Twin(name, path.resolve()) for name, path in paths.items()]


def pytest_configure(config):
    config.twins = chosen(config)


def pytest_generate_tests(metafunc):
    if "twin" in metafunc.fixturenames:
        twins = metafunc.config.twins
        metafunc.parametrize("twin", twins, ids=[twin.name for twin in twins], scope="session")


def pytest_collection_modifyitems(config, items):
    """Leaves out comparisons if there is only one program."""
    if len(config.twins) < 2:
        compared = [item for item in items if "twins" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if item not in compared]
        config.hook.pytest_deselected(items=compared)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and not LACKING.search(str(report.longrepr)):
        report.outcome, report.longrepr = "failed", f"a skip that nobody listed: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def twins(request):
    """Both programs, for tests that compare them."""
    return request.config.twins


@pytest.fixture(scope="session")
def servers():
    """One server for each option set and program, started when it is first needed."""
    running = {}

    def get(twin, options):
        key = twin.name, options.name
        if key not in running:
            running[key] = options.start(Server, twin)
        assert running[key].process.poll() is None, f"{twin.name} has ended: {running[key].stderr()}"
        return running[key]

    yield get
    for server in running.values():
        server.stop()


@pytest.fixture
def memory():
    """A memory cgroup of this many bytes: memory(size). It is removed after the servers of `serve` have stopped."""
    with contextlib.ExitStack() as stack:
        yield lambda size, kind=memory_group: stack.enter_context(kind(size))


@pytest.fixture
def serve(twin, memory):
    """A server for one test: serve(args, content=..., ...). It is stopped when the test ends."""
    running = []

    def start(*args, content=b"Hello\n", name="hello.txt", mtime=784111777, files=(), **options):
        files = [*files, *([] if content is None else [(name, content, mtime)])]
        args = args if content is None else ("--file", name, *args)
        running.append(Server(twin, args, files=files, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def serve_tls(serve):
    """The same with TLS, and the certificate and key of a pair."""

    def start(*args, pair=None, **options):
        return serve(*TLS, *args, files=(pair or shared_pair()).files, **options)

    return start


@pytest.fixture(scope="module")
def outcomes(request):
    """The outcomes of a module's experiments with time, by program and name."""
    return run_together(request.module.__name__, request.config.twins)


@pytest.fixture
def as_nobody(twin):
    """Options of `serve` that start the server as a user without root's exemption from permissions."""
    if os.geteuid() != 0:
        return {}
    if not all(parent.stat().st_mode & 0o001 for parent in twin.binary.parents):
        pytest.skip("another user does not get to the program, and root reads everything")
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def pytest_terminal_summary(terminalreporter):
    ran = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            names = report.nodeid.partition("[")[2].rstrip("]").split("-")
            ran[next((name for name in TWINS if name in names[:1] + names[-1:]), "neither")] += 1
    counts = ", ".join(f"{ran[name]} against kcup-{name}" for name in TWINS)
    terminalreporter.write_line(f"cases: {counts}, {ran['neither']} of the contract and the runner")
