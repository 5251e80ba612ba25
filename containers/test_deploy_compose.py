"""deploy/compose.yaml, alone and with compose.hosts.yaml, started. test_e2e.py tests it as a sending mail server."""

import json
import shutil

import pytest
import yaml
from conftest import ROOT, docker
from e2e import until
from e2e.site import new_site

POLICY = ROOT / "deploy" / "examples" / "mta-sts.txt"


@pytest.fixture
def site(image, tmp_path):
    with new_site(tmp_path, image, ["mta-sts.example.com"]) as site:
        (tmp_path / "policy").mkdir()
        shutil.copy(POLICY, tmp_path / "policy/mta-sts.txt")
        yield site


def test_it_becomes_healthy(site):
    site.compose("up", "--detach", "--wait")
    container = json.loads(docker("inspect", site.container("kcup")).stdout)[0]
    assert container["State"]["Health"]["Status"] == "healthy"
    assert container["HostConfig"]["ReadonlyRootfs"] and container["HostConfig"]["CapDrop"] == ["ALL"]
    ((network, _),) = container["NetworkSettings"]["Networks"].items()
    assert docker("network", "inspect", "--format", "{{.Internal}}", network).stdout == "true\n"
    assert " warn " not in site.compose("logs", "kcup")
    until(site.status, lambda status: status == 200)
    status, headers, body = site.get()
    assert (status, body) == (200, POLICY.read_bytes())
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert site.get(path="/")[0] == 404
    assert site.get(headers={"If-None-Match": headers["etag"]})[0] == 304


def test_a_policy_that_is_wrong_never_becomes_healthy(site):
    (site.directory / "policy/mta-sts.txt").write_text("version: STSv1\nmode: enforce\n")
    site.compose("up", "--detach", "--wait", "--wait-timeout", "10", check=False)
    assert 'cannot publish the policy from "/policy/mta-sts.txt"' in site.compose("logs", "kcup")
    assert site.status() != 200


def test_another_host_has_content_of_its_own(image, tmp_path):
    """The access log there shows the client that Traefik saw, and none that a client names."""
    with new_site(tmp_path, image, ["mta-sts.example.com", "www.example.com"]) as site:
        (tmp_path / "policy").mkdir()
        shutil.copy(POLICY, tmp_path / "policy/mta-sts.txt")
        site.environment["COMPOSE_FILE"] += ":compose.hosts.yaml"
        (site.tls / "robots.yaml").symlink_to("/etc/traefik/dynamic/robots.yaml")
        site.compose("up", "--detach", "--wait")
        until(site.status, lambda status: status == 200)
        assert site.get()[2] == POLICY.read_bytes()
        until(lambda: site.get("www.example.com", "/robots.txt")[0], lambda status: status == 200)
        forged = {"X-Forwarded-For": "198.51.100.1", "Forwarded": "for=198.51.100.1"}
        for query, headers in (("plain", {}), ("forged", forged)):
            body = site.get("www.example.com", f"/robots.txt?{query}", headers)[2]
            assert body == b"User-agent: *\nDisallow: /\n"
        assert site.get("www.example.com", "/")[0] == 404
        peers = until(lambda: logged(site, "robots"), lambda peers: len(peers) == 3)
        containers = json.loads(docker("network", "inspect", site.inside).stdout)[0]["Containers"]
        traefik = containers[site.container("traefik")]["IPv4Address"].split("/")[0]
        assert peers["/robots.txt?plain"] not in (traefik, "198.51.100.1")
        assert peers["/robots.txt?forged"] == traefik, "Traefik sets one field and passes the other on: they disagree"


def logged(site, service):
    """The peers in its access log, by target."""
    lines = [line for line in site.compose("logs", "--no-log-prefix", service).splitlines() if '"target"' in line]
    return {entry["target"]: entry["peer"] for entry in map(json.loads, lines)}


@pytest.mark.parametrize("file", ["compose.yaml", "swarm/stack.yaml"])
def test_every_container_is_limited(file):
    """Also the proxy: it cannot reach the engine, has one capability, and neither fills the machine nor its disk."""
    for name, service in yaml.safe_load((ROOT / "deploy" / file).read_text())["services"].items():
        assert "docker.sock" not in str(service) and "inside" in service["networks"]
        added = ["NET_BIND_SERVICE"] if name == "traefik" else []
        assert service["cap_drop"] == ["ALL"] and service.get("cap_add", []) == added
        assert service["logging"] == {"driver": "local"}
        limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
        assert service.get("mem_limit", limits.get("memory")) and service.get("pids_limit", limits.get("pids"))


@pytest.mark.parametrize("missing", ["DOMAIN", "ACME_EMAIL"])
def test_what_must_be_set_is_asked_for(site, missing):
    del site.environment[missing]
    with pytest.raises(AssertionError, match=f"required variable {missing} is missing a value"):
        site.compose("config")
