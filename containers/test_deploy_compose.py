"""deploy/compose.yaml and deploy/compose.healthcheck.yaml, started. test_e2e.py tests them as a sending mail server."""

import json
import shutil

import pytest
from conftest import ROOT, docker
from e2e import until
from e2e.site import new_site

POLICY = ROOT / "deploy" / "examples" / "mta-sts.txt"


@pytest.fixture
def site(image, tmp_path):
    with new_site(tmp_path, image, ["mta-sts.example.com"]) as site:
        (tmp_path / "policy").mkdir()
        shutil.copy(POLICY, tmp_path / "policy/mta-sts.txt")
        site.environment["COMPOSE_FILE"] += ":compose.healthcheck.yaml"
        yield site


def test_with_a_health_check_it_becomes_healthy(site):
    site.compose("up", "--detach", "--wait")
    container = json.loads(docker("inspect", site.container("kcup")).stdout)[0]
    assert container["State"]["Health"]["Status"] == "healthy"
    assert container["HostConfig"]["ReadonlyRootfs"] and container["HostConfig"]["CapDrop"] == ["ALL"]
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


@pytest.mark.parametrize("missing", ["DOMAIN", "ACME_EMAIL"])
def test_what_must_be_set_is_asked_for(site, missing):
    del site.environment[missing]
    with pytest.raises(AssertionError, match=f"required variable {missing} is missing a value"):
        site.compose("config")
