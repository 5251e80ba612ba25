"""A policy without a proxy (docs/mta-sts.md): kcup itself speaks TLS to a sending mail server."""

import contextlib
import os
import uuid

import pytest
from conftest import docker
from e2e import until
from e2e.clients import Clients
from e2e.edge import HOST, Edge
from e2e.sending_server import sending_server
from e2e.site import make_network
from test_e2e import DOMAIN, kcup, new_policy

RENEWALS = 5


class Site(Edge):
    """kcup in a container, with the pair of files that a hook of certbot writes."""

    def __init__(self, directory, address, start):
        super().__init__(directory, [HOST])
        self.published = address, 443
        self.start = start

    def certify(self, *names, until=None):
        """A new pair, the key before the certificate."""
        certificate = self.authority.issue_cert(*names, not_after=until)
        certificate.private_key_pem.write_to_path(self.tls / "privkey.pem")
        chain = b"".join(part.bytes() for part in certificate.cert_chain_pems)
        (self.tls / "fullchain.pem").write_bytes(chain)

    def serve(self, network, policy):
        files = {"FILE": "/policy/mta-sts.txt", "TLS_CERT": "/tls/fullchain.pem", "TLS_KEY": "/tls/privkey.pem"}
        variables = [f"--env={name}={value}" for name, value in {**files, "PRESET": "mta-sts", "PORT": 443}.items()]
        volumes = [f"--volume={self.tls}:/tls:ro", f"--volume={policy.parent}:/policy:ro"]
        self.name = self.start([f"--network={network}", f"--ip={self.published[0]}", *variables, *volumes])
        until(self.status, lambda status: status == 200)

    def serial(self):
        with contextlib.closing(self.connect()) as connection:
            return connection.sock.getpeercert()["serialNumber"]

    def renew(self):
        before = self.serial()
        self.certify(HOST)
        docker("kill", "--signal", "HUP", self.name)
        until(self.serial, lambda serial: serial != before)


@pytest.fixture
def network():
    name = f"kcup-test-{uuid.uuid4().hex[:8]}"
    address = make_network(name)
    yield name, address
    docker("network", "rm", name)


@pytest.fixture
def site(network, start, image, tmp_path):
    site = Site(tmp_path, network[1], start)
    policy = tmp_path / "policy/mta-sts.txt"
    policy.parent.mkdir()
    policy.write_bytes(new_policy(image, "enforce"))
    site.serve(network[0], policy)
    return site


def test_a_policy_is_valid(site, network, image, tmp_path):
    record = kcup(image, "mta-sts", "txt", "--domain", DOMAIN, policy=site.get()[2]).decode()
    (tmp_path / "records.zone").write_text(f"{record}{HOST}. 60 IN A {network[1]}\n")
    environment = os.environ | {"SSL_CERT_FILE": site.authority_file}
    with sending_server(network[0], tmp_path, environment) as sender:
        assert "STSFetchResult.VALID:" in sender.query(DOMAIN)
        site.renew()
        assert "STSFetchResult.VALID:" in sender.query(DOMAIN)
        assert "unable to get local issuer certificate" in sender.query(DOMAIN, SSL_CERT_FILE="/dev/null")


def test_renewals_are_not_noticed(site):
    _, fields, policy = site.get()
    with Clients(site, {fields["etag"]: policy}) as clients:
        for _ in range(RENEWALS):
            site.renew()
        seen = clients.responses.total()
        until(clients.responses.total, lambda now: now > seen)
    assert not clients.failures and not clients.retries
