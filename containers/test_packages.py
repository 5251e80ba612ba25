"""What bin/packages holds after `make packages`: each file's contents; and the .deb under dpkg and systemd, in a booted
system."""

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
from conftest import POLICY, ROOT, VERSION
from machine import Machine, alone, booted
from platforms import HERE, MACHINES

PACKAGES = ROOT / "bin/packages"
UNITS = ["kcup.service", "kcup.socket"]
SETTINGS = "/etc/default/kcup"
# Ours, not Debian's, so no changelog of Debian and no address; nfpm's; Go's; and deb-systemd-invoke is not in an .rpm.
NOT_WANTED = "no-changelog,wrong-name-for-upstream-changelog,malformed-contact,unknown-field,statically-linked-binary,"
NOT_WANTED += "shared-library-lacks-prerequisites,maintainer-script-calls-systemctl"


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"there is no {program}")


def output(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, **options).stdout


def deb(twin, architecture=HERE):
    return PACKAGES / f"kcup-{twin}_{VERSION}-1_{architecture}.deb"


def rpm(twin, architecture):
    return PACKAGES / f"kcup-{twin}-{VERSION}-1.{MACHINES[architecture]}.rpm"


def apk(twin, architecture):
    return PACKAGES / f"kcup-{twin}_{VERSION}-r1_{MACHINES[architecture]}.apk"


def unpack_deb(file, directory):
    subprocess.run(["dpkg-deb", "--extract", file, directory], check=True)


def unpack_rpm(file, directory):
    """Installs it; there is no shell in the directory for its scripts."""
    options = ["--root", directory, "--dbpath", "/.database", "--noscripts", "--ignorearch", "--force-debian"]
    subprocess.run(["rpm", *options, "--install", file], check=True)


def unpack_apk(file, directory):
    with tarfile.open(file) as archive:
        archive.extractall(directory, filter="tar")


FORMATS = {deb: unpack_deb, rpm: unpack_rpm, apk: unpack_apk}


def installed(twin, form):
    """Every file of a package, but for its licence."""
    zsh = {deb: "vendor-completions"}.get(form, "site-functions")
    name = f"kcup-{twin}"
    yield from ("usr/bin/kcup", f"usr/bin/{name}", "usr/share/man/man1/kcup.1.gz", f"usr/share/man/man1/{name}.1.gz")
    yield from (f"usr/share/bash-completion/completions/{program}" for program in ("kcup", name))
    yield from (f"usr/share/fish/vendor_completions.d/{program}.fish" for program in ("kcup", name))
    yield f"usr/share/zsh/{zsh}/_kcup"
    documents = ("CHANGELOG.md.gz", "THIRD-PARTY-NOTICES.gz", "examples/mta-sts.txt")
    yield from (f"usr/share/doc/{name}/{document}" for document in documents)
    yield f"usr/share/doc/{name}/copyright" if form is deb else f"usr/share/licenses/{name}/LICENSE"
    if form is not apk:
        yield from (f"usr/lib/systemd/system/{unit}" for unit in UNITS)
        yield SETTINGS[1:]


@pytest.mark.parametrize("architecture", MACHINES)
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.__name__)
def test_a_package_is_whole(form, architecture, twin, tmp_path):
    FORMATS[form](form(twin, architecture), tmp_path)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_symlink() or path.is_file()}
    assert {file for file in files if not file.startswith(".")} == set(installed(twin, form))
    built = ROOT / f"bin/release/kcup-{twin}-{architecture}"
    assert (tmp_path / "usr/bin/kcup").read_bytes() == built.read_bytes()
    assert b".TH KCUP 1" in gzip.decompress((tmp_path / "usr/share/man/man1/kcup.1.gz").read_bytes())
    notices = gzip.decompress((tmp_path / f"usr/share/doc/kcup-{twin}/THIRD-PARTY-NOTICES.gz").read_bytes()).decode()
    assert {"rust": "\nbrotli 8", "go": "\ngithub.com/valyala/fasthttp v"}[twin] in notices


@pytest.mark.parametrize("architecture", MACHINES)
def test_a_package_needs_nothing(twin, architecture):
    fields = output("dpkg-deb", "--field", deb(twin, architecture), text=True)
    assert f"\nArchitecture: {architecture}\n" in fields and "Depends" not in fields
    assert f"Version: {VERSION}-1\n" in fields and "\nProvides: kcup\n" in fields
    query = ["rpm", "--query", "--package", rpm(twin, architecture)]
    assert output(*query, "--queryformat", "%{ARCH} %{VERSION}", text=True) == f"{MACHINES[architecture]} {VERSION}"
    required = output(*query, "--requires", text=True).splitlines()
    assert [line for line in required if not line.startswith("rpmlib(")] == []
    assert output(*query, "--configfiles", text=True) == f"{SETTINGS}\n"


def test_rpm_refuses_the_other_program(twin, tmp_path):
    unpack_rpm(rpm(twin, HERE), tmp_path)
    with pytest.raises(subprocess.CalledProcessError):
        unpack_rpm(rpm({"rust": "go", "go": "rust"}[twin], HERE), tmp_path)


@pytest.mark.parametrize("architecture", MACHINES)
def test_an_archive_is_whole(twin, architecture):
    name = f"kcup-{twin}-{VERSION}-linux-{architecture}"
    with tarfile.open(PACKAGES / f"{name}.tar.gz") as archive:
        members = {member.name.removeprefix(f"{name}/"): member for member in archive if member.isfile()}
        program = archive.extractfile(members["kcup"]).read()
    assert program == (ROOT / f"bin/release/kcup-{twin}-{architecture}").read_bytes()
    assert members["kcup"].mode == 0o755 and members["LICENSE"].mode == 0o644
    completions = {f"completions/{name}" for name in ("_kcup", "kcup.bash", "kcup.fish")}
    assert set(members) == {"kcup", "kcup.1", "LICENSE", "THIRD-PARTY-NOTICES", "CHANGELOG.md", *completions}


def test_the_sums_are_of_every_file(twin):
    lines = (PACKAGES / "SHA256SUMS").read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert set(sums) == {path.name for path in PACKAGES.glob("kcup-*")}
    bill = PACKAGES / f"kcup-{twin}-{VERSION}.cdx.json"
    assert sums[bill.name] == hashlib.sha256(bill.read_bytes()).hexdigest()
    assert json.loads(bill.read_text())["metadata"]["component"]["name"] == f"kcup-{twin}"


@needs("lintian")
def test_lintian_has_no_objection(twin):
    command = ["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", NOT_WANTED, deb(twin)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """With an empty database of packages, which is enough for those that need nothing. What they write to /usr is below
    bin, since a job's /tmp may be an overlay already."""
    with tempfile.TemporaryDirectory(dir=ROOT / "bin", prefix="machine-") as usr, alone():
        Path(usr).chmod(0o755)
        directory = tmp_path_factory.mktemp("machine")
        bound = [f"--bind-ro={PACKAGES}:/packages", f"--bind={directory}:/made", "--bind-ro=/etc/manpath.config"]
        with booted(directory, f"--overlay=/usr:{usr}:/usr", *bound) as leader:
            machine = Machine(leader)
            machine.made = directory
            machine.run("mkdir", "-p", "/var/lib/dpkg/info", "/var/lib/dpkg/updates")
            machine.run("touch", "/var/lib/dpkg/status")
            yield machine


@pytest.fixture
def system(twin, machine):
    """The machine with the program's package installed, which has nothing of it afterwards."""
    machine.run("dpkg", "--install", f"/packages/{deb(twin).name}")
    yield machine
    machine.run("dpkg", "--purge", "kcup-rust", "kcup-go")
    machine.run("rm", "-rf", "/etc/kcup")


def serve(system):
    system.run("mkdir", "-p", "/etc/kcup")
    system.run("bash", "-c", f"cat >/etc/kcup/mta-sts.txt <<'end'\n{POLICY.read_text()}end")
    system.run("systemctl", "enable", "--now", *UNITS)
    assert system.ask() == POLICY.read_text()


def states(system):
    return [system.show(unit, name) for unit in UNITS for name in ("ActiveState", "UnitFileState")]


def newer(twin, system, default):
    """A later version of the package, with other settings: its path in the machine."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["dpkg-deb", "--raw-extract", deb(twin), f"{directory}/raw"], check=True)
        control = f"{directory}/raw/DEBIAN/control"
        subprocess.run(["sed", "-i", "s/^Version: .*/Version: 99.0.0-1/", control], check=True)
        (system.made / "default").write_text(default)
        shutil.copy(system.made / "default", f"{directory}/raw{SETTINGS}")
        subprocess.run(["dpkg-deb", "-Znone", "--build", f"{directory}/raw", system.made / "newer.deb"], check=True)
    return "/made/newer.deb"


def test_the_program_and_its_page_are_there(twin, system):
    for program in ("kcup", f"kcup-{twin}"):
        assert system.run(program, "--version") == f"kcup {VERSION} ({twin})\n"
        assert "put one file on the web" in system.run("man", "--pager=cat", program)


def test_the_units_are_valid(system):
    assert system.run("systemd-analyze", "verify", "--man=no", *UNITS) == ""


def test_nothing_is_started_or_enabled(system):
    assert states(system) == ["inactive", "disabled"] * 2


def test_the_service_serves_and_reads_its_settings(system):
    serve(system)
    assert states(system) == ["active", "enabled"] * 2
    system.run("bash", "-c", f"echo 'HEADERS=X-Set: here' >>{SETTINGS}")
    system.run("systemctl", "restart", "kcup.service")
    url = "http://127.0.0.1:5000/.well-known/mta-sts.txt"
    assert "x-set: here" in system.run("curl", "--silent", "--include", url).lower()
    system.run("systemctl", "reload", "kcup.service")
    assert system.ask() == POLICY.read_text()


def test_an_upgrade_keeps_settings_and_starts_the_new_program(twin, system):
    serve(system)
    edited = system.run("cat", SETTINGS) + "LOG_LEVEL=warn\n"
    system.run("bash", "-c", f"echo LOG_LEVEL=warn >>{SETTINGS}")
    began = system.show("kcup.service", "MainPID")
    system.run("dpkg", "--force-confdef", "--force-confold", "--install", newer(twin, system, "# Others.\n"))
    assert system.run("cat", SETTINGS) == edited
    assert system.run("cat", f"{SETTINGS}.dpkg-dist") == "# Others.\n"
    assert states(system) == ["active", "enabled"] * 2
    assert system.show("kcup.service", "MainPID") not in ("0", began)
    assert system.ask() == POLICY.read_text()
    assert "99.0.0-1" in system.run("dpkg-query", "--show", f"kcup-{twin}")


def test_the_other_program_takes_its_place(twin, system):
    serve(system)
    system.run("bash", "-c", f"echo LOG_LEVEL=warn >>{SETTINGS}")
    other = {"rust": "go", "go": "rust"}[twin]
    system.run("dpkg", "--force-confold", "--install", f"/packages/{deb(other).name}")
    assert system.run("kcup", "--version") == f"kcup {VERSION} ({other})\n"
    assert "LOG_LEVEL=warn" in system.run("cat", SETTINGS)
    assert states(system) == ["active", "enabled"] * 2
    assert system.run("readlink", f"/proc/{system.show('kcup.service', 'MainPID')}/exe") == f"/usr/bin/kcup-{other}\n"


def test_a_removal_stops_it_and_a_purge_leaves_only_the_policy(twin, system):
    serve(system)
    before = set(re.findall(r"\S*kcup\S*", system.run("find", "/etc", "/usr", "-name", "*kcup*")))
    system.run("dpkg", "--remove", f"kcup-{twin}")
    assert states(system) == ["inactive", ""] * 2
    system.run("dpkg", "--purge", f"kcup-{twin}")
    left = set(re.findall(r"\S*kcup\S*", system.run("find", "/etc", "/usr", "-name", "*kcup*")))
    assert left < before and left == {"/etc/kcup"}
    assert system.run("ls", "/etc/kcup") == "mta-sts.txt\n"
