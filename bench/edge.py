"""python bench/edge.py: CPU time of Traefik with TLS, and of kcup behind it, per request; docs/scaling.md has a run.

Needs wrk, bin/kcup-rust, and the packages of containers/requirements.txt, among them Traefik itself. All of it is on
loopback. A row is the median and the spread of ROUNDS rounds."""

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import trustme

ROOT = Path(__file__).resolve().parent.parent
TRAEFIK = Path(sys.executable).with_name("traefik")
KCUP_PORT, HTTPS_PORT = 5931, 5932
ROUNDS, SECONDS = 5, 6
SIZES = {"66 bytes": 66, "10 KiB": 10 << 10, "100 KiB": 100 << 10}
ROUTE = {
    "http": {
        "routers": {"all": {"rule": "PathPrefix(`/`)", "service": "kcup", "tls": {}}},
        "services": {"kcup": {"loadBalancer": {"servers": [{"url": f"http://127.0.0.1:{KCUP_PORT}"}]}}},
    }
}


def write_configuration(directory):
    authority = trustme.CA()
    pair = directory / "pair.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(pair)
    tls = {"certificates": [{"certFile": str(pair), "keyFile": str(pair)}]}
    (directory / "route.yaml").write_text(json.dumps(ROUTE | {"tls": tls}))


@contextlib.contextmanager
def started(*command):
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def cpu(process):
    """Seconds of CPU time of a process, user and system."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(*options):
    """The number of requests that wrk completes."""
    command = ["wrk", "-t1", "-c32", f"-d{SECONDS}s", *options, f"https://127.0.0.1:{HTTPS_PORT}/"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    return int(re.search(r"(\d+) requests in", said)[1])


def measure(processes, *options):
    """Microseconds of CPU time for each request, of each process: one list of rounds for each."""
    rounds = []
    for _ in range(ROUNDS):
        before = [cpu(process) for process in processes]
        requests = load(*options)
        spent = [cpu(process) - began for process, began in zip(processes, before, strict=True)]
        rounds.append([seconds / requests * 1e6 for seconds in spent])
    return zip(*rounds, strict=True)


def shown(values):
    return f"{statistics.median(values):.3g} us ({min(values):.3g} to {max(values):.3g})"


def main():
    print("| content | connections | Traefik | kcup |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="kcup-edge-") as name:
        directory = Path(name)
        write_configuration(directory)
        options = [f"--entryPoints.https.address=127.0.0.1:{HTTPS_PORT}", f"--providers.file.directory={directory}"]
        for label, size in SIZES.items():
            (directory / "content").write_bytes(b"x" * size)
            kcup = [ROOT / "bin/kcup-rust", "--port", str(KCUP_PORT), "--compression", "off", directory / "content"]
            with started(*kcup) as origin, started(TRAEFIK, *options) as edge:
                wait_for(f"http://127.0.0.1:{KCUP_PORT}/")
                time.sleep(2)  # Traefik's first configuration
                for kind, header in (("kept", []), ("new", ["--header", "Connection: close"])):
                    edge_us, kcup_us = measure([edge, origin], *header)
                    print(f"| {label} | {kind} | {shown(edge_us)} | {shown(kcup_us)} |", flush=True)


def wait_for(url):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        with contextlib.suppress(OSError), urllib.request.urlopen(url):
            return
        time.sleep(0.05)
    raise SystemExit(f"{url} does not respond")


if __name__ == "__main__":
    main()
