"""Where the time goes: one of kcup's programs recorded by perf under wrk, and drawn by inferno as a flame graph.

perf works for both: Go's programs keep frame pointers, and `make profile-rust` builds with them."""

import contextlib
import subprocess
from collections import Counter
from dataclasses import replace

from contenders import ROOT, find_contender, install, tool
from load import placed
from loads import wrk
from servers import process, stop, text_of_size
from tables import markdown, size_name

CONNECTIONS = 64
SIZE = 10240
HERTZ = 999
# How many functions the page lists.
SHOWN = 15
KERNEL = "_[k]"
NANOSECONDS = 1e9


def record(twin, seconds, directory):
    """Records bin/profile/kcup-TWIN; writes a flame graph and a page of the most expensive functions."""
    install([tool(name) for name in ("wrk", "perf", "inferno")])
    profiled = replace(find_contender(f"kcup-{twin}"), program=str(ROOT / "bin" / "profile" / f"kcup-{twin}"))
    terms, load_cpus = placed({"placement": "apart"})
    with process(profiled, text_of_size(SIZE), terms) as server:
        data = server.directory / "perf.data"
        with recording(server.pid, seconds, data):
            wrk(server.port, len(load_cpus), CONNECTIONS, seconds, load_cpus)
        script = output_of(["perf", "script", "--input", str(data)])
    stacks = output_of(["inferno-collapse-perf", "--kernel"], script)
    what = f"{profiled.name} under wrk with {CONNECTIONS} connections, {size_name(SIZE)}"
    directory.mkdir(parents=True, exist_ok=True)
    graph = directory / f"flame-{profiled.name}.svg"
    graph.write_text(output_of(["inferno-flamegraph", "--deterministic", "--title", what], stacks))
    graph.with_suffix(".md").write_text(page(what, graph.name, stacks))
    print(f"{graph.relative_to(ROOT)}\n\n{page(what, graph.name, stacks)}")


@contextlib.contextmanager
def recording(pid, seconds, data):
    """Runs perf during the block; it ends by itself, and at the latest with the block."""
    options = ["--freq", str(HERTZ), "--call-graph", "fp", "--event", "cpu-clock", "--output", str(data)]
    command = ["perf", "record", "--quiet", *options, "--pid", str(pid), "--", "sleep", str(seconds)]
    running = subprocess.Popen(command, start_new_session=True)
    try:
        yield
        running.wait()
    finally:
        stop(running)


def output_of(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def page(what, graph, stacks):
    total, kernel, own = shares(stacks)
    rows = [[f"`{function}`", f"{count / total:.1%}"] for function, count in own.most_common(SHOWN)]
    return (
        f"# {what}\n\n![flame graph]({graph})\n\nOf {total / NANOSECONDS:.2f} s of CPU time {kernel / total:.0%} were "
        "the kernel's. What costs most in the program itself, as a share of all, without what it calls:\n\n"
        f"{markdown(['function', 'share'], rows)}\n"
    )


def shares(stacks):
    """CPU time in total, in the kernel, and of each function of the program itself; the clock counts nanoseconds."""
    total, kernel, own = 0, 0, Counter()
    for line in stacks.splitlines():
        frames, _, count = line.rpartition(" ")
        leaf = frames.rpartition(";")[2]
        total += int(count)
        if leaf.endswith(KERNEL):
            kernel += int(count)
        else:
            own[leaf] += int(count)
    return total, kernel, own
