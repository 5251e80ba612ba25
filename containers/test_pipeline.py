"""make ci-local: .gitlab-ci.yml itself, for a release branch, main and a tag; and the published images, run."""

import json
import subprocess

import asyncssh
import pytest
from asking import PUBLISH, ask
from conftest import POLICY, VERSION, docker
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from pipeline.api import Api
from pipeline.git_remote import KIND, GitRemote
from pipeline.project import PATH, Project
from pipeline.registry import Registry
from platforms import MACHINES, running

TWINS = ["rust", "go"]
BUILD = ["release-prep", "build-rust", "build-go", "images"]
TAG = f"v{VERSION}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("pipeline")


@pytest.fixture(scope="module")
def remote(place):
    with GitRemote(place) as remote:
        yield remote


@pytest.fixture(scope="module")
def registry(place):
    with Registry(place) as registry:
        yield registry


@pytest.fixture(scope="module")
def api():
    with Api() as api:
        yield api


@pytest.fixture(scope="module")
def project(place, remote, registry, api):
    known_hosts = place / "known_hosts"
    known_hosts.write_text(remote.known_hosts())
    return Project(
        place,
        remote,
        {
            "CI_REGISTRY": registry.address,
            "CI_REGISTRY_USER": registry.user,
            "CI_REGISTRY_PASSWORD": registry.password,
            "CI_SERVER_SHELL_SSH_HOST": "127.0.0.1",
            "DEPLOY_KEY": remote.key_file,
            "DEPLOY_KNOWN_HOSTS": known_hosts,
            "CI_REPOSITORY_URL": remote.repository,
            **api.variables(),
            # Of the images' tests, which `make test-containers` runs, too; and all of the packages'.
            "PYTEST_ADDOPTS": "-k 'serves_a_mounted_file or test_packages'",
        },
    )


def passed(project, *jobs, **variables):
    status, printed = project.run(*jobs, **variables)
    assert status == 0, printed
    assert not any(project.variables[secret] in printed for secret in ("CI_REGISTRY_PASSWORD", "CI_JOB_TOKEN"))
    return printed


def layers(name):
    return json.loads(docker("inspect", name).stdout)[0]["RootFS"]["Layers"]


@pytest.fixture(scope="module")
def compiled():
    """The layers of the images that were built by their Dockerfiles, before the pipeline builds its own."""
    images = [(twin, architecture) for twin in TWINS for architecture in MACHINES]
    return {(twin, machine): layers(f"kcup-{twin}:{VERSION}-{machine}") for twin, machine in images}


@pytest.fixture(scope="module")
def prerelease(project, registry, compiled):
    """A release branch's pipeline: the name that its images should have, the existing tags, and the packages' sums."""
    project.git("checkout", "--quiet", "-b", f"release-{TAG}")
    project.date_the_changelog()
    passed(project, *BUILD, "image-publish")
    name = f"{TAG}-{project.git('rev-parse', '--short=8', 'HEAD')}"
    return name, {twin: registry.tags(repository(twin)) for twin in TWINS}, sums(project)


def sums(project):
    return project.artifact("images", "SHA256SUMS", "packages").read_text()


@pytest.fixture(scope="module")
def merged(project, prerelease):
    """main, moved to the release branch; its commit."""
    project.git("checkout", "--quiet", "-B", "main")
    project.git("push", "--quiet", "origin", "main")
    return project.git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def refused(project, merged, remote, place):
    """The output of main's pipeline with a wrong key, for a host with a wrong key, and without a key as in a fork."""
    other = asyncssh.generate_private_key(KIND)
    wrong = {"DEPLOY_KEY": other.export_private_key().decode(), "DEPLOY_KNOWN_HOSTS": remote.known_hosts(other)}
    printed = []
    for name, text in wrong.items():
        (place / name).write_text(text)
        status, told = project.run("tag", **{name: place / name})
        assert status == 1, told
        printed.append(told)
    printed.append(passed(project, "tag", DEPLOY_KEY=""))
    return printed, remote.references()


@pytest.fixture(scope="module")
def released(project, merged, refused):
    """The pipelines of main and of the tag that it sets."""
    passed(project, "tag")
    once = "-k 'serves_a_mounted_file or sums_are'"
    jobs = [*BUILD, "image-release", "gitlab-release"]
    passed(project, *jobs, CI_COMMIT_TAG=TAG, CI_COMMIT_BRANCH="", PYTEST_ADDOPTS=once)
    return TAG


def repository(twin):
    return f"{PATH}/kcup-{twin}"


def test_a_release_branch_publishes_what_is_not_released_yet(twin, registry, prerelease):
    name, tags, _ = prerelease
    assert tags[twin] == {name, *(f"{name}-{architecture}" for architecture in MACHINES)}
    assert set(registry.platforms(repository(twin), name)) == {f"linux/{architecture}" for architecture in MACHINES}


def test_a_branch_of_another_version_is_stopped(project, prerelease):
    project.git("checkout", "--quiet", "-B", "release-v99.0.0")
    try:
        status, printed = project.run("release-prep")
    finally:
        project.git("checkout", "--quiet", f"release-{TAG}")
    assert status == 1, printed


def test_the_tag_is_only_pushed_with_this_key_to_this_host(merged, refused):
    (with_another_key, to_another_host, in_a_fork), references = refused
    assert "Permission denied" in with_another_key
    assert "Host key verification failed" in to_another_host
    assert "DEPLOY_KEY is not set, so this project sets no tags" in in_a_fork
    assert references == {"refs/heads/main": merged}


def test_main_tags_the_version_once(project, remote, merged, released):
    tagged = {"refs/heads/main": merged, f"refs/tags/{TAG}": merged}
    assert remote.references() == tagged
    assert f"{TAG} is there already" in passed(project, "tag")
    assert remote.references() == tagged


def test_a_tag_publishes_the_release(twin, registry, released):
    assert {released, "latest"} <= registry.tags(repository(twin))
    platforms = registry.platforms(repository(twin), released)
    assert set(platforms) == {f"linux/{architecture}" for architecture in MACHINES}
    assert registry.platforms(repository(twin), "latest") == platforms


def test_the_release_is_the_prerelease_to_the_byte(twin, project, registry, prerelease, released):
    """Both pipelines are of the same commit."""
    before = registry.platforms(repository(twin), prerelease[0])
    assert registry.platforms(repository(twin), released) == before
    assert sums(project) == prerelease[2]


def test_the_release_links_everything_and_tells_what_is_new(project, registry, api, released):
    release = api.releases[released]
    text, _, images = release["description"].partition("\n\nImages: ")
    assert text and text in (project.directory / "CHANGELOG.md").read_text()
    assert f"{registry.address}/{repository(TWINS[0])}:{TAG}" in images
    assert {link["name"] for link in release["assets"]["links"]} == set(api.files)
    listed = {line.split("  ")[1] for line in sums(project).splitlines()}
    assert {*listed, "SHA256SUMS"} == set(api.files)
    for link in release["assets"]["links"]:
        built = project.artifact("images", link["name"], "packages").read_bytes()
        assert api.files[link["name"]] == built
        assert link["url"] == f"{api.address}/projects/7/packages/generic/kcup/{VERSION}/{link['name']}"


@pytest.fixture
def pulled(twin, registry, released, tmp_path, monkeypatch):
    """pulled(architecture): the released image, pulled by its digest, as that platform would."""
    names = []
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    docker("login", "--username", registry.user, "--password-stdin", registry.address, input=registry.password)

    def pull(architecture):
        digest = registry.platforms(repository(twin), released)[f"linux/{architecture}"]
        names.append(f"{registry.address}/{repository(twin)}@{digest}")
        docker("pull", "--quiet", "--platform", f"linux/{architecture}", names[-1])
        return names[-1]

    yield pull
    for name in names:
        docker("rmi", "--force", name)


@pytest.mark.parametrize("architecture", MACHINES)
def test_what_was_published_serves(twin, architecture, pulled, start):
    options, arguments = running(architecture)
    mount = ["--volume", f"{POLICY}:/policy.txt:ro", "--env", "FILE=/policy.txt"]
    response = ask(start([*options, *mount, *PUBLISH], *arguments, of=pulled(architecture)))
    assert (response.status, response.body) == (200, POLICY.read_bytes())


@pytest.mark.parametrize("architecture", MACHINES)
def test_what_was_published_is_described(twin, architecture, pulled, project, merged):
    image = json.loads(docker("inspect", pulled(architecture)).stdout)[0]
    assert image["Architecture"] == architecture
    labels = {key.rpartition(".")[2]: value for key, value in image["Config"]["Labels"].items()}
    assert (labels["title"], labels["version"], labels["revision"]) == (f"kcup-{twin}", VERSION, merged)
    assert labels["source"] == labels["url"] == f"https://127.0.0.1/{PATH}"
    assert labels["documentation"] == f"https://127.0.0.1/{PATH}/-/blob/{merged}/README.md"


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_dockerfile_makes_the_same_layer(twin, architecture, pulled, compiled):
    """A job compiled what was published in a folder below this test's, the Dockerfile in a container."""
    assert layers(pulled(architecture)) == compiled[twin, architecture]


@pytest.mark.parametrize("architecture", MACHINES)
def test_the_program_that_was_published_can_be_downloaded(twin, architecture, pulled, project, new_name, tmp_path):
    name = new_name()
    docker("create", "--name", name, pulled(architecture))
    docker("cp", f"{name}:/kcup", str(tmp_path / "kcup"))
    built = project.artifact(f"build-{twin}", f"kcup-{twin}-{architecture}")
    assert (tmp_path / "kcup").read_bytes() == built.read_bytes()
    sums = project.artifact(f"build-{twin}", f"kcup-{twin}.sha256")
    subprocess.run(["sha256sum", "--check", "--quiet", sums], cwd=sums.parent, check=True)


def test_the_bill_of_materials_is_valid_and_whole(twin, project, released):
    text = project.artifact(f"build-{twin}", f"kcup-{twin}.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None
    bill = json.loads(text)
    program = bill["metadata"]["component"]
    assert (program["name"], program["version"]) == (f"kcup-{twin}", VERSION)
    told = {(component["name"], component["version"]) for component in bill["components"]}
    assert {"rust": crates, "go": modules}[twin](project) <= told


def told_by(*command, directory=None):
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stdout.splitlines()


def crates(project):
    """The crates in cargo's own tree of the program."""
    options = ["--locked", "--edges=normal,build", "--prefix=none", "--target=x86_64-unknown-linux-musl"]
    lines = told_by("cargo", "tree", *options, directory=project.directory / "kcup-rust")
    packages = {tuple(line.split(" ")[:2]) for line in lines}
    return {(name, version.removeprefix("v")) for name, version in packages} - {("kcup-rust", VERSION)}


def modules(project):
    """The modules that the linker recorded in the program."""
    lines = told_by("go", "version", "-m", project.artifact("build-go", "kcup-go-amd64"))
    return {tuple(line.split()[1:3]) for line in lines if line.split()[0] == "dep"}
