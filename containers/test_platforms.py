"""The image of each platform, and images built on it."""

import json
import uuid

import pytest
from asking import PUBLISH, ask
from conftest import POLICY, VERSION, docker
from platforms import MACHINES, running

# In bytes.
SIZE_LIMIT = {"rust": 3_700_000, "go": 8_200_000}  # docs/adr/0010, 0012
each_architecture = pytest.mark.parametrize("architecture", MACHINES)


@pytest.fixture
def platform_image(image, architecture):
    return f"{image}:{VERSION}-{architecture}"


@each_architecture
def test_is_small_and_of_its_platform(platform_image, architecture, twin):
    settings = json.loads(docker("inspect", platform_image).stdout)[0]
    assert (settings["Os"], settings["Architecture"]) == ("linux", architecture)
    assert settings["Size"] <= SIZE_LIMIT[twin]


@each_architecture
def test_runs_there(platform_image, architecture, twin):
    options, arguments = running(architecture)
    done = docker("run", "--rm", *options, platform_image, *arguments, "--version")
    assert done.stdout == f"kcup {VERSION} ({twin})\n"


def test_all_platforms_give_the_same_response(image, start):
    mount = ["--volume", f"{POLICY}:/policy.txt:ro", "--env", "FILE=/policy.txt"]
    responses = []
    for architecture in MACHINES:
        options, arguments = running(architecture)
        name = start([*options, *mount, *PUBLISH], *arguments, of=f"{image}:{VERSION}-{architecture}")
        responses.append(ask(name))
    assert responses[0].status == 200 and responses[0].body == POLICY.read_bytes()
    assert responses[0] == responses[1]


@each_architecture
def test_the_program_has_no_time_of_its_own(platform_image, new_name, tmp_path):
    """So that the layer has the same digest whenever it is built."""
    name = new_name()
    docker("create", "--name", name, platform_image)
    docker("cp", f"{name}:/kcup", str(tmp_path / "kcup"))
    assert (tmp_path / "kcup").stat().st_mtime == 0


@pytest.fixture
def extended(image, tmp_path):
    """An image built on ours as README shows."""
    (tmp_path / "hello.html").write_text("<p>hello</p>\n")
    (tmp_path / "Dockerfile").write_text(f"FROM {image}\nCOPY hello.html /\nENV FILE=/hello.html\n")
    name = f"kcup-test-{uuid.uuid4().hex[:12]}"
    docker("build", "--quiet", "--tag", name, str(tmp_path))
    yield name
    docker("rmi", "--force", name)


def test_one_copy_and_one_variable_make_an_image_of_its_own(extended, start):
    response = ask(start(["--read-only", "--cap-drop", "ALL", *PUBLISH], of=extended), "/")
    assert (response.status, response.body) == (200, b"<p>hello</p>\n")
    assert response.fields["content-type"] == "text/html; charset=utf-8"
