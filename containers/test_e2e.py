"""From a policy to a sending mail server that trusts it, or does not: name server, TLS, Traefik, kcup in a
container."""

import re
import subprocess
import time
from datetime import UTC, datetime, timedelta

import pytest
import trustme
from conftest import docker
from e2e import until
from e2e.sending_server import sending_server
from e2e.site import new_site

DOMAIN = "example.com"
OTHERS = ["media.example.com", "quick.example.com"]
NAMES = [f"mta-sts.{domain}" for domain in (DOMAIN, *OTHERS)]


def kcup(image, *args, policy=b""):
    command = ["docker", "run", "--rm", "--interactive", image, *args]
    return subprocess.run(command, input=policy, capture_output=True, check=True).stdout


def new_policy(image, mode):
    return kcup(image, "mta-sts", "new", "--mode", mode, "--mx", "mx1.example.com", "--max-age", "604800")


class World:
    """A running site, and a sending mail server beside it."""

    def __init__(self, site, sender, image):
        self.site, self.sender, self.image = site, sender, image

    def publish(self, policy, domain=DOMAIN):
        """Writes the policy (for the site's own domain) and its TXT record. Returns the record's id."""
        if domain == DOMAIN:
            (self.site.directory / "policy/mta-sts.txt").write_bytes(policy)
        record = kcup(self.image, "mta-sts", "txt", "--domain", domain, policy=policy).decode()
        (self.site.directory / f"{domain}.zone").write_text(record)
        return re.search("id=([^;]+)", record)[1]

    def verdict(self, wanted="VALID", domain=DOMAIN, **environment):
        return until(lambda: self.sender.query(domain, **environment), lambda seen: f"STSFetchResult.{wanted}:" in seen)


@pytest.fixture(scope="module")
def world(image, tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    (directory / "policy").mkdir()
    (directory / "policy/mta-sts.txt").write_bytes(new_policy(image, "testing"))
    with new_site(directory, image, NAMES) as site, sending_server(site.network, directory, site.environment) as sender:
        site.compose("up", "--detach")
        yield World(site, sender, image)


def test_a_good_policy_is_valid(world):
    published = world.publish(new_policy(world.image, "testing"))
    seen = world.verdict()
    assert f"'{published}'" in seen
    assert "'mode': 'testing'" in seen and "'max_age': 604800" in seen and "['mx1.example.com']" in seen


@pytest.mark.parametrize(
    ("names", "ends", "reason"),
    [
        (["mta-sts.example.org"], None, "Hostname mismatch"),
        (NAMES, datetime.now(UTC) - timedelta(hours=1), "certificate has expired"),
    ],
    ids=["of another name", "expired"],
)
def test_a_wrong_certificate_is_not_valid(world, names, ends, reason):
    world.publish(new_policy(world.image, "testing"))
    world.verdict()
    world.site.certify(*names, until=ends)
    try:
        assert reason in world.verdict("FETCH_ERROR")
    finally:
        world.site.certify(*NAMES)
    world.verdict()


def test_a_certificate_of_an_unknown_authority_is_not_valid(world, tmp_path):
    world.publish(new_policy(world.image, "testing"))
    trustme.CA().cert_pem.write_to_path(tmp_path / "other.pem")
    world.verdict()
    seen = world.verdict("FETCH_ERROR", SSL_CERT_FILE=str(tmp_path / "other.pem"))
    assert "unable to get local issuer certificate" in seen


@pytest.mark.parametrize(("media_type", "verdict"), [("text/html", "FETCH_ERROR"), ("text/plain", "VALID")])
def test_only_the_right_media_type_is_valid(world, start, tmp_path, media_type, verdict):
    policy = tmp_path / "policy.txt"
    policy.write_bytes(new_policy(world.image, "testing"))
    world.publish(policy.read_bytes(), "media.example.com")
    mount = [f"--volume={policy}:/policy.txt:ro", "--env=FILE=/policy.txt"]
    start([*mount, *world.site.labels("media.example.com")], "--content-type", media_type)
    until(lambda: world.site.status("mta-sts.media.example.com"), lambda status: status == 200)
    world.verdict(verdict, "media.example.com")


def test_without_kcup_it_is_not_valid(world):
    world.publish(new_policy(world.image, "testing"))
    world.verdict()
    world.site.compose("stop", "kcup")
    try:
        world.verdict("FETCH_ERROR")
    finally:
        world.site.compose("start", "kcup")
    world.verdict()


def test_a_changed_policy_is_seen_after_a_reload(world):
    old = world.publish(new_policy(world.image, "testing"))
    world.verdict()
    new = world.publish(new_policy(world.image, "enforce"))
    world.site.compose("kill", "--signal", "HUP", "kcup")
    seen = until(lambda: world.sender.query(DOMAIN), lambda seen: "'mode': 'enforce'" in seen)
    assert new != old and f"'{new}'" in seen


def test_a_policy_that_is_wrong_is_never_seen(world):
    published = world.publish(new_policy(world.image, "testing"))
    world.site.compose("kill", "--signal", "HUP", "kcup")
    until(lambda: world.sender.query(DOMAIN), lambda seen: "'mode': 'testing'" in seen)
    wrong = new_policy(world.image, "enforce").replace(b"mx:", b"nmx:")
    (world.site.directory / "policy/mta-sts.txt").write_bytes(wrong)
    world.site.compose("kill", "--signal", "HUP", "kcup")
    until(lambda: world.site.compose("logs", "kcup"), lambda logged: "the last good content stays" in logged)
    assert f"'{published}'" in world.verdict()


def test_the_first_response_comes_within_a_second(world, start, tmp_path):
    """Without a health check Traefik uses a container as soon as it runs. A machine that stalls gets three attempts."""
    policy = tmp_path / "policy.txt"
    policy.write_bytes(new_policy(world.image, "testing"))
    options = [f"--volume={policy}:/policy.txt:ro", "--env=FILE=/policy.txt", "--env=PRESET=mta-sts"]
    options += world.site.labels("quick.example.com")
    taken = []
    for _ in range(3):
        time.sleep(2.5)  # Traefik handles one change every 2 s: this one should be the first for a while
        name = start(options)
        began = time.monotonic()
        until(lambda: world.site.status("mta-sts.quick.example.com"), lambda status: status == 200)
        taken.append(time.monotonic() - began)
        if taken[-1] <= 1:
            return
        docker("rm", "--force", name)
        until(lambda: world.site.status("mta-sts.quick.example.com"), lambda status: status == 404)
    raise AssertionError(taken)
