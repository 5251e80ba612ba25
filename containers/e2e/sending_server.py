"""The machine of a sending mail server: a network namespace beside Traefik, with its own name server."""

import contextlib
import ipaddress
import json
import subprocess
import sys
import uuid
from pathlib import Path

from conftest import docker

NAME_SERVER = Path(__file__).with_name("name_server.py")


class Receiver:
    def __init__(self, namespace, environment):
        self.inside = ["ip", "netns", "exec", namespace]
        self.environment = environment

    def run(self, *command, timeout=60, **options):
        """Runs a command there; its standard output and standard error are one text."""
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": self.environment}
        return subprocess.run([*self.inside, *command], timeout=timeout, check=False, **options)

    def query(self, domain, **environment):
        """The output of postfix-mta-sts-resolver's mta-sts-query for a domain."""
        with_changes = Receiver(self.inside[-1], {**self.environment, **environment})
        return with_changes.run(str(Path(sys.executable).with_name("mta-sts-query")), domain).stdout


@contextlib.contextmanager
def sending_server(network, zones, environment):
    """A sending mail server on the network of this name; `zones` is the directory of its name server's zone files."""
    namespace = f"kcup-{uuid.uuid4().hex[:8]}"
    configuration = Path("/etc/netns", namespace)  # `ip netns exec` mounts its files over /etc
    configuration.mkdir(parents=True)
    (configuration / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    ip("netns", "add", namespace)
    try:
        attach(namespace, json.loads(docker("network", "inspect", network).stdout)[0])
        there = Receiver(namespace, environment)
        with subprocess.Popen([*there.inside, sys.executable, NAME_SERVER, zones], stdout=subprocess.PIPE) as names:
            try:
                assert names.stdout.readline() == b"listening\n"
                yield there
            finally:
                names.terminate()
    finally:
        ip("netns", "delete", namespace)  # removes both ends of the cable, too
        (configuration / "resolv.conf").unlink()
        configuration.rmdir()


def attach(namespace, network):
    """A cable from the namespace to the bridge, with the subnet's last address, since engines begin with the first."""
    cable = f"k{namespace[-8:]}"
    bridge = network["Options"].get("com.docker.network.bridge.name", f"br-{network['Id'][:12]}")
    subnet = ipaddress.ip_network(network["IPAM"]["Config"][0]["Subnet"])
    ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    ip("link", "set", cable, "master", bridge, "up")
    ip("-n", namespace, "address", "add", f"{subnet[-2]}/{subnet.prefixlen}", "dev", "eth0")
    for device in ("lo", "eth0"):
        ip("-n", namespace, "link", "set", device, "up")


def ip(*args):
    done = subprocess.run(["ip", *args], capture_output=True, text=True, timeout=10, check=False)
    assert done.returncode == 0, f"ip {' '.join(args)} (a local engine and root are needed): {done.stderr}"
