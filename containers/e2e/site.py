"""A compose file with Traefik and kcup as a user has it, in its own directory: deploy/compose.yaml, or another."""

import contextlib
import functools
import ipaddress
import json
import shutil
import subprocess
import uuid

import yaml
from conftest import ROOT, docker

from e2e.edge import Edge, environment, make_traefik

COMPOSE = ROOT / "deploy" / "compose.yaml"


class Site(Edge):
    """A directory with compose.yaml, its network, and the DNS records that point to its Traefik."""

    def __init__(self, directory, image, names, text):
        super().__init__(directory, names)
        self.text, self.traefik = text, yaml.safe_load(text)["services"]["traefik"]
        make_traefik(self.traefik["image"])
        self.directory, self.names = directory, names
        project = f"kcup-test-{uuid.uuid4().hex[:8]}"
        self.network, self.inside = f"{project}_default", f"{project}_inside"
        self.environment = environment(image) | {
            "HTTPS_PORT": "127.0.0.1:",
            "COMPOSE_PROJECT_NAME": project,
            "COMPOSE_FILE": "compose.yaml:test.yaml",
            "SSL_CERT_FILE": self.authority_file,
            "CURL_CA_BUNDLE": self.authority_file,
        }

    def lay_out(self, address):
        """The files of the site, where Traefik should have this address."""
        for path in COMPOSE.parent.glob("compose*.yaml"):
            shutil.copy(path, self.directory)
        (self.directory / "compose.yaml").write_text(self.text)
        traefik = self.overlay(self.traefik) | {"networks": {"default": {"ipv4_address": address}}}
        # It is also the Traefik of somebody who has one already, and starts containers with labels.
        traefik["command"] += ["--providers.docker.exposedByDefault=false"]
        traefik["volumes"] += ["${DOCKER_SOCKET}:/var/run/docker.sock:ro"]
        network = {"name": self.network, "external": True}
        overlay = {"services": {"traefik": traefik}, "networks": {"default": network}}
        (self.directory / "test.yaml").write_text(json.dumps(overlay))
        (self.directory / "addresses.zone").write_text("".join(f"{name}. 60 IN A {address}\n" for name in self.names))

    def compose(self, *args, check=True):
        done = subprocess.run(
            ["docker", "compose", *args],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0 or not check, f"docker compose {' '.join(args)}: {done.stderr}"
        return done.stdout

    def container(self, service):
        return self.compose("ps", "--quiet", service).strip()

    def labels(self, domain):
        """Options of `docker run` that put a container behind Traefik, for another domain."""
        router = f"traefik.http.routers.{domain.replace('.', '-')}"
        labels = ["traefik.enable=true", f"{router}.entryPoints=https", f"{router}.tls.certResolver=acme"]
        labels.append(f"{router}.rule=Host(`mta-sts.{domain}`)")
        return [f"--network={self.network}", *(f"--label={label}" for label in labels)]

    @functools.cached_property
    def published(self):
        host, port = self.compose("port", "traefik", "443").strip().rsplit(":", 1)
        return host, int(port)


@contextlib.contextmanager
def new_site(directory, image, names, text=None):
    """A site that has not been started; everything started from it is removed at the end."""
    site = Site(directory, image, names, text or COMPOSE.read_text())
    try:
        site.lay_out(make_network(site.network))
        yield site
    finally:
        site.compose("down", "--volumes", "--timeout", "5")
        docker("network", "rm", site.network)


def make_network(name):
    """Make a network; the address on it that is for Traefik.

    A container may ask for one only in a subnet that was asked for: the engine chooses, and is asked for its choice."""
    docker("network", "create", name)
    subnet = docker("network", "inspect", "--format", "{{(index .IPAM.Config 0).Subnet}}", name).stdout.strip()
    docker("network", "rm", name)
    docker("network", "create", "--subnet", subnet, name)
    return str(ipaddress.ip_network(subnet)[-3])
